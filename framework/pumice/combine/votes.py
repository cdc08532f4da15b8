"""Rules by which plugins vote: yes, no, or which of the candidates."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from pumice.combine.base import Answer, Impl, OnError, Rule, Tiers, fail, flat, occupied


class All(Rule):
    """Every plugin must agree; the first no decides."""

    default = "True"

    def compile(self, point: str, tiers: Tiers, on_error: OnError) -> Answer:
        impls = flat(tiers)

        def every(*args: Any) -> bool:
            for impl in impls:
                try:
                    answer = impl.fn(*args)
                    if answer is True or answer is None:
                        continue
                    if answer is False or not impl.check(answer, args):
                        return False
                except BaseException as exc:
                    fail(point, impl, exc, args)
            return True

        return every


class Any_(Rule):  # noqa: N801 - `Any` is taken by typing
    """One plugin that says yes is enough."""

    default = "False"

    @property
    def name(self) -> str:
        """``Any``."""
        return "Any"

    def compile(self, point: str, tiers: Tiers, on_error: OnError) -> Answer:
        impls = flat(tiers)

        def some(*args: Any) -> bool:
            for impl in impls:
                try:
                    answer = impl.fn(*args)
                    if answer is False or answer is None:
                        continue
                    if answer is True or impl.check(answer, args):
                        return True
                except BaseException as exc:
                    fail(point, impl, exc, args)
            return False

        return some


class Vote(Rule):
    """Permit (> 0), reject (< 0) or abstain (0, None), tier by tier.

    A reject decides at once. A tier with a permit and no reject decides, too: later tiers are not
    asked.
    """

    default = "True"

    def compile(self, point: str, tiers: Tiers, on_error: OnError) -> Answer:
        asked = occupied(tiers)

        def vote(*args: Any) -> bool:
            for tier in asked:
                permitted = False
                for impl in tier:
                    try:
                        answer = impl.fn(*args)
                        if answer is None:
                            continue
                        if type(answer) is not int:
                            answer = impl.check(answer, args)
                        if answer:
                            if answer < 0:
                                return False
                            permitted = True
                    except BaseException as exc:
                        fail(point, impl, exc, args)
                if permitted:
                    return True
            return True

        return vote


class FirstTierAll(Rule):
    """The first tier that has a voter decides, and all its voters must say yes.

    A plugin that answers None does not vote.
    """

    default = "False"

    def compile(self, point: str, tiers: Tiers, on_error: OnError) -> Answer:
        asked = occupied(tiers)

        def first_tier(*args: Any) -> bool:
            for tier in asked:
                voted = False
                for impl in tier:
                    try:
                        answer = impl.fn(*args)
                        if answer is None:
                            continue
                        if answer is False or not (answer is True or impl.check(answer, args)):
                            return False
                        voted = True
                    except BaseException as exc:
                        fail(point, impl, exc, args)
                if voted:
                    return True
            return False

        return first_tier


class TieredIntersection(Rule):
    """The candidates that every voter of the first deciding tier allows.

    Each plugin is given all candidates. None abstains. An empty answer vetoes its tier: the rest
    of the tier is not asked, and the next tier starts over. Where the answers of a tier have
    nothing in common, the next voter of the tier starts over, too. Both are Volcano's rules. The
    order is that of the first voter's answer. A plugin may name only candidates.
    """

    default = "no candidates"

    def compile(self, point: str, tiers: Tiers, on_error: OnError) -> Answer:
        asked = occupied(tiers)

        def require_candidates(
            impl: Impl, named: list[Any], subject: Any, candidates: Sequence[Any]
        ) -> None:
            try:
                if not set(candidates).issuperset(named):
                    impl.check(named, (subject, candidates))
            except BaseException as exc:
                fail(point, impl, exc, (subject,))

        def intersect(subject: Any, candidates: Sequence[Any]) -> list[Any]:
            for tier in asked:
                allowed: list[Any] | None = None
                for impl in tier:
                    try:
                        answer = impl.fn(subject, candidates)
                        if answer is None:
                            continue
                        if type(answer) is not list:
                            answer = impl.check(answer, (subject, candidates))
                        named = list(answer)
                        if named and allowed is not None:
                            uids = {task.uid for task in named}
                    except BaseException as exc:
                        fail(point, impl, exc, (subject,))
                    if not named:
                        allowed = None
                        break
                    if allowed is None:
                        allowed, first = named, impl
                        continue
                    common = [task for task in allowed if task.uid in uids]
                    if not common:  # unless one of them names tasks that are no candidates
                        require_candidates(first, allowed, subject, candidates)
                        require_candidates(impl, named, subject, candidates)
                    allowed = common or None
                if allowed is not None:
                    # Later voters only remove tasks, so that the first one answers for all.
                    require_candidates(first, allowed, subject, candidates)
                    return allowed
            return []

        return intersect


class UnionOfFirstTier(Rule):
    """The union of the answers of the first tier that names anything."""

    refuses = False
    default = "an empty list"

    def compile(self, point: str, tiers: Tiers, on_error: OnError) -> Answer:
        asked = occupied(tiers)

        def union(*args: Any) -> list[Any]:
            for tier in asked:
                found: dict[str, Any] = {}
                for impl in tier:
                    try:
                        answer: Iterable[Any] | None = impl.fn(*args)
                        if answer is None:
                            continue
                        for task in impl.check(answer, args):
                            found.setdefault(task.uid, task)
                    except BaseException as exc:
                        fail(point, impl, exc, args)
                if found:
                    return list(found.values())
            return []

        return union
