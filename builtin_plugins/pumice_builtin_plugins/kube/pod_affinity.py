"""Inter-pod affinity: the required terms as a filter, the preferred ones as a score."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence

import numpy as np

from pumice import Code, SnapshotCache, Task, TaskStatus
from pumice_builtin_plugins.kube.filter_statuses import STATUSES
from pumice_builtin_plugins.kube.pod_counts import PodChange, PodCount, PodCounts, PodWeight
from pumice_builtin_plugins.kube.pod_terms import AffinityTerm, PodTerms, TermReader

AFFINITY_UNMET = STATUSES.id("node(s) didn't match pod affinity rules", Code.UNRESOLVABLE)
ANTI_AFFINITY_UNMET = STATUSES.id("node(s) didn't match pod anti-affinity rules")
EXISTING_ANTI_AFFINITY = STATUSES.id("node(s) didn't satisfy existing pods anti-affinity rules")


def tasks_with_affinity(cache: SnapshotCache) -> list[Task]:
    """The tasks that have any affinity."""
    return cache.tasks("affinity", lambda pod: bool(pod.affinity))


class _Affinity:
    """What filter and score have in common: terms of existing pods apply to pods they select."""

    def __init__(
        self, pod_counts: PodCounts, reader: TermReader, existing: Iterable[AffinityTerm]
    ) -> None:
        """``existing``: the terms of all pods of the session that may apply to another pod."""
        self.pod_counts = pod_counts
        self.reader = reader
        self._existing = tuple(dict.fromkeys(existing))
        keys = {key for term in self._existing for key in term.label_keys()}
        self._label_keys = tuple(sorted(keys))
        self._existing_for: dict[Hashable, tuple[AffinityTerm, ...]] = {}

    def signature(self, task: Task) -> Hashable:
        """What decides which terms of existing pods select the task: namespace and some labels."""
        if not self._existing:
            return None
        labels = task.labels
        return (task.namespace, *[labels.get(key) for key in self._label_keys])

    def existing_terms(self, task: Task) -> tuple[AffinityTerm, ...]:
        """The terms, of any pod of the session, that select the task."""
        if not self._existing:
            return ()
        signature = self.signature(task)
        terms = self._existing_for.get(signature)
        if terms is None:
            terms = tuple(term for term in self._existing if term.matches(task))
            self._existing_for[signature] = terms
        return terms

    def selected(self, *terms: AffinityTerm) -> PodCount:
        """The pods that all of the terms select."""
        key = ("selected", *[term.key for term in terms])
        return self.pod_counts.count(key, _selected_by(terms))


def _selected_by(terms: Sequence[AffinityTerm]) -> PodWeight:
    if len(terms) == 1:
        matches = terms[0].matches
        return lambda task: 1 if matches(task) else 0
    return lambda task: 1 if all(term.matches(task) for term in terms) else 0


class AffinityFilter(_Affinity):
    """Required terms: those of the task, and the anti-affinity of existing pods."""

    def __init__(self, pod_counts: PodCounts, reader: TermReader, tasks: Sequence[Task]) -> None:
        anti_affinity = (term for task in tasks for term in reader.terms(task).anti_affinity)
        super().__init__(pod_counts, reader, anti_affinity)
        self._attracted = [task for task in tasks if reader.terms(task).affinity]
        """The tasks that have to run beside others."""

    def concerns(self, task: Task) -> bool:
        """Whether the filter can reject any node for the task."""
        terms = self.reader.terms(task)
        return bool(terms.affinity or terms.anti_affinity or self.existing_terms(task))

    def applies(self, task: Task) -> bool:
        """Whether it can as the cluster is: a pod with such an anti-affinity is on a node."""
        terms = self.reader.terms(task)
        return bool(terms.affinity or terms.anti_affinity) or any(
            self._having(term).by_domain(term.topology_key).any()
            for term in self.existing_terms(task)
        )

    def relying_on(self, task: Task, *, is_evicted: bool) -> Task | None:
        """A task that was promised a node where it has to run beside this one: no other is left."""
        for waiting in self._attracted:
            if waiting.status is not TaskStatus.PIPELINED or waiting is task:
                continue
            terms = self.reader.terms(waiting).affinity
            if all(term.matches(task) for term in terms):
                selected = self.selected(*terms)
                own = selected.weight(waiting)
                is_first = own and int(selected.by_node.sum()) == own
                apart = task.node if not is_evicted else ""
                if not is_first and any(
                    self._is_alone(waiting, selected, term.topology_key, own, apart)
                    for term in terms
                ):
                    return waiting
        return None

    def _is_alone(
        self, waiting: Task, selected: PodCount, topology_key: str, own: int, apart: str
    ) -> bool:
        """Whether none of the pods that a task needs is left in its domain.

        ``own`` is what it counts itself; ``apart``: one of them on this node does not count.
        """
        column, row_of = self.pod_counts.columns.column(topology_key), self.pod_counts.table.row_of
        domain = column.ids[row_of[waiting.node]]
        left = int(selected.by_domain(topology_key)[domain]) - own
        if apart:
            row = row_of.get(apart)
            if row is None or column.ids[row] != domain:
                return False
            left -= 1
        return left <= 0

    def statuses(self, task: Task) -> np.ndarray:
        """The status of every node, as the cluster is."""
        terms = self.reader.terms(task)
        result = np.zeros(len(self.pod_counts.table), np.int64)
        for term in self.existing_terms(task):
            result[self._having(term).in_domain(term.topology_key) > 0] = EXISTING_ANTI_AFFINITY
        for term in terms.anti_affinity:
            result[self.selected(term).in_domain(term.topology_key) > 0] = ANTI_AFFINITY_UNMET
        if terms.affinity:
            result[~self._meets_affinity(task, terms)] = AFFINITY_UNMET
        return result

    def status(self, task: Task, row: int, changes: Sequence[PodChange]) -> int:
        """The status of one node after simulated changes."""
        self.pod_counts.simulated = changes
        try:
            return self._simulated_status(task, row, changes)
        finally:
            self.pod_counts.simulated = ()

    def _having(self, term: AffinityTerm) -> PodCount:
        """The pods that have the term as an anti-affinity."""
        terms = self.reader.terms
        return self.pod_counts.count(
            ("having", term.key), lambda task: terms(task).anti_affinity.count(term)
        )

    def _meets_affinity(self, task: Task, terms: PodTerms) -> np.ndarray:
        columns = self.pod_counts.columns
        selected = self.selected(*terms.affinity)
        labelled, satisfied = columns.all(), columns.all()
        for term in terms.affinity:
            labelled &= columns.column(term.topology_key).present
            satisfied &= selected.in_domain(term.topology_key) > 0
        if self._is_first(task, terms, selected, ()):
            return labelled
        labelled &= satisfied
        return labelled

    def _is_first(
        self, task: Task, terms: PodTerms, selected: PodCount, changes: Sequence[PodChange]
    ) -> bool:
        """Whether no pod matches yet and the task matches its own terms.

        kube-scheduler lets such a pod pass: else the first pod of a group could never be placed.
        """
        for term in terms.affinity:
            column = self.pod_counts.columns.column(term.topology_key)
            change = sum(
                sign * selected.weight(pod)
                for pod, row, sign in changes
                if column.ids[row] != column.missing
            )
            if int(selected.by_domain(term.topology_key).sum()) + change > 0:
                return False
        return all(term.matches(task) for term in terms.affinity)

    def _simulated_status(self, task: Task, row: int, changes: Sequence[PodChange]) -> int:
        terms = self.reader.terms(task)
        if terms.affinity:
            selected = self.selected(*terms.affinity)
            counts = [self._in_domain(selected, term, row, changes) for term in terms.affinity]
            first = self._is_first(task, terms, selected, changes)
            if not all(count is not None and (count > 0 or first) for count in counts):
                return AFFINITY_UNMET
        if any(
            self._in_domain(self.selected(term), term, row, changes) for term in terms.anti_affinity
        ):
            return ANTI_AFFINITY_UNMET
        for term in self.existing_terms(task):
            if self._in_domain(self._having(term), term, row, changes):
                return EXISTING_ANTI_AFFINITY
        return 0

    def _in_domain(
        self, count: PodCount, term: AffinityTerm, row: int, changes: Sequence[PodChange]
    ) -> int | None:
        """The count in the node's domain after changes; None: the node lacks the label."""
        column = self.pod_counts.columns.column(term.topology_key)
        domain = column.ids[row]
        if domain == column.missing:
            return None
        change = sum(
            sign * count.weight(pod) for pod, at, sign in changes if column.ids[at] == domain
        )
        return int(count.by_domain(term.topology_key)[domain]) + change


class AffinityScore(_Affinity):
    """Preferred terms: those of the task, and those of existing pods."""

    def __init__(self, pod_counts: PodCounts, reader: TermReader, tasks: Iterable[Task]) -> None:
        preferred = (term for task in tasks for term, _ in reader.terms(task).preferred)
        super().__init__(pod_counts, reader, preferred)

    def concerns(self, task: Task) -> bool:
        """Whether any node can score for the task."""
        return bool(self.reader.terms(task).preferred or self.existing_terms(task))

    def totals(self, task: Task) -> np.ndarray:
        """Per node the sum of the weights of the preferences that it satisfies."""
        total = np.zeros(len(self.pod_counts.table), np.int64)
        for term, weight in self.reader.terms(task).preferred:
            total += weight * self.selected(term).in_domain(term.topology_key)
        for term in self.existing_terms(task):
            total += self._preferring(term).in_domain(term.topology_key)
        return total

    def scores(self, task: Task, take: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
        """0 to 100, relative to each other, for the nodes that ``take`` selects of a column."""
        raw = take(self.totals(task))
        if not len(raw):
            return raw.astype(np.float64)
        least = raw.min()
        span = raw.max() - least
        if not span:
            return np.zeros(len(raw))
        scaled: np.ndarray = np.trunc(100.0 * ((raw - least) / span))
        return scaled

    def _preferring(self, term: AffinityTerm) -> PodCount:
        """The pods that have the term as a preference, each with its weight."""
        terms = self.reader.terms
        return self.pod_counts.count(
            ("preferring", term.key),
            lambda task: sum(weight for own, weight in terms(task).preferred if own == term),
        )
