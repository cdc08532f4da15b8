"""Drain nodes gently: an action, the extension point that it asks, and a plugin for it."""

from pydantic import Field

from pumice import (
    Action,
    NodeHandle,
    Plugin,
    Session,
    TaskStatus,
    combine,
    extension_point,
    hookimpl,
)


class DrainSpecs:
    """The extension point of the action; any installed plugin may implement it."""

    @extension_point(combine=combine.Any_())
    def should_drain(self, node: NodeHandle) -> bool | None:
        """Whether a node should be drained.

        Asked by drain, once per node and cycle. None is no opinion.

        Default: no node is emptied.
        """


class DrainLabel(Plugin):
    """Drain the nodes that carry a label."""

    class Options(Plugin.Options):
        label: str = Field(
            "drain", alias="drain.label", description="The label; its value must be true."
        )

    @hookimpl
    def should_drain(self, node: NodeHandle) -> bool:
        return node.labels.get(self.options.label) == "true"


class Drain(Action):
    """Evict tasks from nodes that should be drained, as long as their job keeps its minimum."""

    class Options(Action.Options):
        limit: int = Field(
            0, ge=0, alias="drain.limit", description="Most evictions in a cycle; 0: any number."
        )

    evicts = True
    needs = ("should_drain",)

    def execute(self, session: Session) -> None:
        left = self.options.limit or len(session.cluster.tasks)
        for node in session.nodes.view().handles():
            drains = False
            with session.turn():
                drains = session.ask.should_drain(node)
            if not drains:
                continue
            for task in sorted(node.tasks, key=lambda task: task.key):
                job = task.job
                if task.status is not TaskStatus.RUNNING or job is None:
                    continue
                if left and job.ready_count > job.min_available:
                    with session.turn(job), session.statement() as statement:
                        statement.evict(task, f"node {node.name} is drained")
                        statement.commit()
                        left -= 1
