"""Clusters full of victims, and a solver on them."""

from pumice.model.gang import active_count
from pumice.model.invariants import check
from pumice.model.task import TaskStatus
from pumice.solver import Solver
from pumice.solver.gang_placement import GangPlacer
from pumice.solver.queue_tree import QueueTree
from pumice.testing.session_state import accounts
from tests.plugins._fair import FairWorld, ask

FAIR = ("fairshare", {"name": "priority", "enable": ["job_order"]})
GOING, MOVED = TaskStatus.RELEASING, TaskStatus.PIPELINED


def crowded(gpu=2, *, nodes=("n",), **jobs):
    """Nodes full of jobs ``v0``, ``v1`` … of one GPU in queue ``b``; queue ``a`` is empty."""
    world = FairWorld()
    world.queue("a", gpu)
    world.queue("b", 0)
    number = 0
    for name in nodes:
        world.node(name, gpu=gpu)
        for _ in range(gpu):
            world.job(f"v{number}", "b", ask(on=name))
            number += 1
    return world


class Search:
    """A solver for which every running job of another queue is a victim."""

    def __init__(self, world, *plugins, validate=lambda plan: True, **options):
        world.open(*(plugins or FAIR))
        self.world, self.session = world, world.session
        self.seen = []

        def validator(plan):
            self.seen.append(plan)
            return validate(plan)

        self.solver = Solver(
            self.session,
            GangPlacer(self.session),
            victims=self.victims,
            validator=validator,
            **options,
        )

    def victims(self, claimant):
        others = [
            job
            for job in self.session.jobs.values()
            if job.queue != claimant.queue and active_count(job)
        ]
        return QueueTree(self.session, others, victims=True)

    def solve(self, name, rows=None):
        rows = range(len(self.session.nodes)) if rows is None else rows
        return self.solver.solve(self.world.job_of(name), rows)

    def evictions(self, statement):
        statement.commit()
        check(self.session)
        return [eviction.uid for eviction in self.session.decisions.evictions]

    def status(self, name):
        return self.world.task(name).status

    def trace(self):
        """Everything that a search must restore."""
        nodes, ask = self.session.nodes, self.session.ask
        shares = [
            (s.used, s.allocated, s.releasing, s.marked)
            for s in (nodes.shares(row) for row in range(len(nodes)))
        ]
        held = [ask.get_queue_allocated_resources(q) for q in self.session.queues.values()]
        state = {**accounts(self.session), "shares": repr(shares), "queues": repr(held)}
        return {**state, "held": [sorted(row) for row in state["held"]]}
