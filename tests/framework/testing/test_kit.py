"""The test kit for plugin authors: cluster builder, runs, contract, scenarios as tests."""

import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import pytest
from hypothesis import HealthCheck, given, settings

from pumice import Action, Plugin, hookimpl
from pumice.discovery import Catalog
from pumice.errors import PluginError, PolicyError, PumiceError
from pumice.model.task import TaskStatus
from pumice.testing import Cluster, PluginContract, Schedule
from pumice.testing.strategies import clusters
from pumice.verdicts import FitError, NodeVerdicts

pytest_plugins = ["pytester"]


class Youngest(Plugin):
    """The youngest job first."""

    @hookimpl
    def job_order(self, left, right):
        return (left.created < right.created) - (left.created > right.created)


class Shut(Plugin):
    """Shut one node."""

    class Options(Plugin.Options):
        node: str = "a"

    @hookimpl
    def predicate(self, node):
        return FitError.of("shut") if node.name == self.options.node else None


class Rest(Action):
    """Do nothing."""

    def execute(self, session):
        pass


class Clear(Action):
    """Evict everything."""

    def execute(self, session):
        for job in session.jobs.values():
            with session.turn(job), session.statement() as statement:
                for task in job.having(TaskStatus.RUNNING):
                    statement.evict(task, "clear")
                statement.commit()


class TestFixtures:
    def test_a_cluster_is_a_few_readable_lines(self, cluster, schedule):
        cluster.nodes("a", gpu=8).queue("q").job("j", tasks=2, gpu=1, queue="q", priority=10)
        cluster.running("r", on="a", tasks=2)
        outcome = schedule(tiers=[["gang"]])
        assert outcome.placed("j") == {"a": 2}
        assert outcome.bound == {"j-t-0": "a", "j-t-1": "a"}
        assert (outcome.evicted, outcome.pipelined, outcome.waiting("j")) == ([], {}, "")
        assert outcome.phase("r") == "Running"

    def test_a_job_that_waits_reports_why(self, cluster, schedule):
        cluster.nodes("a", cpu=1).job("j", tasks=2, cpu=1)
        outcome = schedule(tiers=[["gang"]])
        assert outcome.placed("j") == {}
        assert "Insufficient cpu" in outcome.waiting("j")
        outcome.assert_waiting("j", because="insufficient CPU")

    def test_cycles_go_on_from_what_was_decided(self, cluster, schedule):
        cluster.nodes("a").running("r", on="a").job("j", cpu=4)
        outcome = schedule(tiers=[["gang"]], actions=[Clear, "allocate"], cycles=2)
        assert len(outcome.cycles) == 2
        assert outcome.evicted == ["r-t-0"]
        outcome.assert_evicted("r-t-0")
        outcome.assert_placed("j", on="a")

    def test_a_name_that_is_not_there_is_reported(self, cluster, schedule):
        cluster.job("j")
        with pytest.raises(KeyError, match="has no job 'k'; it has j"):
            schedule(tiers=[["gang"]]).waiting("k")


class TestPolicies:
    @pytest.fixture(autouse=True)
    def two_jobs(self, cluster):
        cluster.nodes("a", cpu=1).job("old", created=1.0).job("young", created=2.0)

    @pytest.mark.parametrize(
        "given_",
        [
            pytest.param({"plugins": {"mine": Youngest}}, id="classes alone are the only tier"),
            pytest.param({"plugins": {"mine": Youngest}, "tiers": [["mine", "gang"]]}, id="named"),
            pytest.param({"tiers": [[Youngest, "gang"]]}, id="a class in a tier"),
            pytest.param(
                {
                    "policy": {"actions": ["allocate"], "tiers": [{"plugins": ["mine"]}]},
                    "plugins": {"mine": Youngest},
                },
                id="a table",
            ),
        ],
    )
    def test_a_class_takes_part_without_an_entry_point(self, schedule, given_):
        schedule(**given_).assert_placed("young", on="a")
        schedule(tiers=[["gang"]]).assert_placed("old", on="a")

    def test_a_file_is_a_policy(self, schedule, tmp_path):
        path = tmp_path / "policy.toml"
        path.write_text('actions = ["allocate"]\n[[tiers]]\nplugins = ["mine"]\n')
        schedule(path, plugins={"mine": Youngest}).assert_placed("young")

    def test_options_are_given_by_name(self, schedule):
        outcome = schedule(tiers=[[Shut]], options={"shut": {"node": "b"}})
        outcome.assert_placed("old")
        schedule(tiers=[[Shut]]).assert_waiting("old", because="shut")

    def test_an_action_class_takes_part(self, schedule):
        assert schedule(tiers=[["gang"]], actions=[Rest]).bound == {}

    def test_a_policy_has_its_own_tiers(self, schedule):
        with pytest.raises(TypeError, match="either a policy or its tiers"):
            schedule({"actions": ["allocate"]}, tiers=[["gang"]])

    def test_what_is_wrong_with_a_policy_is_reported(self, schedule):
        with pytest.raises(PolicyError, match="did you mean 'gang'"):
            schedule(tiers=[["gagn"]])

    def test_a_plugin_that_raises_fails_the_test(self, schedule):
        class Broken(Plugin):
            @hookimpl
            def job_valid(self, job):
                return 1 / 0

        with pytest.raises(PluginError, match=r"broken .* failed in job_valid: ZeroDivisionError"):
            schedule(tiers=[[Broken]])


class TestFailures:
    @pytest.fixture
    def outcome(self, cluster, schedule):
        cluster.nodes("a", "b", cpu=1).job("j", created=1.0).job("k", created=2.0)
        return schedule(tiers=[[Youngest, Shut]])

    @pytest.mark.parametrize(
        "check, words",
        [
            pytest.param(
                lambda o: o.assert_placed("j"),
                ["j should be placed, but j-t-0 got no node", "j waits: ", "youngest: job_order("],
                id="not placed",
            ),
            pytest.param(
                lambda o: o.assert_placed("k", on="a"),
                [
                    "k should be placed on a, is on {'b': 1}",
                    "shut: predicate(k-t-0) rejects 1 of 2",
                ],
                id="elsewhere",
            ),
            pytest.param(
                lambda o: o.assert_placed("k", on={"a": 1}),
                ["k should be placed on {'a': 1}, is on {'b': 1}", "bind k-t-0 on b"],
                id="counted",
            ),
            pytest.param(lambda o: o.assert_waiting("k"), ["k should wait, is on"], id="placed"),
            pytest.param(
                lambda o: o.assert_waiting("j", because="quota"),
                ["j should wait because of 'quota': "],
                id="another reason",
            ),
            pytest.param(
                lambda o: o.assert_evicted("k-t-0"),
                ["k-t-0 should be evicted, it was nothing", "allocate k-t-0 on b"],
                id="not evicted",
            ),
        ],
    )
    def test_an_assertion_shows_the_votes(self, outcome, check, words):
        with pytest.raises(AssertionError) as caught:
            check(outcome)
        for word in words:
            assert word in str(caught.value)


class _CachedColumn(Plugin):
    """Sound: counts what queues hold, in integers."""

    @hookimpl
    def on_session_open(self):
        self.held = {}

    @hookimpl
    def on_allocate(self, task):
        self.held[task.queue] = self.held.get(task.queue, 0) + 1

    @hookimpl
    def on_deallocate(self, task):
        self.held[task.queue] = self.held.get(task.queue, 0) - 1

    @hookimpl
    def queue_order(self, left, right):
        return self.held.get(left.name, 0) - self.held.get(right.name, 0)


class _Forgetful(_CachedColumn):
    @hookimpl
    def on_deallocate(self, task):
        pass


class _Meddling(Plugin):
    @hookimpl
    def job_ready(self, job):
        job.phase = "Running"


class _Scribbling(Plugin):
    @hookimpl
    def batch_node_order(self, task, nodes):
        nodes.idle[:] -= 1
        return nodes.idle[:, 0]


class _Labelling(Plugin):
    @hookimpl
    def predicate(self, task):
        task.pod.labels["seen"] = "yes"


class _Shortening(Plugin):
    @hookimpl
    def preemptable(self, candidates):
        if candidates:
            candidates.pop()
        return candidates


class _Moody(Plugin):
    moods = iter(range(10**9))

    @hookimpl
    def node_order(self):
        return float(next(self.moods))


class _Counting(Plugin):
    @hookimpl
    def on_session_open(self):
        self.asked = 1

    @hookimpl
    def job_valid(self, job):
        self.asked += 1


class _Stubborn(Plugin):
    @hookimpl
    def job_order(self, left, right):
        return -1


class _TwoFaced(Plugin):
    @hookimpl
    def predicate(self, node):
        return FitError.of("no")

    @hookimpl
    def predicate_nodes(self, nodes):
        return NodeVerdicts.accept(len(nodes))


class _OtherKey(Youngest):
    @hookimpl
    def job_order_key(self, job):
        return job.created


class _TooFar(Plugin):
    @hookimpl(scope="static")
    def batch_node_order(self, nodes):
        return nodes.idle[:, 0] / 1000


class _Fearful(Plugin):
    @hookimpl
    def on_session_open(self):
        self.first = next(iter(self.session.jobs.values()))


class _Unmarked(Plugin):
    def job_order(self, left, right):
        return 0


RULES = [name for name in vars(PluginContract) if name.startswith("test_")]


def broken_rules(cls, **facts) -> set[str]:
    kit = type("Kit", (PluginContract,), {"plugin": cls, **facts})()
    broken = set()
    for rule in RULES:
        try:
            getattr(kit, rule)()
        except (AssertionError, PumiceError):
            broken.add(rule)
    return broken


class TestContract:
    @pytest.mark.parametrize("name", Catalog().names("plugin"))
    def test_every_installed_plugin_satisfies_the_contract(self, name):
        caches = {
            "nodeorder": frozenset({"_terms"}),
            "fairshare": frozenset({"_order"}),
            "nodeplacement": frozenset({"_ranges"}),
            "kai_predicates": frozenset({"_affinity", "_ports", "_volumes"}),
        }
        assert broken_rules(name, seeds=3, caches=caches.get(name, frozenset())) == set()

    @pytest.mark.parametrize(
        "cls, rule",
        [
            (_Forgetful, "undoing_restores_its_state"),
            (_Meddling, "it_does_not_modify_its_input"),
            (_Scribbling, "it_does_not_modify_its_input"),
            (_Labelling, "it_does_not_modify_its_input"),
            (_Shortening, "it_does_not_modify_its_input"),
            (_Moody, "it_is_deterministic"),
            (_Counting, "asked_twice_it_answers_the_same"),
            (_Stubborn, "its_orders_are_consistent"),
            (_TwoFaced, "its_vector_and_scalar_forms_agree"),
            (_OtherKey, "its_vector_and_scalar_forms_agree"),
            (_TooFar, "its_answers_stay_within_their_scope"),
            (_Fearful, "it_tolerates_an_empty_cluster"),
            (_Unmarked, "it_loads_without_a_warning"),
        ],
    )
    def test_a_plugin_that_breaks_a_rule_fails_its_test(self, cls, rule):
        assert f"test_{rule}" in broken_rules(cls)

    def test_a_plugin_that_satisfies_the_contract_passes(self):
        assert broken_rules(_CachedColumn) == set()

    def test_cache_attributes_may_be_excluded(self):
        assert broken_rules(_Counting, caches=frozenset({"asked"})) == set()


class TestYoungest(PluginContract):
    plugin = Youngest


@settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
@given(cluster=clusters())
def test_hypothesis_draws_clusters_that_can_be_scheduled(cluster):
    assert isinstance(cluster, Cluster)
    assert Schedule(cluster)(tiers=[["gang", "predicates"]]).evicted == []


def isolated(code: str) -> str:
    result = subprocess.run(
        [sys.executable, "-c", dedent(code)], capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stderr
    return result.stdout


def test_without_hypothesis_the_error_names_what_to_install():
    output = isolated(
        """
        import sys
        sys.modules["hypothesis"] = None
        try:
            import pumice.testing.strategies
        except ModuleNotFoundError as error:
            print(error)
        """
    )
    assert "needs hypothesis, which is not installed" in output
    assert "pumice-framework[testing]" in output


def test_the_pytest_plugin_imports_next_to_nothing():
    heavy = ["numpy", "pydantic", "loguru", "hypothesis", "yaml", "stevedore", "pumice.plugin"]
    output = isolated(
        f"""
        import pumice.testing.plugin, sys
        print([name for name in {heavy} if name in sys.modules])
        """
    )
    assert output.strip() == "[]"


NODE = """{apiVersion: v1, kind: Node, metadata: {name: n1},
    status: {allocatable: {cpu: "2", memory: 4Gi, pods: "10"}}}"""
SCENARIO = f"""
title: TITLE
config: {{actions: [allocate], tiers: [{{plugins: [PLUGIN]}}]}}
objects:
  - {NODE}
  - {{apiVersion: scheduling.volcano.sh/v1beta1, kind: PodGroup, status: {{phase: Inqueue}},
      metadata: {{name: g, namespace: ns}}, spec: {{minMember: 1}}}}
  - {{apiVersion: v1, kind: Pod, metadata: {{name: p, namespace: ns,
      annotations: {{scheduling.k8s.io/group-name: g}}}},
      spec: {{containers: [{{name: c, resources: {{requests: {{cpu: "1"}}}}}}]}}}}
expect: {{binds: {{ns/p: NODE}}}}
"""


class TestScenarioFiles:
    @pytest.fixture
    def write(self, pytester: pytest.Pytester):
        def write(name: str, title: str = "it fits", node: str = "n1", plugin: str = "gang"):
            text = SCENARIO.replace("TITLE", title).replace("PLUGIN", plugin)
            Path(pytester.path, name).write_text(text.replace("ns/p: NODE", f"ns/p: {node}"))

        return write

    @pytest.fixture
    def run(self, pytester: pytest.Pytester):
        return lambda *words: pytester.runpytest_inprocess("-p", "no:cacheprovider", *words)

    def test_scenario_files_are_tests(self, write, run):
        write("good.scenario.yaml")
        write("bad.scenario.yaml", title="it flies", node="sky")
        write("none.scenario.yaml", plugin="not_there")
        write("other.yaml", node="sky")
        result = run("-rs")
        result.assert_outcomes(passed=1, failed=1, skipped=1)
        result.stdout.fnmatch_lines(["*not installed: plugin not_there*"])
        result.stdout.fnmatch_lines(["*bad.scenario.yaml: it flies", "*sky*"])
        assert "Traceback" not in result.stdout.str()

    def test_a_file_with_several_scenarios_is_several_tests(self, pytester, run):
        lines = SCENARIO.replace("PLUGIN", "gang").replace("ns/p: NODE", "ns/p: n1").strip()
        body = lines.replace("\n", "\n    ")
        text = f"scenarios:\n  - id: first\n    {body}\n  - {body}\n"
        Path(pytester.path, "two.scenario.yaml").write_text(text)
        result = run("-v")
        result.assert_outcomes(passed=2)
        result.stdout.fnmatch_lines(["*two.scenario.yaml::first *", "*::TITLE?1? *"])

    def test_a_file_that_cannot_be_read_is_an_error(self, pytester, run):
        Path(pytester.path, "torn.scenario.json").write_text('{"expect": ')
        result = run()
        result.assert_outcomes(errors=1)
        assert "torn.scenario.json: Input data was truncated" in result.stdout.str()
