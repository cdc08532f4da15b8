"""Filters, scores and topology: which nodes can take a task, and which is best."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pumice.combine import (
    First,
    FirstError,
    FirstPlugin,
    Fold,
    Notify,
    PerPlugin,
    Sum,
    SumByKey,
)
from pumice.hookspecs._point import extension_point

if TYPE_CHECKING:
    import numpy as np

    from pumice.combine import Skip
    from pumice.model.job import Job, SubJob
    from pumice.model.nodes import NodeHandle, NodeView
    from pumice.model.task import Task
    from pumice.verdicts import FitError, NodeVerdicts


class NodeSpecs:
    """Filters, scores and topology. The vector form of a point counts as that point."""

    @extension_point(FirstError())
    def pre_predicate(self, task: Task, job: Job) -> FitError | Skip | None:
        """Whether any node could take the task; also the time to prepare for ``predicate``.

        Asked once per task before its nodes are filtered. A FitError ends the attempt. SKIP: this
        plugin's ``predicate`` is not asked for the task. None: continue.

        Default: continue.
        """

    @extension_point(FirstError())
    def predicate(self, task: Task, node: NodeHandle, job: Job | None) -> FitError | None:
        """Whether one node can take the task.

        Asked for every node that the request fits. A FitError states why not and whether an
        eviction could help. Prefer ``predicate_nodes``: this form is called once per node. It must
        not change anything.

        Default: every node can.
        """

    @extension_point(FirstError(), form_of="predicate")
    def predicate_nodes(self, task: Task, nodes: NodeView) -> NodeVerdicts | None:
        """The vector form of ``predicate``: the verdict for each of ``nodes`` at once.

        Declare with ``@hookimpl(scope=…)`` what the answer depends on, so that it can be cached:
        ``static`` (the task's class and the node's own facts), ``row`` (also the pods on the
        node), or ``cluster`` (anything; never cached). A plugin may give both forms; they must
        agree.

        Default: every node can.
        """

    @extension_point(Notify())
    def node_pre_order(self, task: Task, nodes: NodeView) -> None:
        """These nodes are about to be scored for the task.

        Called by the KAI actions once per task: the time to find minima and maxima.

        Default: nothing happens.
        """

    @extension_point(Sum())
    def node_order(self, task: Task, node: NodeHandle) -> float | None:
        """Score one node for the task; higher is better, None counts as 0.

        Asked for every node that passed the filters; the scores of all plugins are added. Prefer
        ``batch_node_order``. It must not change anything.

        Default: 0, so the first node by name is taken.
        """

    @extension_point(Sum(), form_of="node_order")
    def batch_node_order(self, task: Task, nodes: NodeView) -> np.ndarray | None:
        """The vector form of ``node_order``: a float for each of ``nodes``; NaN: not this one.

        The KAI actions leave out a node that a plugin scores NaN, the others take it last.
        Declare with ``@hookimpl(scope=…)`` what the answer depends on, as for
        ``predicate_nodes``. Scores normalised over the given nodes are ``cluster``; or ``span``, in
        a plugin that has both forms and whose method ``span`` gives what nodes are compared with.

        Default: 0.
        """

    @extension_point(PerPlugin())
    def node_map(self, task: Task, nodes: NodeView) -> np.ndarray | None:
        """A first score for each of ``nodes``, to be reduced by the same plugin's ``node_reduce``.

        Asked with the nodes that passed the filters. Without ``node_reduce`` it adds nothing.

        Default: nothing is added.
        """

    @extension_point(PerPlugin())
    def node_reduce(self, task: Task, scores: np.ndarray) -> np.ndarray | None:
        """Turn the plugin's own ``node_map`` scores into the scores that are added to the total.

        Asked once per task after ``node_map``.

        Default: nothing is added.
        """

    @extension_point(First(), guards=False)
    def best_node(self, task: Task, scores: Mapping[float, Sequence[str]]) -> str | None:
        """Choose the node by name from the candidates, grouped by their total score.

        Asked when more than one node is left. The first answer that is not None decides.

        Default: the highest score, ties by name.
        """

    @extension_point(Fold())
    def subset_nodes(
        self,
        job: Job,
        sub_group: Any,
        pod_sets: Mapping[str, SubJob],
        tasks: Sequence[Task],
        nodes: Sequence[int],
    ) -> Sequence[Sequence[int]] | None:
        """Split a set of nodes (rows) into the sets in which these tasks may be placed together.

        Asked by the KAI actions for each sub-group of a job; the sets are tried in order. An empty
        list: there is no such set. None: the set as it is.

        Default: the one set, unchanged.
        """

    @extension_point(SumByKey())
    def hyper_node_order(
        self, sub_job: SubJob, hyper_nodes: Mapping[str, NodeView]
    ) -> Mapping[str, float] | None:
        """Score the hypernodes into which a trial placed the sub-job; higher is better.

        Asked once for each gradient with more than one such hypernode.

        Default: 0, ties by name.
        """

    @extension_point(FirstPlugin())
    def hyper_node_gradient_for_job(
        self, job: Job, root: str, purpose: str
    ) -> Sequence[Sequence[str]] | None:
        """The hypernodes to try for the job, in groups: all of a group are tried, then the next.

        Asked once per job with a network topology. ``purpose`` is ``allocate`` or ``evict``. Only
        the first plugin is asked; an empty answer: there is no hypernode for the job.

        Default: the given hypernode alone.
        """

    @extension_point(FirstPlugin())
    def hyper_node_gradient_for_sub_job(
        self, sub_job: SubJob, root: str, purpose: str
    ) -> Sequence[Sequence[str]] | None:
        """As ``hyper_node_gradient_for_job``, for a sub-job below the hypernode of its job.

        Default: the given hypernode alone.
        """

    @extension_point(Notify(), asked=False)
    def reserved_nodes(self) -> None:
        """Reserve nodes for the target job.

        Declared for completeness: no action calls it any more.

        Default: nothing happens.
        """
