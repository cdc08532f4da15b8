"""What somebody else publishes works once pip has installed it, and is missed when it is gone."""

import json
from pathlib import Path
from textwrap import dedent

import pytest

pytestmark = [pytest.mark.fresh, pytest.mark.long]

ROOT = Path(__file__).resolve().parents[2]
CONTRIB = ROOT / "contrib"

HARBOUR = """
    from pydantic import Field

    from pumice import Action, Plugin, TaskStatus, hookimpl


    class Lighthouse(Plugin):
        '''Prefer one node above all others.'''

        class Options(Plugin.Options):
            node: str = Field("east", alias="lighthouse.node", description="The node to prefer.")

        @hookimpl
        def node_order(self, node):
            return 1000.0 if node.name == self.options.node else 0.0


    class Clear(Action):
        '''Evict whatever runs.'''

        evicts = True

        def execute(self, session):
            for job in session.jobs.values():
                for task in list(job.having(TaskStatus.RUNNING)):
                    with session.turn(job), session.statement() as statement:
                        statement.evict(task, "the harbour closes")
                        statement.commit()
"""
WRECK = "import a_module_that_nobody_has\n"
PIRATE = """
    from pumice import Plugin, hookimpl


    class Lighthouse(Plugin):
        '''Lead ships astray.'''

        @hookimpl
        def node_order(self, node):
            return -1.0
"""
CLUSTER = """
apiVersion: v1
kind: List
items:
- kind: Node
  apiVersion: v1
  metadata: {name: east}
  status: {allocatable: {cpu: "4", pods: "9"}}
- kind: Node
  apiVersion: v1
  metadata: {name: west}
  status: {allocatable: {cpu: "4", pods: "9"}}
- kind: PodGroup
  apiVersion: scheduling.volcano.sh/v1beta1
  metadata: {name: line, namespace: bay}
  spec: {queue: default, minMember: 1}
  status: {phase: Running}
- kind: Pod
  apiVersion: v1
  metadata: {name: tug, namespace: bay}
  spec: {containers: [{name: c, resources: {requests: {cpu: "1"}}}]}
- kind: Pod
  apiVersion: v1
  metadata:
    name: ferry
    namespace: bay
    annotations: {scheduling.k8s.io/group-name: line}
  spec: {nodeName: east, containers: [{name: c, resources: {requests: {cpu: "1"}}}]}
  status: {phase: Running}
"""
PLAIN = """
actions = ["enqueue", "allocate"]
[[tiers]]
plugins = ["gang"]
"""
NAMING = """
actions = ["enqueue", "allocate", "clear"]
[[tiers]]
plugins = ["gang", "lighthouse"]
[plugin.lighthouse]
lighthouse.node = "west"
"""
WRECKED = """
actions = ["enqueue", "allocate"]
[[tiers]]
plugins = ["gang", "wreck"]
"""
SETTLED = ({"bay/tug": "west"}, [("bay/ferry", "clear", "the harbour closes")])


def write_distribution(folder: Path, source: str, version: str, **groups: list[str]) -> Path:
    """A distribution of one module, named like its folder; groups hold ``name = attribute``."""
    module = folder.name.replace("-", "_")
    folder.mkdir()
    (folder / f"{module}.py").write_text(dedent(source), encoding="utf-8")
    lines = [
        '[build-system]\nrequires = ["hatchling"]\nbuild-backend = "hatchling.build"',
        f'[project]\nname = "{folder.name}"\nversion = "{version}"',
        'dependencies = ["pumice-framework>=0.2,<0.3"]',
        f'[tool.hatch.build.targets.wheel]\nonly-include = ["{module}.py"]',
    ]
    for group, names in groups.items():
        lines.append(f'[project.entry-points."pumice.{group}"]')
        lines += [f'{name.lower()} = "{module}:{name}"' for name in names]
    (folder / "pyproject.toml").write_text("\n".join(lines), encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def wheels(build_wheels, tmp_path_factory):
    """Three distributions of other people, and our contributions, as wheels by name."""
    home = tmp_path_factory.mktemp("elsewhere")
    folders = [
        write_distribution(
            home / "harbour", HARBOUR, "2.5", plugins=["Lighthouse"], actions=["Clear"]
        ),
        write_distribution(home / "wreck", WRECK, "0.9", plugins=["Wreck"], actions=["Sink"]),
        write_distribution(home / "pirate", PIRATE, "6.6", plugins=["Lighthouse"]),
        *(CONTRIB / name for name in ("fifo", "drain", "fragmentation")),
    ]
    built = build_wheels(*folders)
    return {folder.name: wheel for folder, wheel in zip(folders, built, strict=True)}


@pytest.fixture
def bay(tmp_path):
    """A cluster, and policies that name nothing new, the harbour's parts, and the wreck."""
    files = {"bay.yaml": CLUSTER, "plain.toml": PLAIN, "naming.toml": NAMING, "wreck.toml": WRECKED}
    for name, text in files.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


@pytest.fixture(scope="class")
def harboured(fresh_venv, wheels):
    """The fresh environment with the harbour in it."""
    with fresh_venv.holding(wheels["harbour"]):
        yield fresh_venv


def listed(venv, kind: str) -> dict[str, list[dict]]:
    """What a listing in JSON has, by name."""
    parts: dict[str, list[dict]] = {}
    for part in json.loads(venv.output("pumice", kind, "-o", "json")):
        parts.setdefault(part["name"], []).append(part)
    return parts


def decided(venv, folder: Path, policy: str) -> tuple[dict, list]:
    files = [folder / "bay.yaml", "-c", folder / policy]
    (cycle,) = json.loads(venv.output("pumice", "run", *files, "-o", "json"))["cycles"]
    return (
        {bind["task"]: bind["node"] for bind in cycle["binds"]},
        [(gone["task"], gone["action"], gone["reason"]) for gone in cycle["evictions"]],
    )


def refused(venv, folder: Path, policy: str) -> str:
    result = venv.run("pumice", "run", folder / "bay.yaml", "-c", folder / policy)
    assert (result.returncode, result.stdout) == (2, "")
    assert "Traceback" not in result.stderr
    return result.stderr


class TestInstalled:
    @pytest.mark.parametrize(
        "kind, name, doc, points",
        [
            ("plugins", "lighthouse", "Prefer one node above all others.", ["node_order"]),
            ("actions", "clear", "Evict whatever runs.", []),
        ],
        ids=["plugin", "action"],
    )
    def test_it_is_listed_with_its_version(self, harboured, kind, name, doc, points):
        table = harboured.output("pumice", kind).splitlines()
        (line,) = (line for line in table if line.startswith(f"{name} "))
        assert line.split()[:2] == [name, "harbour"]
        assert doc in line
        (entry,) = listed(harboured, kind)[name]
        assert entry == {
            "name": name,
            "distribution": "harbour",
            "version": "2.5",
            "entry_point": f"harbour:{name.title()}",
            "points": points,
            "doc": doc,
            "warnings": [],
            "error": None,
        }

    def test_it_changes_what_is_decided_when_the_policy_names_it(self, harboured, bay):
        assert decided(harboured, bay, "plain.toml") == ({"bay/tug": "east"}, [])
        assert decided(harboured, bay, "naming.toml") == SETTLED

    def test_one_that_cannot_be_imported_is_reported_and_disturbs_nobody(
        self, harboured, wheels, bay
    ):
        with harboured.holding(wheels["wreck"]):
            for kind, part in [("plugin", "wreck"), ("action", "sink")]:
                table = harboured.output("pumice", f"{kind}s")
                assert f"\n{part} " in table
                assert f"error: {kind} '{part}' (wreck 0.9, wreck:{part.title()}): cannot" in table
                assert "wreck needs the module 'a_module_that_nobody_has': install it" in table
            parts = listed(harboured, "plugins")
            assert "a_module_that_nobody_has" in parts["wreck"][0]["error"]
            assert [n for n, found in parts.items() if found[0]["error"]] == ["wreck"]
            assert decided(harboured, bay, "naming.toml") == SETTLED
            error = refused(harboured, bay, "wreck.toml")
            assert "wreck.toml:4: plugin 'wreck' (wreck 0.9, wreck:Wreck): cannot be" in error

    def test_a_name_that_two_distributions_claim_is_reported_with_both(
        self, harboured, wheels, bay
    ):
        both = "harbour 2.5 (harbour:Lighthouse) and pirate 6.6 (pirate:Lighthouse)"
        claim = f"plugin 'lighthouse' is installed by {both}"
        with harboured.holding(wheels["pirate"]):
            assert f"error: {claim}" in harboured.output("pumice", "plugins")
            claimants = listed(harboured, "plugins")["lighthouse"]
            assert [part["distribution"] for part in claimants] == ["harbour", "pirate"]
            assert all(claim in part["error"] for part in claimants)
            assert claim in refused(harboured, bay, "naming.toml")


class TestUninstalled:
    def test_a_policy_that_names_it_is_refused_and_tells_what_is_missing(self, fresh_venv, bay):
        error = refused(fresh_venv, bay, "naming.toml")
        assert "naming.toml:2: no action named 'clear' is installed" in error
        assert "naming.toml:4: no plugin named 'lighthouse' is installed" in error

    def test_our_own_contributions_come_and_go_like_any_other(self, fresh_venv, wheels):
        with fresh_venv.holding(*(wheels[n] for n in ("fifo", "drain", "fragmentation"))):
            plugins = listed(fresh_venv, "plugins")
            for name, point in [
                ("fifo", "job_order"),
                ("drainlabel", "should_drain"),
                ("fragmentation", "batch_node_order"),
            ]:
                (part,) = plugins[name]
                assert part["version"] == "0.2.0"
                assert point in part["points"]
                assert part["error"] is None
            (drain,) = listed(fresh_venv, "actions")["drain"]
            assert (drain["distribution"], drain["error"]) == ("pumice-drain", None)
            hook = listed(fresh_venv, "hooks")["should_drain"][0]
            assert (hook["distribution"], hook["version"]) == ("pumice-drain", "0.2.0")
            assert "7 passed, 0 failed, 0 skipped" in fresh_venv.output("pumice", "test", CONTRIB)
        assert {"fifo", "drainlabel"}.isdisjoint(listed(fresh_venv, "plugins"))
        assert "should_drain" not in listed(fresh_venv, "hooks")
