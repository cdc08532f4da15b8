"""The API page shows all that is public, each with a line, and its examples run."""

import importlib.util
import inspect
import json
import sys
import typing
from pathlib import Path
from types import ModuleType

import pytest

import pumice
from pumice import Scheduler, policy_from_dict
from pumice.discovery import Catalog
from pumice.discovery._scan import GROUPS
from pumice.hookspecs.eviction import EvictionSpecs
from pumice.simulation import Settings, Simulation
from pumice.simulation.cluster import nodes_of, queues_of
from pumice.testing import Cluster, Schedule
from pumice.traces import read_trace

DOCS = Path(__file__).parent.parent / "docs"
EXAMPLES = DOCS / "examples" / "api"
ASKED_FOR = (
    "Action Backend Decisions EvictionContext FitError Job Ledger Node NodeVerdicts NodeView Plan "
    "Plugin Queue Refusal Resource Scheduler Session Solver Statement SubJob Task hookimpl"
)
"""What an author cannot do without."""


def _module(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def api_source():
    return _module(DOCS / "api_source.py")


@pytest.fixture(scope="module")
def page() -> str:
    return (DOCS / "api.md").read_text()


def example(name: str) -> ModuleType:
    return _module(EXAMPLES / f"{name}.py")


def test_every_public_name_and_attribute_has_a_line(api_source):
    missing = api_source.undocumented()
    assert not missing, "give each a docstring, or a string below it, of one plain line"


def test_the_page_on_compatibility_names_every_public_module_and_group(api_source):
    text = (DOCS / "compatibility.md").read_text()
    missing = [name for name in (*api_source.MODULES, *GROUPS.values()) if f"`{name}`" not in text]
    assert not missing


def test_every_public_name_has_a_section(api_source, page):
    names = {name for module in api_source.MODULES for name in api_source.exported(module)}
    assert not [name for name in sorted(names) if f"\n### {name}\n" not in page]
    assert set(ASKED_FOR.split()) <= set(pumice.__all__)


@pytest.mark.parametrize("name", [n for n in pumice.__all__ if n != "__version__"])
def test_every_name_of_the_facade_can_be_imported(name):
    assert getattr(pumice, name) is not None


def test_the_names_stand_where_the_type_checker_sees_them(api_source):
    for module in api_source.MODULES:
        for name in api_source.exported(module):
            api_source.find(module, name)  # raises for a name that no import or definition binds


def test_every_public_class_shows_its_members(api_source, page):
    session = page.split("\n### Session\n")[1].split("\n### ")[0]
    for member in ("queries: NodeQueries", "order: Order", "statement() -> Statement"):
        assert f"- `{member}" in session


@pytest.mark.parametrize("point", ["reclaim_scenario_validator", "preempt_scenario_validator"])
def test_the_validators_get_a_plan(point):
    spec = inspect.unwrap(getattr(EvictionSpecs, point))
    hints = typing.get_type_hints(spec, {"Plan": pumice.Plan}, vars(pumice))
    assert hints == {"plan": pumice.Plan, "return": bool | None}


class TestExamples:
    """Those on the page, run as an author would."""

    def test_plugin(self):
        teams = example("plugin").Teams
        cluster = Cluster().node("a").node("b", labels={"example.com/team": "q"})
        cluster.queue("q").job("j", tasks=2)
        schedule = Schedule(cluster)
        schedule(actions=["enqueue", "allocate"], tiers=[["gang", teams]]).assert_placed(
            "j", on="b"
        )

    def test_plugin_refuses(self):
        teams = example("plugin").Teams
        cluster = Cluster().nodes("a").queue("q").job("j", tasks=2)
        outcome = Schedule(cluster)(
            actions=["allocate"], tiers=[["gang", teams]], options={"teams": {"largest": 1}}
        )
        assert not outcome.bound

    def test_action(self):
        first_fit = example("action").FirstFit
        cluster = Cluster().nodes("a", "b", cpu=2).queue("q").job("j", tasks=3).job("k", tasks=9)
        outcome = Schedule(cluster)(actions=[first_fit], tiers=[["gang", "predicates"]])
        assert outcome.placed("j") == {"a": 2, "b": 1}
        outcome.assert_waiting("k")

    def test_solver_action(self):
        make_room = example("solver_action").MakeRoom
        cluster = Cluster().nodes("a", "b", gpu=8).queue("q")
        cluster.running("low", on="a", gpu=8).running("high", on="b", gpu=8, priority=90)
        cluster.job("j", gpu=8, priority=50)
        outcome = Schedule(cluster)(actions=[make_room], tiers=[["nodeavailability"]])
        outcome.assert_evicted("low-t-0")
        assert outcome.pipelined == {"j-t-0": "a"}

    def test_trace_and_measure(self, tmp_path):
        module, catalog = example("measure"), Catalog()
        catalog.register_local("trace", "minutes", module.Minutes)
        (tmp_path / "night.minutes").write_text("0 120 4\n1 30 8\n2 x 8\n1 10 4\n")
        trace = read_trace(str(tmp_path / "night.minutes"), catalog=catalog)
        assert len(trace.problems) == 1
        nodes = nodes_of(["1x8"])
        policy = policy_from_dict({"preset": "volcano"}, catalog=catalog)
        queues = queues_of(trace, nodes, kai=False)
        record = Simulation(trace, nodes, queues, policy, Settings(period=60)).run()
        assert [job.start for job in record.jobs] == [0, 120 * 60, 120]
        assert module.LateStarts().figures(record) == {"": pytest.approx(1 / 3)}

    def test_backend(self, tmp_path):
        journal = example("backend").Journal
        files = tmp_path / "cluster.yaml"
        files.write_text((DOCS / "examples" / "demo" / "cluster.yaml").read_text())
        backend = journal.from_files([str(files)])
        assert isinstance(backend, pumice.Backend)
        policy = policy_from_dict(
            {"actions": ["allocate"], "tiers": [{"plugins": ["gang"]}]}, catalog=Catalog()
        )
        scheduler = Scheduler(backend, policy)
        scheduler.run_once()
        scheduler.run_once()
        written = backend.journal.read_text().splitlines()
        assert [sorted(json.loads(line)) for line in written] == [
            ["binds", "evictions", "faults", "jobs", "pipelined", "set_aside"]
        ] * 2
