"""Scores nodes as kube-scheduler does: resources, affinity, taints, images, topology spread."""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np
from pydantic import Field

from pumice import (
    FEW_ROWS,
    NodeHandle,
    NodeTable,
    NodeView,
    Plugin,
    RowCursor,
    Scope,
    Task,
    hookimpl,
)
from pumice_builtin_plugins.kube.image_locality import Images
from pumice_builtin_plugins.kube.label_columns import LabelColumns
from pumice_builtin_plugins.kube.node_affinity import preferred_nodes
from pumice_builtin_plugins.kube.pod_affinity import AffinityScore, tasks_with_affinity
from pumice_builtin_plugins.kube.pod_counts import PodCounts
from pumice_builtin_plugins.kube.pod_terms import Namespaces, TermReader
from pumice_builtin_plugins.kube.resource_scores import ResourceScores, ScoredRequest
from pumice_builtin_plugins.kube.shortcut import POD_COUNTS
from pumice_builtin_plugins.kube.taints import TaintGroups
from pumice_builtin_plugins.kube.topology_spread import SpreadScore


class ScoreTerms:
    """What the scores of one class of tasks consist of, read once."""

    __slots__ = (
        "constant",
        "cursor",
        "has_pod_affinity",
        "images",
        "node_affinity",
        "node_scores",
        "relative",
        "request",
        "taints",
    )

    def __init__(self, request: ScoredRequest, nodes: NodeTable) -> None:
        self.request = request
        self.images: memoryview | None = None
        """By row: the weighted score for images."""
        self.constant = 0
        """Sum of the scores that are the same for every set of nodes."""
        self.node_affinity: np.ndarray | None = None
        """By row: the weights of the matching preferred terms; None: all equal."""
        self.taints: np.ndarray | None = None
        """By row: how many PreferNoSchedule taints are not tolerated; None: all equal."""
        self.has_pod_affinity = False
        """Whether pods on other nodes count: by pod affinity or topology spread."""
        self.relative = False
        """Whether any score depends on which nodes are asked about."""
        self.cursor = RowCursor(nodes)
        self.node_scores: np.ndarray = np.zeros(0)
        """By row: the scores that depend on the node alone, as of the cursor."""


class NodeOrder(Plugin):
    """Score nodes by kube-scheduler's rules, each 0 to 100 times its weight; weight 0 is off."""

    shortcuts = (POD_COUNTS,)

    class Options(Plugin.Options):
        least: int = Field(
            1, alias="leastrequested.weight", description="prefer nodes with much room left"
        )
        most: int = Field(
            0, alias="mostrequested.weight", description="prefer nodes with little room left"
        )
        balanced: int = Field(
            1,
            alias="balancedresource.weight",
            description="prefer nodes whose cpu, memory and gpus get used evenly",
        )
        node_affinity: int = Field(
            2, alias="nodeaffinity.weight", description="apply preferred node affinity"
        )
        pod_affinity: int = Field(
            2, alias="podaffinity.weight", description="apply preferred pod (anti-)affinity"
        )
        taints: int = Field(
            3, alias="tainttoleration.weight", description="avoid PreferNoSchedule taints"
        )
        images: int = Field(
            1, alias="imagelocality.weight", description="prefer nodes that have the images"
        )
        spread: int = Field(
            2,
            alias="podtopologyspread.weight",
            description="apply topology spread constraints with ScheduleAnyway",
        )

    options: Options

    @hookimpl
    def on_session_open(self) -> None:
        table, cluster, weights = self.session.nodes, self.session.cluster, self.options
        self._table = table
        self._columns = LabelColumns(table)
        self._resources = ResourceScores(
            table,
            cluster.snapshot_cache,
            least=weights.least,
            most=weights.most,
            balanced=weights.balanced,
        )
        self._resource_score = self._resources.score
        self._taint_groups = TaintGroups(table)
        self._images = Images(table)
        self._pod_counts = PodCounts(self._columns, cached=self.session.uses("pod_counts"))
        reader = TermReader(Namespaces(cluster.inventory))
        tasks = tasks_with_affinity(cluster.snapshot_cache) if weights.pod_affinity else ()
        self._affinity = AffinityScore(self._pod_counts, reader, tasks)
        self._spread = SpreadScore(self._pod_counts, self._taint_groups, cluster.inventory)
        self._terms: dict[int, ScoreTerms] = {}

    def class_key(self, task: Task) -> Hashable:
        """Tasks that differ in this are scored differently."""
        return (
            self._resources.request(task)[:2],
            self._images.wanted(task.pod),
            self._affinity.signature(task),
            self._spread.signature(task),
        )

    @hookimpl
    def node_order(self, task: Task, node: NodeHandle) -> float:
        terms = self._terms.get(task.class_id) or self._terms_of(task)
        row = node.row
        if terms.relative:
            return float(self.batch_node_order(task, self._table.view(np.array([row])))[0])
        return self._node_score(terms, row)

    def _scope(self, task: Task) -> Scope:
        return "cluster" if self._terms_of(task).relative else "row"

    @hookimpl(scope=_scope)
    def batch_node_order(self, task: Task, nodes: NodeView) -> np.ndarray:
        terms, weights = self._terms_of(task), self.options
        rows = slice(None) if nodes.whole else nodes.rows
        if not terms.relative:
            return self._node_scores(terms, rows)
        total = nodes.take(self._cached_node_scores(terms)).copy()
        if terms.node_affinity is not None:
            total += weights.node_affinity * _percent_of_largest(terms.node_affinity[rows])
        if terms.taints is not None:
            total += weights.taints * (100 - _percent_of_largest(terms.taints[rows]))
        if terms.has_pod_affinity:
            if weights.pod_affinity and self._affinity.concerns(task):
                total += weights.pod_affinity * self._affinity.scores(task, nodes.take)
            if weights.spread and self._spread.concerns(task):
                total += weights.spread * self._spread.scores(task, nodes.take)
        return total

    @hookimpl
    def on_allocate(self, task: Task) -> None:
        row = self._table.row_of.get(task.node)
        if row is not None:
            self._resources.add(self._request(task), row, 1)
            self._pod_counts.add_pod(task, row)

    @hookimpl
    def on_deallocate(self, task: Task) -> None:
        row = self._table.row_of.get(task.node)
        if row is not None:
            self._resources.add(self._request(task), row, -1)
            self._pod_counts.remove_pod(task, row)

    # -- helpers

    def _request(self, task: Task) -> ScoredRequest:
        terms = self._terms.get(task.class_id)
        return self._resources.request(task) if terms is None else terms.request

    def _terms_of(self, task: Task) -> ScoreTerms:
        terms = self._terms.get(task.class_id)
        if terms is None:
            terms = self._read_terms(task)
            if task.class_id >= 0:
                self._terms[task.class_id] = terms
        return terms

    def _read_terms(self, task: Task) -> ScoreTerms:
        weights, pod = self.options, task.pod
        terms = ScoreTerms(self._resources.request(task), self._table)
        if weights.images:
            images = self._images.scores(self._images.wanted(pod))
            terms.images = None if images is None else (images * weights.images).data
        if weights.node_affinity:
            preferred = preferred_nodes(pod, self._columns)
            if preferred is not None and _all_equal(preferred):
                terms.constant += weights.node_affinity * int(100 * np.sign(preferred[:1].sum()))
            else:
                terms.node_affinity = preferred
        if weights.taints:
            untolerated = self._taint_groups.untolerated_preferred(pod.tolerations)
            if not _all_equal(untolerated):
                terms.taints = untolerated
            elif not untolerated.any():
                terms.constant += weights.taints * 100
        terms.has_pod_affinity = bool(
            weights.pod_affinity and self._affinity.concerns(task)
        ) or bool(weights.spread and self._spread.concerns(task))
        terms.relative = (
            terms.has_pod_affinity or terms.node_affinity is not None or terms.taints is not None
        )
        return terms

    def _node_score(self, terms: ScoreTerms, row: int) -> float:
        """The scores of one node that depend on it alone."""
        score = self._resource_score(terms.request, row) + terms.constant
        if terms.images is not None:
            score += terms.images[row]
        return float(score)

    def _node_scores(self, terms: ScoreTerms, rows: np.ndarray | slice) -> np.ndarray:
        """The same for many nodes."""
        total = self._resources.scores(terms.request, rows).astype(np.float64) + terms.constant
        if terms.images is not None:
            total += np.asarray(terms.images)[rows]
        return total

    def _cached_node_scores(self, terms: ScoreTerms) -> np.ndarray:
        """The same for all nodes, cached for classes with relative scores."""
        changed = terms.cursor.changed()
        if changed is None or len(changed) > FEW_ROWS:
            terms.node_scores = self._node_scores(terms, slice(None))
        else:
            for row in changed:
                terms.node_scores[row] = self._node_score(terms, row)
        return terms.node_scores


def _all_equal(column: np.ndarray) -> bool:
    return not len(column) or bool((column == column[0]).all())


def _percent_of_largest(column: np.ndarray) -> np.ndarray:
    """0 to 100, the largest of the column being 100; zeros stay zeros."""
    largest = int(column.max()) if len(column) else 0
    if not largest:
        return column
    # The values are few and small: dividing each of them once is faster than each node's.
    scores: np.ndarray = (np.arange(largest + 1) * 100 // largest)[column]
    return scores
