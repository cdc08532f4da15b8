"""Inter-pod affinity: the required terms as a filter, the preferred ones as a score."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence

import numpy as np

from pumice import Code, SnapshotCache, Task
from pumice_builtin_plugins.kube.filter_reasons import STATUSES
from pumice_builtin_plugins.kube.pod_counts import Amount, Change, PodCounts, Tally
from pumice_builtin_plugins.kube.pod_terms import PodTerms, Term, TermReader

NOT_NEAR = STATUSES.id("node(s) didn't match pod affinity rules", Code.UNRESOLVABLE)
NOT_APART = STATUSES.id("node(s) didn't match pod anti-affinity rules")
UNWANTED = STATUSES.id("node(s) didn't satisfy existing pods anti-affinity rules")


def _matching(terms: Sequence[Term]) -> Amount:
    if len(terms) == 1:
        matches = terms[0].matches
        return lambda task: 1 if matches(task) else 0
    return lambda task: 1 if all(term.matches(task) for term in terms) else 0


class _Affinity:
    """What filter and score have in common: terms that pods carry bear on pods that match them."""

    def __init__(
        self,
        presence: PodCounts,
        reader: TermReader,
        carried: Iterable[Term],
    ) -> None:
        self.presence = presence
        self.reader = reader
        self._carried = tuple(dict.fromkeys(carried))
        keys = {key for term in self._carried for key in term.label_keys()}
        self._label_keys = tuple(sorted(keys))
        self._bearing: dict[Hashable, tuple[Term, ...]] = {}

    def signature(self, task: Task) -> Hashable:
        """As much of a task as tells which carried terms bear on it."""
        if not self._carried:
            return None
        labels = task.labels
        return (task.namespace, *[labels.get(key) for key in self._label_keys])

    def bearing(self, task: Task) -> tuple[Term, ...]:
        """The terms, carried by any pod of the session, that speak of the task."""
        if not self._carried:
            return ()
        signature = self.signature(task)
        found = self._bearing.get(signature)
        if found is None:
            found = tuple(term for term in self._carried if term.matches(task))
            self._bearing[signature] = found
        return found

    def matching(self, *terms: Term) -> Tally:
        """How many pods each node has that all of the terms speak of."""
        key = ("matching", *[term.key for term in terms])
        return self.presence.tally(key, _matching(terms))


def tasks_with_pod_affinity(found: SnapshotCache) -> list[Task]:
    """The tasks that care where others are, or which nodes they get."""
    return found.tasks("affinity", lambda pod: bool(pod.affinity))


class AffinityFilter(_Affinity):
    """Required terms: of the task itself, and anti-affinity of the pods that are there."""

    def __init__(self, presence: PodCounts, reader: TermReader, tasks: Iterable[Task]) -> None:
        anti = (term for task in tasks for term in reader.terms(task).anti)
        super().__init__(presence, reader, anti)

    def carriers(self, term: Term) -> Tally:
        """How many pods each node has that want to be apart from those the term speaks of."""
        terms = self.reader.terms
        return self.presence.tally(
            ("carriers", term.key), lambda task: terms(task).anti.count(term)
        )

    def concerns(self, task: Task) -> bool:
        """Whether the filter can have an objection to the task at all."""
        terms = self.reader.terms(task)
        return bool(terms.affinity or terms.anti or self.bearing(task))

    def applies(self, task: Task) -> bool:
        """Whether it can as the cluster stands: anybody who minds the task is somewhere."""
        terms = self.reader.terms(task)
        return bool(terms.affinity or terms.anti) or any(
            self.carriers(term).domains(term.topology_key).any() for term in self.bearing(task)
        )

    def statuses(self, task: Task) -> np.ndarray:
        """The objection of every node, as the cluster stands."""
        terms = self.reader.terms(task)
        result = np.zeros(len(self.presence.table), np.int64)
        for term in self.bearing(task):
            result[self.carriers(term).near(term.topology_key) > 0] = UNWANTED
        for term in terms.anti:
            result[self.matching(term).near(term.topology_key) > 0] = NOT_APART
        if terms.affinity:
            result[~self._near_enough(task, terms)] = NOT_NEAR
        return result

    def _near_enough(self, task: Task, terms: PodTerms) -> np.ndarray:
        columns = self.presence.columns
        tally = self.matching(*terms.affinity)
        labelled, satisfied = columns.all(), columns.all()
        for term in terms.affinity:
            labelled &= columns.column(term.topology_key).present
            satisfied &= tally.near(term.topology_key) > 0
        if self._first_of_its_kind(task, terms, tally, ()):
            return labelled
        labelled &= satisfied
        return labelled

    def _first_of_its_kind(
        self, task: Task, terms: PodTerms, tally: Tally, changes: Sequence[Change]
    ) -> bool:
        """Nobody is there yet to be near to, and the task would be its own company."""
        for term in terms.affinity:
            column = self.presence.columns.column(term.topology_key)
            moved = sum(
                sign * tally.amount(pod)
                for pod, row, sign in changes
                if column.ids[row] != column.missing
            )
            if int(tally.domains(term.topology_key).sum()) + moved > 0:
                return False
        return all(term.matches(task) for term in terms.affinity)

    def status(self, task: Task, row: int, changes: Sequence[Change]) -> int:
        """The objection of one node after changes that have only been thought of."""
        self.presence.imagined = changes
        try:
            return self._status(task, row, changes)
        finally:
            self.presence.imagined = ()

    def _status(self, task: Task, row: int, changes: Sequence[Change]) -> int:
        terms = self.reader.terms(task)
        if terms.affinity:
            tally = self.matching(*terms.affinity)
            counts = [self._count(tally, term, row, changes) for term in terms.affinity]
            alone = self._first_of_its_kind(task, terms, tally, changes)
            if not all(count is not None and (count > 0 or alone) for count in counts):
                return NOT_NEAR
        if any(self._count(self.matching(term), term, row, changes) for term in terms.anti):
            return NOT_APART
        for term in self.bearing(task):
            if self._count(self.carriers(term), term, row, changes):
                return UNWANTED
        return 0

    def _count(self, tally: Tally, term: Term, row: int, changes: Sequence[Change]) -> int | None:
        """How many count in the node's domain; None: the node is in none."""
        column = self.presence.columns.column(term.topology_key)
        domain = column.ids[row]
        if domain == column.missing:
            return None
        moved = sum(
            sign * tally.amount(pod) for pod, at, sign in changes if column.ids[at] == domain
        )
        return int(tally.domains(term.topology_key)[domain]) + moved


class AffinityScore(_Affinity):
    """Preferred terms: of the task itself, and of the pods that are there."""

    def __init__(self, presence: PodCounts, reader: TermReader, tasks: Iterable[Task]) -> None:
        carried = (term for task in tasks for term, _ in reader.terms(task).wishes)
        super().__init__(presence, reader, carried)

    def concerns(self, task: Task) -> bool:
        return bool(self.reader.terms(task).wishes or self.bearing(task))

    def totals(self, task: Task) -> np.ndarray:
        """Per node the weights of all wishes that it fulfils."""
        total = np.zeros(len(self.presence.table), np.int64)
        for term, weight in self.reader.terms(task).wishes:
            total += weight * self.matching(term).near(term.topology_key)
        for term in self.bearing(task):
            total += self._weight_of(term).near(term.topology_key)
        return total

    def scores(self, task: Task, pick: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
        """0 to 100 for each of the nodes that ``pick`` takes from a column, relative to them."""
        raw = pick(self.totals(task))
        if not len(raw):
            return raw.astype(np.float64)
        least = raw.min()
        span = raw.max() - least
        if not span:
            return np.zeros(len(raw))
        scaled: np.ndarray = np.trunc(100.0 * ((raw - least) / span))
        return scaled

    def _weight_of(self, term: Term) -> Tally:
        """Per node the weight with which its pods want those near that the term speaks of."""
        terms = self.reader.terms
        return self.presence.tally(
            ("wishes", term.key),
            lambda task: sum(weight for wish, weight in terms(task).wishes if wish == term),
        )
