"""Scores nodes as kube-scheduler does: how full they are, wishes, taints, images, spread."""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np
from pydantic import Field

from pumice import NodeHandle, NodeView, Plugin, Scope, Task, hookimpl
from pumice_builtin_plugins.kube.image_locality import Images
from pumice_builtin_plugins.kube.label_columns import LabelColumns
from pumice_builtin_plugins.kube.node_affinity import preferred_nodes
from pumice_builtin_plugins.kube.pod_affinity import AffinityScore, tasks_with_pod_affinity
from pumice_builtin_plugins.kube.pod_counts import PodCounts
from pumice_builtin_plugins.kube.pod_terms import Namespaces, TermReader
from pumice_builtin_plugins.kube.resource_scores import Load, ResourceScores
from pumice_builtin_plugins.kube.shortcut import POD_COUNTS
from pumice_builtin_plugins.kube.taints import TaintGroups
from pumice_builtin_plugins.kube.topology_spread import SpreadScore

_FEW = 100
"""Up to so many changed nodes are scored anew one by one."""


class ScoreTerms:
    """What the scores of one class of tasks are made of."""

    __slots__ = (
        "alone",
        "constant",
        "has_pod_affinity",
        "images",
        "load",
        "preferred",
        "relative",
        "unwelcome",
        "version",
    )

    def __init__(self, load: Load) -> None:
        self.load = load
        self.images: memoryview | None = None
        """Score by row that depends on the node alone."""
        self.constant = 0
        """Sum of the scores that are the same for every node, whichever are asked about."""
        self.preferred: np.ndarray | None = None
        self.unwelcome: np.ndarray | None = None
        self.has_pod_affinity = False
        """Whether pods elsewhere in the cluster bear on it."""
        self.relative = False
        """Whether any score depends on which nodes are asked about."""
        self.alone: np.ndarray | None = None
        """What every node scores by itself, as of a version of the node table."""
        self.version = -1


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
            2, alias="nodeaffinity.weight", description="heed preferred node affinity"
        )
        pod_affinity: int = Field(
            2, alias="podaffinity.weight", description="heed preferred pod (anti-)affinity"
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
            description="heed topology spread constraints that need not be satisfied",
        )

    options: Options

    @hookimpl
    def on_session_open(self) -> None:
        table, cluster, weights = self.session.nodes, self.session.cluster, self.options
        self._table = table
        self._columns = LabelColumns(table)
        self._fullness = ResourceScores(
            table,
            cluster.snapshot_cache,
            least=weights.least,
            most=weights.most,
            balanced=weights.balanced,
        )
        self._score = self._fullness.score
        self._taints = TaintGroups(table)
        self._images = Images(table)
        self._pod_counts = PodCounts(self._columns, remembers=self.session.uses("pod_counts"))
        reader = TermReader(Namespaces(cluster.inventory))
        tasks = tasks_with_pod_affinity(cluster.snapshot_cache) if weights.pod_affinity else ()
        self._affinity = AffinityScore(self._pod_counts, reader, tasks)
        self._spread = SpreadScore(self._pod_counts, self._taints, cluster.inventory)
        self._wishes: dict[int, ScoreTerms] = {}

    def class_key(self, task: Task) -> Hashable:
        """Tasks that differ in this are scored differently."""
        return (
            self._fullness.assumed(task.pod),
            self._images.wanted(task.pod),
            self._affinity.signature(task),
            self._spread.signature(task),
        )

    # -- what happens

    @hookimpl
    def on_allocate(self, task: Task) -> None:
        row = self._table.row_of.get(task.node)
        if row is not None:
            self._fullness.add(self._load(task), row, 1)
            self._pod_counts.arrived(task, row)

    @hookimpl
    def on_deallocate(self, task: Task) -> None:
        row = self._table.row_of.get(task.node)
        if row is not None:
            self._fullness.add(self._load(task), row, -1)
            self._pod_counts.left(task, row)

    def _load(self, task: Task) -> Load:
        wish = self._wishes.get(task.class_id)
        return self._fullness.load(task) if wish is None else wish.load

    # -- scores

    def _wish(self, task: Task) -> ScoreTerms:
        wish = self._wishes.get(task.class_id)
        if wish is None:
            wish = self._read(task)
            if task.class_id >= 0:
                self._wishes[task.class_id] = wish
        return wish

    def _read(self, task: Task) -> ScoreTerms:
        weights, pod = self.options, task.pod
        wish = ScoreTerms(self._fullness.load(task))
        if weights.images:
            images = self._images.scores(self._images.wanted(pod))
            wish.images = None if images is None else (images * weights.images).data
        if weights.node_affinity:
            preferred = preferred_nodes(pod, self._columns)
            if preferred is not None and _uniform(preferred):
                wish.constant += weights.node_affinity * int(100 * np.sign(preferred[:1].sum()))
            else:
                wish.preferred = preferred
        if weights.taints:
            unwelcome = self._taints.unwelcome(pod.tolerations)
            if not _uniform(unwelcome):
                wish.unwelcome = unwelcome
            elif not unwelcome.any():
                wish.constant += weights.taints * 100
        wish.has_pod_affinity = bool(
            weights.pod_affinity and self._affinity.concerns(task)
        ) or bool(weights.spread and self._spread.concerns(task))
        wish.relative = (
            wish.has_pod_affinity or wish.preferred is not None or wish.unwelcome is not None
        )
        return wish

    def _reach(self, task: Task) -> Scope:
        return "cluster" if self._wish(task).relative else "row"

    @hookimpl
    def node_order(self, task: Task, node: NodeHandle) -> float:
        wish = self._wishes.get(task.class_id) or self._wish(task)
        row = node.row
        if wish.relative:
            return float(self.batch_node_order(task, self._table.view(np.array([row])))[0])
        return self._one(wish, row)

    def _one(self, wish: ScoreTerms, row: int) -> float:
        """What one node scores by itself."""
        score = self._score(wish.load, row) + wish.constant
        if wish.images is not None:
            score += wish.images[row]
        return float(score)

    def _many(self, wish: ScoreTerms, rows: np.ndarray | slice) -> np.ndarray:
        """What nodes score by themselves."""
        total = self._fullness.scores(wish.load, rows).astype(np.float64) + wish.constant
        if wish.images is not None:
            total += np.asarray(wish.images)[rows]
        return total

    def _alone(self, wish: ScoreTerms) -> np.ndarray:
        """What all nodes score by themselves, remembered for tasks with relative scores."""
        table = self._table
        changed = table.changed_since(wish.version) if wish.alone is not None else None
        if wish.alone is None or changed is None or len(changed) > _FEW:
            wish.alone = self._many(wish, slice(None))
        else:
            for row in changed:
                wish.alone[row] = self._one(wish, row)
        wish.version = table.version
        return wish.alone

    @hookimpl(scope=_reach)
    def batch_node_order(self, task: Task, nodes: NodeView) -> np.ndarray:
        wish, weights = self._wish(task), self.options
        rows = slice(None) if nodes.whole else nodes.rows
        if not wish.relative:
            return self._many(wish, rows)
        total = nodes.take(self._alone(wish)).copy()
        if wish.preferred is not None:
            total += weights.node_affinity * _of_largest(wish.preferred[rows])
        if wish.unwelcome is not None:
            total += weights.taints * (100 - _of_largest(wish.unwelcome[rows]))
        if wish.has_pod_affinity:
            if weights.pod_affinity and self._affinity.concerns(task):
                total += weights.pod_affinity * self._affinity.scores(task, nodes.take)
            if weights.spread and self._spread.concerns(task):
                total += weights.spread * self._spread.scores(task, nodes.take)
        return total


def _uniform(column: np.ndarray) -> bool:
    return not len(column) or bool((column == column[0]).all())


def _of_largest(column: np.ndarray) -> np.ndarray:
    """0 to 100, the largest of these being 100; all 0 stay so."""
    largest = int(column.max()) if len(column) else 0
    if not largest:
        return column
    # The values are few and small: dividing each of them once is faster than each node's.
    scores: np.ndarray = (np.arange(largest + 1) * 100 // largest)[column]
    return scores
