"""The leader of a Kubeflow job is placed first and evicted last."""

import pytest

from pumice.solver.task_batches import TaskBatches
from tests.plugins._fair import FairWorld, ask, placing_order

ROLE = "training.kubeflow.org/job-role"


@pytest.mark.parametrize("leader", ["master", "launcher"])
def test_the_leader_goes_first(leader):
    labels = {ROLE: "worker"}, {}, {ROLE: leader}
    assert placing_order(*labels, plugins=["kubeflow"]) == [2, 0, 1]


@pytest.mark.parametrize("role", ["Master", "chief", ""])
def test_no_other_role_leads(role):
    assert placing_order({}, {ROLE: role}, plugins=["kubeflow"]) == [0, 1]


def test_the_leader_is_evicted_last():
    world = FairWorld()
    world.node()
    world.queue("q")
    world.job(
        "j",
        "q",
        ask(on="n"),
        ask(on="n"),
        ask(on="n", labels={ROLE: "master"}),
        min_member=1,
    )
    world.open("kubeflow")
    (first, *_), more = TaskBatches(world.session.ask).to_evict(world.job_of("j"))
    assert first.name == "j-1"
    assert more
