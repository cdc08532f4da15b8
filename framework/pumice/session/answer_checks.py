"""Checks of what plugins answer, by the type that an extension point declares.

A rule gives an answer to its check only if it is not of the type that it mostly gets, and a vector
is checked as a whole, so that the checks cost nothing per node or per task.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from math import isfinite, isinf
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np

from pumice.combine import Check
from pumice.combine.base import unchecked
from pumice.errors import AnswerError
from pumice.model.resources import Resource
from pumice.model.topology import ROOT
from pumice.verdicts import FitError, NodeVerdicts, Refusal

if TYPE_CHECKING:
    from pumice.hookspecs import ExtensionPoint
    from pumice.model.cluster import Cluster

_REAL = (Real, np.bool_)


def answer_check(point: ExtensionPoint, cluster: Cluster | None = None) -> Check:
    """The check of a point's answers: its own, or that of the declared type."""
    if point.name.startswith("hyper_node_gradient") and cluster is not None:
        return _known_names(cluster.hyper_nodes.nodes)
    return _OF_POINT.get(point.name) or _OF_TYPE.get(point.answer, unchecked)


def _instance(kinds: type | tuple[type, ...], expected: str) -> Check:
    def check(answer: Any, args: Sequence[Any]) -> Any:
        if isinstance(answer, kinds):
            return answer
        raise AnswerError(answer, expected)

    return check


def whole_number(answer: Any, args: Sequence[Any] = ()) -> Any:
    """A comparison or a vote: any number that has a sign."""
    if isinstance(answer, _REAL) and isfinite(answer):
        return answer
    raise AnswerError(answer, "an int or None")


def _truth(answer: Any, args: Sequence[Any]) -> bool:
    if isinstance(answer, bool | np.bool_):
        return bool(answer)
    raise AnswerError(answer, "True, False or None")


def score(answer: Any, args: Sequence[Any] = (), *, of: str = "") -> float:
    """The score of one node or device; NaN leaves it out."""
    if not isinstance(answer, _REAL) or isinf(answer):
        raise AnswerError(answer, f"a finite float or None{of}")
    return float(answer)


def score_vector(answer: Any, args: Sequence[Any]) -> np.ndarray:
    """A score for each of the nodes, which are the last argument; NaN leaves a node out."""
    count = len(args[-1])
    try:
        given = np.asarray(answer)
    except (TypeError, ValueError):
        given = np.array(None)
    if given.dtype.kind not in "fiub":
        raise AnswerError(answer, f"an array of {count} floats or None")
    vector: np.ndarray = given.astype(np.float64, copy=False)
    if vector.shape != (count,):
        raise AnswerError(answer, f"one score for each of {count} nodes")
    if np.count_nonzero(np.isinf(vector)):  # quicker than any()
        position = int(np.flatnonzero(np.isinf(vector))[0])
        names = getattr(args[-1], "names", None)
        node = "a node" if names is None else f"node {names[position]}"
        raise AnswerError(float(vector[position]), f"a finite score for {node}")
    return vector


def node_verdicts(answer: Any, args: Sequence[Any]) -> NodeVerdicts:
    """A verdict for each of the nodes, which are the last argument."""
    count = len(args[-1])
    if not isinstance(answer, NodeVerdicts):
        raise AnswerError(answer, "NodeVerdicts or None")
    for vector in (answer.codes, answer.reasons):
        if not isinstance(vector, np.ndarray) or vector.dtype.kind not in "iu":
            raise AnswerError(vector, "an array of ints in NodeVerdicts")
        if vector.shape != (count,):
            raise AnswerError(vector, f"one verdict for each of {count} nodes")
    return answer


def node_mask(answer: Any, count: int) -> np.ndarray:
    """A mask over all nodes."""
    if isinstance(answer, np.ndarray) and answer.dtype == bool and answer.shape == (count,):
        return answer
    raise AnswerError(answer, f"an array of {count} bools or None")


def fit_error(answer: Any, args: Sequence[Any] = (), *, plugin: str = "") -> FitError:
    """Why a node cannot take a task; a text stands for a FitError of the plugin."""
    if isinstance(answer, FitError):
        return answer
    if isinstance(answer, str):
        return FitError.of(answer, plugin=plugin)
    raise AnswerError(answer, "a FitError or None")


def _candidates(answer: Any, args: Sequence[Any]) -> Any:
    """Tasks among those of the last argument."""
    candidates = args[-1]
    if answer is candidates:
        return answer
    if isinstance(answer, str) or not isinstance(answer, Iterable):
        raise AnswerError(answer, "a list of tasks or None")
    named = answer if isinstance(answer, list) else list(answer)
    known = set(map(id, candidates))
    if not known.issuperset(map(id, named)):
        foreign = next(task for task in named if id(task) not in known)
        shown = getattr(foreign, "key", foreign)
        raise AnswerError([shown], "a list of candidates")
    return named


def _mapping(valid: Callable[[Any], bool], expected: str) -> Check:
    def check(answer: Any, args: Sequence[Any]) -> Any:
        if not isinstance(answer, Mapping):
            raise AnswerError(answer, f"a mapping from names to {expected} or None")
        for key, value in answer.items():
            if not isinstance(key, str) or not valid(value):
                raise AnswerError({key: value}, f"a mapping from names to {expected}")
        return answer

    return check


def _is_score(value: Any) -> bool:
    return isinstance(value, _REAL) and isfinite(value)


_scores_by_name = _mapping(_is_score, "finite floats")


def _hyper_node_scores(answer: Any, args: Sequence[Any]) -> Any:
    """Scores of the hypernodes of the last argument."""
    for name in _scores_by_name(answer, args):
        if name not in args[-1]:
            raise AnswerError({name: answer[name]}, "a mapping from the given hypernodes")
    return answer


def _known_names(known: Collection[str]) -> Check:
    """Groups of hypernodes that are all known."""

    def check(answer: Any, args: Sequence[Any]) -> Any:
        for group in _groups(answer, "a list of lists of names or None"):
            for name in _groups(group, "a list of names in each group"):
                if not isinstance(name, str) or (name != ROOT and name not in known):
                    raise AnswerError(name, "the name of a hypernode")
        return answer

    return check


def _groups(answer: Any, expected: str) -> Any:
    if isinstance(answer, Sequence) and not isinstance(answer, str):
        return answer
    raise AnswerError(answer, expected)


def _row_sets(answer: Any, args: Sequence[Any]) -> Any:
    """Sets of node rows, each a part of the last argument."""
    rows = args[-1]
    for subset in _groups(answer, "a list of sets of rows or None"):
        if subset is rows:
            continue
        try:
            inside = np.asarray(subset)
            valid = inside.ndim == 1 and (inside.dtype.kind in "iu" or not inside.size)
            valid = valid and bool(np.isin(inside, rows).all())
        except (TypeError, ValueError):
            valid = False
        if not valid:
            raise AnswerError(subset, "a set of the given rows")
    return answer


def _best_node(answer: Any, args: Sequence[Any]) -> Any:
    """The name of a node of the last argument, which has lists of names by score."""
    if isinstance(answer, str) and any(answer in names for names in args[-1].values()):
        return answer
    raise AnswerError(answer, "the name of a given node or None")


def sort_key(answer: Any, first: Any) -> Any:
    """A sort key that can be compared with the first one that the plugin gave."""
    try:
        ordered = bool(answer < first) or bool(answer > first) or bool(answer == first)
    except (TypeError, ValueError):
        ordered = False
    if not ordered:
        raise AnswerError(answer, f"a key that sorts with {first!r}")
    return answer


_OF_POINT: dict[str, Check] = {
    "best_node": _best_node,
    "hyper_node_order": _hyper_node_scores,
    "subset_nodes": _row_sets,
}

_OF_TYPE: dict[str, Check] = {
    "int | None": whole_number,
    "bool | None": _truth,
    "float | None": score,
    "str | None": _instance(str, "a str or None"),
    "Refusal | None": _instance(Refusal, "a Refusal or None"),
    "Resource | None": _instance(Resource, "a Resource or None"),
    "FitError | None": fit_error,
    "FitError | Skip | None": fit_error,
    "FitError | str | None": _instance((FitError, str), "a FitError, a str or None"),
    "Sequence[Task] | None": _candidates,
    "Mapping[str, float] | None": _scores_by_name,
    "Mapping[str, str] | None": _mapping(lambda value: isinstance(value, str), "texts"),
    "Mapping[str, Callable[..., Any]] | None": _mapping(callable, "functions"),
    "NodeVerdicts | None": node_verdicts,
    "np.ndarray | None": score_vector,
}
"""By the annotation of the spec method. Points of other distributions are checked alike."""
