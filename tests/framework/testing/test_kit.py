"""The test kit for plugin authors: cluster builder, policies and outcomes."""

import re

import pytest

from pumice import Action, Plugin, hookimpl
from pumice.errors import PluginError, PolicyError
from pumice.model.task import TaskStatus
from pumice.testing import Cluster
from pumice.verdicts import FitError
from tests.framework.testing._plugins import Youngest


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
        cluster.nodes("a", cpu=2).running("r", on="a").job("j", tasks=2, cpu=1)
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


@pytest.mark.parametrize(
    "build, text",
    [
        (
            lambda c: c.node("a", gpus=8),
            "cluster.node() has no keyword 'gpus'; did you mean 'gpu'?",
        ),
        (
            lambda c: c.job("j", quue="q"),
            "cluster.job() has no keyword 'quue'; did you mean 'queue'",
        ),
        (
            lambda c: c.job("j", pod={"lables": {}}),
            "cluster.pod() has no keyword 'lables'; did you",
        ),
        (lambda c: c.queue("q", zzz=1), "cluster.queue() has no keyword 'zzz'; known are name, "),
    ],
)
def test_a_wrong_keyword_is_answered_in_terms_of_the_kit(build, text):
    with pytest.raises(TypeError, match=re.escape(text)):
        build(Cluster())
