"""Messages about why a task fits on no node."""

import numpy as np

from pumice import Plugin, hookimpl
from pumice.fit_errors import FitErrors
from pumice.verdicts import Code, FitError, Status
from tests.framework._build import World, policy, task
from tests.framework.session.nodes._plugins import filter_plugin


def test_fit_errors_report_resources_first_then_filters_and_count_them():
    world = World().node("a", cpu=0.5, memory=0.5).node("b", memory=0).node("c").node("d")
    session = world.job("j").session(policy([filter_plugin("Closed", "closed")]))
    errors = session.queries.fit_errors(task(session, "j-t-0"))
    assert str(errors) == (
        "0/4 nodes are unavailable: 1 Insufficient cpu, 1 Insufficient memory, 2 closed."
    )
    assert errors.histogram() == {"Insufficient cpu": 1, "Insufficient memory": 1, "closed": 2}
    assert errors.unresolvable(4).tolist() == [False] * 4


def test_reasons_are_sorted_as_texts():
    world = World().job("j", cpu=2)
    for number in range(12):
        world.node(f"n{number:02}", cpu=1 if number < 10 else 4)
    session = world.session(policy([filter_plugin("Closed", "closed", scope="cluster")]))
    text = str(session.queries.fit_errors(task(session, "j-t-0")))
    assert text == "0/12 nodes are unavailable: 10 Insufficient cpu, 2 closed."


def test_a_node_gives_each_of_its_reasons_once():
    class Two(Plugin):
        @hookimpl
        def predicate(self):
            return FitError(
                (
                    Status(Code.UNSCHEDULABLE, "full"),
                    Status(Code.UNRESOLVABLE, "tainted"),
                    Status(Code.UNSCHEDULABLE, "full"),
                )
            )

    session = World().node("a").node("b").job("j").session(policy([Two]))
    errors = session.queries.fit_errors(task(session, "j-t-0"))
    assert str(errors) == "0/2 nodes are unavailable: 2 full, 2 tainted."
    assert errors.unresolvable(2).all(), "the worst of a node's codes counts"


def test_fit_errors_of_some_nodes_name_only_those():
    world = World().node("a").node("b").node("c").job("j")
    closed = filter_plugin("Closed", "closed", code=Code.UNRESOLVABLE)
    session = world.session(policy([closed]))
    errors = session.queries.fit_errors(task(session, "j-t-0"), np.array([0, 2]), hyper_node="rack")
    assert str(errors) == "In hyperNode rack: 0/2 nodes are unavailable: 2 closed."
    assert errors.unresolvable(3).tolist() == [True, False, True]


def test_fit_errors_do_not_follow_later_changes():
    session = World().node("a", cpu=1).job("j", tasks=3, cpu=2).session(policy([]))
    first = session.queries.fit_errors(task(session, "j-t-0"))
    again = session.queries.fit_errors(task(session, "j-t-1"))
    overlaid = again.overlaid(np.array([True]), FitError.of("outside"))
    with session.statement() as statement:
        statement.allocate(task(session, "j-t-2"), 0)
        session.queries.fit_errors(task(session, "j-t-1"))
        assert str(first) == "0/1 nodes are unavailable: 1 Insufficient cpu."
    assert str(overlaid) == "0/1 nodes are unavailable: 1 outside."


def test_tasks_of_a_class_share_their_fit_errors_while_nothing_changes():
    session = World().node("a", cpu=1).job("j", tasks=2, cpu=2).session(policy([]))
    first = session.queries.fit_errors(task(session, "j-t-0"))
    assert session.queries.fit_errors(task(session, "j-t-1")) is first
    assert session.queries.fit_errors(task(session, "j-t-1"), hyper_node="rack") is not first
    assert first.is_resolvable


def test_fit_errors_without_nodes_and_for_all_nodes():
    assert str(FitErrors.for_all(FitError.of("gone"), 3)) == "0/3 nodes are unavailable: 3 gone."
    assert str(FitErrors(head="skipped")) == "skipped"
    assert str(FitErrors()) == "0/0 nodes are unavailable"


def test_the_histogram_does_not_show_which_reason_came_up_first():
    later, earlier = (
        FitError((Status(Code.UNSCHEDULABLE, text),)) for text in ("zz-tie", "aa-tie")
    )
    both = FitErrors.for_all(later, 2).overlaid(np.array([False, True]), earlier)
    assert later.reason_id < earlier.reason_id
    assert both.histogram().most_common() == [("aa-tie", 1), ("zz-tie", 1)]
