"""Plugins that count placements or refuse them, and the check of a session's accounts."""

import numpy as np

from pumice import Plugin, hookimpl
from pumice.model.invariants import check
from pumice.model.task import IS_ALLOCATED
from pumice_builtin_plugins.binpack import Binpack
from pumice_builtin_plugins.drf.plugin import Drf
from pumice_builtin_plugins.gang import Gang
from pumice_builtin_plugins.nodeorder.plugin import NodeOrder
from pumice_builtin_plugins.predicates.plugin import Predicates
from pumice_builtin_plugins.priority import Priority
from pumice_builtin_plugins.proportion.plugin import Proportion
from tests.framework._build import policy


class Counting(Plugin):
    """Counts what jobs and nodes hold; a job order and a score depend on the counts."""

    @hookimpl
    def on_session_open(self):
        self.by_job = {}
        self.by_node = {}
        for task_ in self.session.cluster.tasks.values():
            if task_.job is not None and IS_ALLOCATED[task_.status]:
                self._count(task_, 1)

    def _count(self, task_, sign):
        for counts, key in ((self.by_job, task_.job.uid), (self.by_node, task_.node)):
            counts[key] = counts.get(key, np.zeros(len(task_.vector), np.int64)) + (
                sign * task_.vector
            )

    @hookimpl
    def on_allocate(self, task):
        if task.job is not None:
            self._count(task, 1)

    @hookimpl
    def on_deallocate(self, task):
        if task.job is not None:
            self._count(task, -1)

    @hookimpl
    def job_order(self, left, right):
        return int(self._of(left) > self._of(right)) - int(self._of(left) < self._of(right))

    def _of(self, job):
        held = self.by_job.get(job.uid)
        return (0,) if held is None or not held.any() else tuple(held.tolist())

    @hookimpl
    def node_order(self, node):
        return float(self.by_node.get(node.name, np.zeros(1))[0])


class Picky(Plugin):
    """Refuses a placement, or fails, as the test sets it."""

    mood = ""

    @hookimpl
    def on_allocate(self, task):
        if self.mood == "refuse":
            return "not today"
        if self.mood == "fail":
            raise RuntimeError("fell over")
        return None

    @hookimpl
    def on_deallocate(self, task):
        if self.mood == "fail to let go":
            raise RuntimeError("fell over")


POLICY = policy(
    [Priority, Gang, Picky, Counting], [Drf, Predicates, Proportion, NodeOrder, Binpack]
)


def _check_accounts(session):
    """All invariants but that binds complete gangs: the machine commits whatever it has."""
    binds, session.decisions.binds = session.decisions.binds, []
    check(session)
    session.decisions.binds = binds
