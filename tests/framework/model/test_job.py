"""Subsets of jobs."""

from tests.framework.solver._search import FAIR
from tests.plugins._fair import FairWorld, ask


def test_a_widened_job_subset_equals_one_made_at_once():
    world = FairWorld()
    world.node()
    world.queue("q")
    world.job("j", "q", ask(on="n"), ask(), ask(gpu=2), min_member=2)
    world.open(*FAIR)
    job = world.job_of("j")
    at_once = job.subset(job.tasks.values(), {"default": 3})
    widened = job.subset(())
    for size, task in enumerate(job.tasks.values(), 1):
        widened.widen(task, size)
    for part in (at_once, widened):
        assert list(part.tasks) == ["j-0", "j-1", "j-2"]
        assert [len(tasks) for tasks in part.by_status] == [len(t) for t in job.by_status]
        assert part.total_request.tolist() == job.total_request.tolist()
        assert part.allocated.tolist() == job.allocated.tolist()
        assert part.sub_jobs["default"].min_available == 3
        assert list(part.sub_jobs["default"].tasks) == list(part.tasks)
        assert (part.uid, part.queue, part.refusals) == (job.uid, job.queue, job.refusals)
    assert job.sub_jobs["default"].min_available == 2
