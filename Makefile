# Needs Python >= 3.11 with pip, and make. Everything else is installed into .venv.

PYTHON ?= python3
WORKERS ?= auto
REQUIREMENTS ?= requirements-dev.txt

VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
PIP := $(BIN)/python -m pip --disable-pip-version-check
PARTS := framework builtin_plugins builtin_actions $(patsubst %/pyproject.toml,%,$(sort $(wildcard contrib/*/pyproject.toml)))
DEMO := docs/examples/demo
RELEASE := build/release

# The processes that the tests start share the bytecode, also where the environment forbids it.
export PYTHONDONTWRITEBYTECODE =

.DEFAULT_GOAL := help
.PHONY: help setup demo test test-long test-kubernetes control-plane kube-scheduler lint format unit scenarios docs bench wheels release-check clean

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):[^#]*## \(.*\)/\1 \2/p' $(MAKEFILE_LIST) | while read -r name text; do printf '  %-15s %s\n' "$$name" "$$text"; done
	@echo "variables: PYTHON=$(PYTHON) (the interpreter of $(VENV)), WORKERS=$(WORKERS) (pytest processes)"

setup: $(STAMP) ## make .venv with the tools and all parts, editable

$(STAMP): $(REQUIREMENTS) $(PARTS:%=%/pyproject.toml)
	@command -v "$(PYTHON)" >/dev/null || { echo "error: no '$(PYTHON)' here; name a Python >= 3.11: make PYTHON=/path/to/python" >&2; exit 1; }
	@"$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "error: Pumice needs Python >= 3.11 but '$(PYTHON)' is $$("$(PYTHON)" -V 2>&1); name another: make PYTHON=/path/to/python" >&2; exit 1; }
	@"$(BIN)/python" -c 'import pip' 2>/dev/null || { echo "making $(VENV)"; "$(PYTHON)" -m venv --clear $(VENV); }
	@echo "installing the tools and the parts into $(VENV)"
	@$(PIP) install --quiet -r $(REQUIREMENTS)
	@$(PIP) install --quiet --no-build-isolation $(PARTS:%=-e ./%)
	@touch $@

demo: $(STAMP) ## schedule the example cluster for three cycles
	$(BIN)/pumice run $(DEMO) --cycles 3 -c $(DEMO)/policy.toml

# Lint, scenarios and docs keep one core busy each; beside pytest they cost no time of their own.
test: $(STAMP) ## everything that must pass, random tests by a sample
	@log=$$(mktemp); $(MAKE) --no-print-directory lint scenarios docs >"$$log" 2>&1 & others=$$!; \
	$(MAKE) --no-print-directory unit; unit=$$?; \
	wait $$others; status=$$?; cat "$$log"; rm "$$log"; \
	test $$unit = 0 && test $$status = 0

test-long: $(STAMP) ## the random tests with all their seeds, and other slow ones
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadgroup -m "long and not churn"

test-kubernetes: $(STAMP) control-plane ## the tests against a real kube-apiserver and etcd, 10,000 cycles of churn included
	REQUIRE_CONTROL_PLANE=1 $(BIN)/python -m pytest -m kubernetes contrib/kubernetes

control-plane: ## build kube-apiserver and etcd once, for the tests (needs Go 1.26)
	@$(PYTHON) contrib/kubernetes/controlplane/binaries.py

kube-scheduler: ## build the default kube-scheduler, too, which make bench then compares
	@$(PYTHON) contrib/kubernetes/controlplane/binaries.py --peer

lint: $(STAMP) ## ruff and mypy
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(STAMP) ## rewrite the code as ruff wants it
	$(BIN)/ruff check --fix-only .
	$(BIN)/ruff format .

unit: $(STAMP) ## pytest
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadgroup -m "not long"

scenarios: $(STAMP) ## the scenario files
	$(BIN)/pumice test tests/scenarios

docs: $(STAMP) ## build the site, warnings are errors
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

bench: $(STAMP) ## measure the engine
	$(BIN)/python tests/bench/run.py
	$(BIN)/python contrib/kubernetes/bench/run.py

wheels: $(STAMP) ## build every distribution into dist/, pinned to one version
	rm -rf dist
	PUMICE_RELEASE=1 $(PIP) wheel --quiet --no-deps --no-build-isolation --wheel-dir dist . $(PARTS:%=./%)
	@ls dist

release-check: $(RELEASE)/.installed ## build the distributions twice, install them on every supported Python, try them
	$(RELEASE)/bin/python tests/release/check.py

$(RELEASE)/.installed: requirements-release.txt
	@"$(PYTHON)" -m venv --clear $(RELEASE)
	@$(RELEASE)/bin/python -m pip --disable-pip-version-check install --quiet -r requirements-release.txt
	@touch $@

clean: ## remove .venv and whatever was built
	rm -rf $(VENV) build dist site bench.json .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find . -name .git -prune -o -type d -name __pycache__ -prune -exec rm -rf {} +
