"""A filter as a user writes it on the first day: one node at a time, no cache."""

from __future__ import annotations

from pumice import Plugin, hookimpl
from pumice.model.nodes import NodeHandle
from pumice.model.task import Task
from pumice.verdicts import FitError

LABEL = "example.com/repair"


class Repair(Plugin):
    """Keep tasks off nodes that are being repaired."""

    @hookimpl
    def predicate(self, task: Task, node: NodeHandle) -> FitError | None:
        return _verdict(node)


class RepairByRow(Plugin):
    """The same, declaring that the answer depends on the node alone."""

    @hookimpl(scope="row")
    def predicate(self, task: Task, node: NodeHandle) -> FitError | None:
        return _verdict(node)


def _verdict(node: NodeHandle) -> FitError | None:
    if node.labels.get(LABEL) == "yes":
        return FitError.of("the node is being repaired")
    return None
