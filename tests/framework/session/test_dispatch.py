"""Compiled dispatch: which plugins are called, in which order, with which arguments."""

import pytest

from pumice import PERMIT, REJECT, Plugin, Refusal, hookimpl
from pumice.hookspecs import POINTS
from pumice.session.dispatch import answering, bind, implementations
from tests.framework._build import World, plugin_entry, policy


class Named(Plugin):
    """Answers with its name; the tests give it several names."""

    @hookimpl
    def http_handlers(self):
        return {self.name: len}

    @hookimpl
    def job_valid(self, job):
        return Refusal("Named", self.name)

    @hookimpl
    def job_order(self, left, right):
        return -1


class Partial(Plugin):
    """Names some of the arguments, in its own order."""

    @hookimpl
    def queue_order(self, right, left):
        return (right, left)

    @hookimpl
    def is_task_allocation_on_node_over_capacity(self, row, task):
        return (row, task)

    @hookimpl
    def preemptable(self):
        return ()

    def reclaimable(self, candidates):
        """Not decorated: an ordinary method that happens to have this name."""
        return candidates


def session(*tiers):
    return World().node("a").job("j").session(policy(*tiers))


def test_plugins_are_asked_in_the_order_of_the_policy():
    opened = session(
        [plugin_entry(Named, "b"), plugin_entry(Named, "a")], [plugin_entry(Named, "c")]
    )
    assert list(opened.ask.http_handlers()) == ["b", "a", "c"]
    assert opened.ask.job_valid(None).message == "b"
    assert opened.ask.position == {"b": 0, "a": 1, "c": 2}
    assert [[impl.plugin for impl, _ in tier] for tier in opened.ask.voters["job_valid"]] == [
        ["b", "a"],
        ["c"],
    ]


def test_tiers_stay_apart():
    class Yes(Plugin):
        @hookimpl
        def job_pipelined(self, job):
            return PERMIT

    class No(Plugin):
        @hookimpl
        def job_pipelined(self, job):
            return REJECT

    assert session([Yes], [No]).ask.job_pipelined(None)
    assert not session([Yes, No]).ask.job_pipelined(None)
    assert not session([No], [Yes]).ask.job_pipelined(None)


def test_a_method_may_name_the_arguments_it_wants_in_any_order():
    partial = Partial(None, Partial.Options(), "partial")
    asked = bind(partial.queue_order, POINTS["queue_order"].args)
    assert asked("l", "r", 1, 2, (), ()) == ("r", "l")
    point = POINTS["is_task_allocation_on_node_over_capacity"]
    assert bind(partial.is_task_allocation_on_node_over_capacity, point.args)("t", "j", "n", 3) == (
        3,
        "t",
    )
    assert bind(partial.preemptable, POINTS["preemptable"].args)("p", []) == ()


def test_defaults_do_not_hide_the_arguments_that_are_given():
    class Default(Plugin):
        @hookimpl
        def job_order(self, left, right=None):
            return (left, right)

    asked = bind(Default(None, None, "d").job_order, POINTS["job_order"].args)
    assert asked("l", "r") == ("l", "r")


def test_a_method_without_the_mark_is_never_asked():
    opened = session([Partial])
    assert not opened.ask.has("reclaimable")
    assert opened.ask.has("preemptable")


@pytest.mark.parametrize(
    "switch, asked",
    [
        pytest.param({}, {"job_valid", "job_order", "http_handlers"}, id="all"),
        pytest.param({"enable": ["job_order"]}, {"job_order", "http_handlers"}, id="only these"),
        pytest.param({"enable": []}, {"http_handlers"}, id="nothing but the life cycle"),
        pytest.param({"disable": ["job_order"]}, {"job_valid", "http_handlers"}, id="not these"),
        pytest.param(
            {"disable": ["http_handlers"]},
            {"job_valid", "job_order", "http_handlers"},
            id="the life cycle cannot be disabled",
        ),
    ],
)
def test_enable_and_disable(switch, asked):
    opened = session([plugin_entry(Named, "t", **switch)])
    assert {name for name in POINTS if opened.ask.has(name)} == asked


def test_a_form_is_gated_with_its_point():
    class Keyed(Plugin):
        @hookimpl
        def job_order(self, left, right):
            return 0

        @hookimpl
        def job_order_key(self, job):
            return 0

    assert session([Keyed]).ask.has("job_order_key")
    disabled = session([plugin_entry(Keyed, disable=["job_order"])])
    assert not disabled.ask.has("job_order")
    assert not disabled.ask.has("job_order_key")
    assert session([plugin_entry(Keyed, enable=["job_order"])]).ask.has("job_order_key")


def test_every_point_can_be_called_without_an_implementation():
    ask = session().ask
    queue = object()
    expected = {
        "queue_order": 0,
        "job_order": 0,
        "job_valid": None,
        "job_ready": True,
        "job_pipelined": True,
        "job_starving": False,
        "job_enqueueable": True,
        "preemptable": [],
        "reclaimable": [],
        "unified_evictable": [],
        "victim_tasks": [],
        "can_reclaim_resources": None,
        "reclaim_victim_filter": True,
        "overused": False,
        "preemptive": True,
        "allocatable": True,
        "get_queue_fair_share": None,
        "is_job_over_queue_capacity": None,
        "hyper_node_order": {},
        "on_allocate": None,
        "pre_bind": None,
        "bind_request_mutate": {},
        "http_handlers": {},
        "simulate_allocatable": True,
        "subset_nodes": [[1, 2]],
        "best_node": None,
        "gpu_order": 0.0,
    }
    for name, answer in expected.items():
        arguments = [queue] * len(POINTS[name].args)
        if name == "subset_nodes":
            arguments[-1] = [1, 2]
        assert getattr(ask, name)(*arguments) == answer, name


def test_instances_belong_to_one_session():
    world, tiers = World().node("a"), policy([Named])
    one, other = world.session(tiers), world.session(tiers)
    assert one.plugins["named"] is not other.plugins["named"]
    assert one.plugins["named"].session is one


def test_a_plugin_may_be_listed_twice_under_two_names():
    opened = session([plugin_entry(Named, "one")], [plugin_entry(Named, "two")])
    assert list(opened.plugins) == ["one", "two"]
    assert list(opened.ask.http_handlers()) == ["one", "two"]


def test_an_implementation_knows_where_it_comes_from():
    opened = session([Named])
    ((impl, plugin),) = implementations(
        POINTS["job_valid"], [[(plugin_entry(Named), opened.plugins["named"])]]
    )[0]
    assert impl.source == "pumice-tests 1.0"
    assert plugin is opened.plugins["named"]


def test_only_plugins_that_are_enabled_for_a_point_answer_it():
    opened = session([Named])
    bound = (plugin_entry(Named), opened.plugins["named"])
    by_point = answering(POINTS, [[], [bound]])
    assert by_point["job_valid"] == [[], [bound]]
    assert "overused" not in by_point
    assert answering({"overused"}, [[bound]]) == {}


def test_a_point_that_nobody_answers_is_compiled_when_it_is_asked():
    opened = session([Named])
    assert "overused" not in vars(opened.ask)
    assert opened.ask.overused(None) is False
    assert "overused" in vars(opened.ask)
    assert "job_valid" in vars(opened.ask)
