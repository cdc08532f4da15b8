"""The combination rules: how the answers of several plugins become one.

A rule is stateless. Its :meth:`Rule.compile` takes the enabled implementations of one extension
point, tier by tier in policy order, and gives the one function that a session calls. Every rule
says what nobody answering means.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NoReturn

from pumice.errors import PluginError

__all__ = [
    "ABSTAIN",
    "PERMIT",
    "REJECT",
    "RULES",
    "SKIP",
    "All",
    "Answer",
    "Any_",
    "Compare",
    "First",
    "FirstError",
    "FirstPlugin",
    "FirstTierAll",
    "Fold",
    "Impl",
    "Merge",
    "Notify",
    "NotifyAll",
    "PerPlugin",
    "Rule",
    "Sum",
    "SumByKey",
    "TieredIntersection",
    "Tiers",
    "UnionOfFirstTier",
    "Vote",
    "fail",
    "plugin_error",
]

Answer = Callable[..., Any]
"""A function of an extension point's arguments: one plugin's, or the combined one."""

PERMIT = 1
"""The vote for a proposal."""
ABSTAIN = 0
"""The vote of a plugin without an opinion."""
REJECT = -1
"""The vote against a proposal, which no later plugin can overrule."""


class _Skip:
    """What ``pre_predicate`` answers to leave its plugin's ``predicate`` out for this task."""

    def __repr__(self) -> str:
        return "SKIP"


SKIP = _Skip()
"""What ``pre_predicate`` answers to leave its plugin's ``predicate`` out for this task."""


@dataclass(slots=True, frozen=True, eq=False)
class Impl:
    """One plugin's implementation, bound to its instance and to the spec's argument order."""

    plugin: str
    """The plugin's name in the policy."""
    fn: Answer
    """The bound method."""
    source: str = ""
    """Distribution and version, for error messages."""


Tiers = Sequence[Sequence[Impl]]
"""The implementations of one extension point, tier by tier in policy order."""


def _flat(tiers: Tiers) -> tuple[Impl, ...]:
    return tuple(impl for tier in tiers for impl in tier)


def _occupied(tiers: Tiers) -> tuple[tuple[Impl, ...], ...]:
    return tuple(tuple(tier) for tier in tiers if tier)


def fail(point: str, impl: Impl, exc: Exception) -> NoReturn:
    """Raise what tells whose implementation failed."""
    raise plugin_error(point, impl, exc)


def plugin_error(point: str, impl: Impl, exc: Exception) -> PluginError:
    """What tells whose implementation failed; an error that already tells it is kept."""
    if isinstance(exc, PluginError):
        return exc
    error = PluginError(point, impl.plugin, impl.source, exc)
    error.__cause__ = exc
    return error


class Rule:
    """Base of the rules."""

    nobody: ClassVar[str] = ""
    """What the combined answer is when no plugin implements the point."""

    @property
    def name(self) -> str:
        """The name of the rule."""
        return type(self).__name__

    @property
    def meaning(self) -> str:
        """First sentence of the rule's docstring."""
        return (type(self).__doc__ or "").strip().splitlines()[0]

    def compile(self, point: str, tiers: Tiers, on_error: Callable[[PluginError], None]) -> Answer:
        """Build the combined function. ``on_error`` hears of errors that the rule swallows."""
        raise NotImplementedError


class Compare(Rule):
    """The first non-zero comparison decides; negative puts the left one first.

    The caller brings the tie-break, for the families differ in it. A plugin that raises abstains:
    an order question never costs a job its turn.
    """

    nobody = "0: the caller's tie-break decides"

    def compile(self, point: str, tiers: Tiers, on_error: Callable[[PluginError], None]) -> Answer:
        impls = _flat(tiers)
        if not impls:
            return lambda *_: 0

        def compare(*args: Any) -> int:
            for impl in impls:
                try:
                    answer = impl.fn(*args)
                    if answer:
                        return -1 if answer < 0 else 1
                except Exception as exc:
                    on_error(plugin_error(point, impl, exc))
            return 0

        return compare


class All(Rule):
    """Every plugin must agree; the first no ends the question."""

    nobody = "True"

    def compile(self, point: str, tiers: Tiers, on_error: Callable[[PluginError], None]) -> Answer:
        impls = _flat(tiers)

        def every(*args: Any) -> bool:
            for impl in impls:
                try:
                    answer = impl.fn(*args)
                    if answer is not None and not answer:
                        return False
                except Exception as exc:
                    fail(point, impl, exc)
            return True

        return every


class Any_(Rule):  # noqa: N801 - `Any` is taken by typing
    """One plugin that says yes is enough."""

    nobody = "False"

    @property
    def name(self) -> str:
        """``Any``."""
        return "Any"

    def compile(self, point: str, tiers: Tiers, on_error: Callable[[PluginError], None]) -> Answer:
        impls = _flat(tiers)

        def some(*args: Any) -> bool:
            for impl in impls:
                try:
                    if impl.fn(*args):
                        return True
                except Exception as exc:
                    fail(point, impl, exc)
            return False

        return some


class Vote(Rule):
    """Permit (> 0), reject (< 0) or abstain (0, None), tier by tier.

    A reject is final wherever it is reached. A tier that ends with a permit, its own or an
    earlier tier's, ends the question: a reject in a later tier is never heard.
    """

    nobody = "True"

    def compile(self, point: str, tiers: Tiers, on_error: Callable[[PluginError], None]) -> Answer:
        occupied = _occupied(tiers)

        def vote(*args: Any) -> bool:
            for tier in occupied:
                permitted = False
                for impl in tier:
                    try:
                        answer = impl.fn(*args)
                        if answer:
                            if answer < 0:
                                return False
                            permitted = True
                    except Exception as exc:
                        fail(point, impl, exc)
                if permitted:
                    return True
            return True

        return vote


class TieredIntersection(Rule):
    """The candidates that every voter of the first deciding tier allows.

    Each plugin is given the full list of candidates. ``None`` abstains. An empty answer vetoes
    its tier (the rest of the tier is not asked), not the decision: the next tier starts afresh.
    When two voters of a tier have nothing in common the next voter of the tier starts afresh,
    too. The order is that of the first voter's answer.
    """

    nobody = "no candidates"

    def compile(self, point: str, tiers: Tiers, on_error: Callable[[PluginError], None]) -> Answer:
        occupied = _occupied(tiers)

        def intersect(subject: Any, candidates: Sequence[Any]) -> list[Any]:
            for tier in occupied:
                allowed: list[Any] | None = None
                for impl in tier:
                    try:
                        answer = impl.fn(subject, candidates)
                        if answer is None:
                            continue
                        named = list(answer)
                        uids = {task.uid for task in named}
                    except Exception as exc:
                        fail(point, impl, exc)
                    if not named:
                        allowed = None
                        break
                    if allowed is None:
                        allowed = named
                    else:
                        allowed = [task for task in allowed if task.uid in uids] or None
                if allowed is not None:
                    return allowed
            return []

        return intersect


class FirstTierAll(Rule):
    """The first tier that has a voter decides, and all its voters must say yes.

    A plugin that answers None does not vote.
    """

    nobody = "False"

    def compile(self, point: str, tiers: Tiers, on_error: Callable[[PluginError], None]) -> Answer:
        occupied = _occupied(tiers)

        def first_tier(*args: Any) -> bool:
            for tier in occupied:
                voted = False
                for impl in tier:
                    try:
                        answer = impl.fn(*args)
                        if answer is not None and not answer:
                            return False
                    except Exception as exc:
                        fail(point, impl, exc)
                    voted = voted or answer is not None
                if voted:
                    return True
            return False

        return first_tier


class First(Rule):
    """The first answer that is not None."""

    nobody = "None"

    def compile(self, point: str, tiers: Tiers, on_error: Callable[[PluginError], None]) -> Answer:
        impls = _flat(tiers)

        def first(*args: Any) -> Any:
            for impl in impls:
                try:
                    answer = impl.fn(*args)
                except Exception as exc:
                    fail(point, impl, exc)
                if answer is not None:
                    return answer
            return None

        return first


class FirstPlugin(Rule):
    """Only the first plugin that implements the point is asked, whatever it answers."""

    nobody = "None"

    def compile(self, point: str, tiers: Tiers, on_error: Callable[[PluginError], None]) -> Answer:
        impls = _flat(tiers)
        if not impls:
            return lambda *_: None
        impl = impls[0]

        def ask(*args: Any) -> Any:
            try:
                return impl.fn(*args)
            except Exception as exc:
                fail(point, impl, exc)

        return ask


class Sum(Rule):
    """The sum of all answers; None counts as nothing."""

    nobody = "0.0"

    def compile(self, point: str, tiers: Tiers, on_error: Callable[[PluginError], None]) -> Answer:
        impls = _flat(tiers)

        def total(*args: Any) -> Any:
            result: Any = 0.0
            for impl in impls:
                try:
                    answer = impl.fn(*args)
                    if answer is not None:
                        result = result + answer
                except Exception as exc:
                    fail(point, impl, exc)
            return result

        return total


class SumByKey(Rule):
    """Answers are mappings from name to score; the scores of each name are added up."""

    nobody = "an empty mapping"

    def compile(self, point: str, tiers: Tiers, on_error: Callable[[PluginError], None]) -> Answer:
        impls = _flat(tiers)

        def total(*args: Any) -> dict[str, float]:
            result: dict[str, float] = {}
            for impl in impls:
                try:
                    answer: Mapping[str, float] | None = impl.fn(*args)
                    for key, score in (answer or {}).items():
                        result[key] = result.get(key, 0.0) + score
                except Exception as exc:
                    fail(point, impl, exc)
            return result

        return total


class Merge(Rule):
    """Answers are mappings, merged in order; a later plugin overwrites an equal key."""

    nobody = "an empty mapping"

    def compile(self, point: str, tiers: Tiers, on_error: Callable[[PluginError], None]) -> Answer:
        impls = _flat(tiers)

        def merge(*args: Any) -> dict[str, Any]:
            result: dict[str, Any] = {}
            for impl in impls:
                try:
                    result.update(impl.fn(*args) or {})
                except Exception as exc:
                    fail(point, impl, exc)
            return result

        return merge


class PerPlugin(Rule):
    """Answers are kept apart, by plugin."""

    nobody = "an empty mapping"

    def compile(self, point: str, tiers: Tiers, on_error: Callable[[PluginError], None]) -> Answer:
        impls = _flat(tiers)

        def collect(*args: Any) -> dict[str, Any]:
            result: dict[str, Any] = {}
            for impl in impls:
                try:
                    result[impl.plugin] = impl.fn(*args)
                except Exception as exc:
                    fail(point, impl, exc)
            return result

        return collect


class Fold(Rule):
    """Each plugin replaces every element of the last argument, a list, by the list it answers.

    The lists are joined in order. An empty list removes the branch; None leaves it as it is.
    """

    nobody = "the list as given"

    def compile(self, point: str, tiers: Tiers, on_error: Callable[[PluginError], None]) -> Answer:
        impls = _flat(tiers)

        def fold(*args: Any) -> list[Any]:
            *fixed, initial = args
            branches: list[Any] = [initial]
            for impl in impls:
                grown: list[Any] = []
                for branch in branches:
                    try:
                        answer = impl.fn(*fixed, branch)
                        grown.extend([branch] if answer is None else answer)
                    except Exception as exc:
                        fail(point, impl, exc)
                branches = grown
            return branches

        return fold


class Notify(Rule):
    """Everybody is told; answers are ignored."""

    nobody = "nothing happens"

    def compile(self, point: str, tiers: Tiers, on_error: Callable[[PluginError], None]) -> Answer:
        impls = _flat(tiers)

        def notify(*args: Any) -> None:
            for impl in impls:
                try:
                    impl.fn(*args)
                except Exception as exc:
                    fail(point, impl, exc)

        return notify


class NotifyAll(Rule):
    """Everybody is told even when one objects; the first objection is the answer.

    An objection is any answer that is not None, or the PluginError of one that raised.
    """

    nobody = "None: no objection"

    def compile(self, point: str, tiers: Tiers, on_error: Callable[[PluginError], None]) -> Answer:
        impls = _flat(tiers)
        if not impls:
            return lambda *_: None

        def notify(*args: Any) -> Any:
            objection: Any = None
            for impl in impls:
                try:
                    answer = impl.fn(*args)
                except Exception as exc:
                    answer = plugin_error(point, impl, exc)
                    if objection is not None:
                        on_error(answer)
                if answer is not None and objection is None:
                    objection = answer
            return objection

        return notify


class FirstError(Rule):
    """Plugins are asked in turn until one objects; its objection is the answer.

    None and SKIP are no objection.
    """

    nobody = "None: no objection"

    def compile(self, point: str, tiers: Tiers, on_error: Callable[[PluginError], None]) -> Answer:
        impls = _flat(tiers)

        def first_error(*args: Any) -> Any:
            for impl in impls:
                try:
                    answer = impl.fn(*args)
                except Exception as exc:
                    fail(point, impl, exc)
                if answer is not None and answer is not SKIP:
                    return answer
            return None

        return first_error


class UnionOfFirstTier(Rule):
    """The union of the answers of the first tier that names anything."""

    nobody = "an empty list"

    def compile(self, point: str, tiers: Tiers, on_error: Callable[[PluginError], None]) -> Answer:
        occupied = _occupied(tiers)

        def union(*args: Any) -> list[Any]:
            for tier in occupied:
                found: dict[str, Any] = {}
                for impl in tier:
                    try:
                        answer: Iterable[Any] = impl.fn(*args) or ()
                        for task in answer:
                            found.setdefault(task.uid, task)
                    except Exception as exc:
                        fail(point, impl, exc)
                if found:
                    return list(found.values())
            return []

        return union


RULES: tuple[type[Rule], ...] = (
    Compare, All, Any_, Vote, TieredIntersection, FirstTierAll, First, FirstPlugin, Sum, SumByKey,
    Merge, PerPlugin, Fold, Notify, NotifyAll, FirstError, UnionOfFirstTier,
)  # fmt: skip
"""All rules, in the order of the reference page."""
