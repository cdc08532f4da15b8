"""The check reports inconsistent accounts."""

import pytest

from pumice.errors import InvariantError
from pumice.model.invariants import check
from pumice.model.task import TaskStatus
from tests.framework._build import World, policy, task


@pytest.mark.parametrize(
    "harm, message",
    [
        (lambda s: s.nodes.idle.__setitem__((0, 0), 7), "node a: idle is"),
        (lambda s: s.nodes.pod_count.__setitem__(0, 9), "pod count"),
        (lambda s: s.jobs["ns/j"].allocated.__setitem__(0, 9), "allocated is not the sum"),
        (lambda s: setattr(task(s, "j-t-0"), "status", TaskStatus.FAILED), "not indexed as Failed"),
        (
            lambda s: s.jobs["ns/j"].by_status.__setitem__(TaskStatus.FAILED, s.jobs["ns/j"].tasks),
            "two statuses",
        ),
        (lambda s: setattr(s.jobs["ns/j"], "pending_best_effort", 3), "best-effort"),
        (lambda s: setattr(s.jobs["ns/run"], "ready_count", 0), "ready tasks are miscounted"),
        (lambda s: s.jobs["ns/j"].sub_jobs.clear(), "sub-jobs"),
        (lambda s: s.nodes.add(1, task(s, "run-t-0"), TaskStatus.RUNNING), "is on 2 nodes"),
    ],
)
def test_the_check_reports_inconsistent_accounts(harm, message):
    world = World().node("a").node("b").job("j").job("run", on=["a"])
    session = world.session(policy([]))
    check(session)
    harm(session)
    with pytest.raises(InvariantError, match=message):
        check(session)
