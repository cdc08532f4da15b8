"""Rules by which the first plugin with an answer decides."""

from __future__ import annotations

from typing import Any

from pumice.combine.base import SKIP, Answer, OnError, Rule, Tiers, fail, flat, plugin_error


class Compare(Rule):
    """The first non-zero comparison decides; negative puts the left one first.

    The caller breaks ties, because Volcano and KAI do so differently. A plugin that raises
    abstains, so that an order never costs a job its turn.
    """

    refuses = False
    default = "0: the caller's tie-break decides"

    def compile(self, point: str, tiers: Tiers, on_error: OnError) -> Answer:
        impls = flat(tiers)
        if not impls:
            return lambda *_: 0

        def compare(*args: Any) -> int:
            for impl in impls:
                try:
                    answer = impl.fn(*args)
                    if answer is None:
                        continue
                    if type(answer) is not int:
                        answer = impl.check(answer, args)
                    if answer:
                        return -1 if answer < 0 else 1
                except BaseException as exc:
                    on_error(plugin_error(point, impl, exc, args))
            return 0

        return compare


class First(Rule):
    """The first answer that is not None."""

    default = "None"

    def compile(self, point: str, tiers: Tiers, on_error: OnError) -> Answer:
        impls = flat(tiers)

        def first(*args: Any) -> Any:
            for impl in impls:
                try:
                    answer = impl.fn(*args)
                    if answer is not None:
                        return impl.check(answer, args)
                except BaseException as exc:
                    fail(point, impl, exc, args)
            return None

        return first


class FirstPlugin(Rule):
    """Only the first plugin that implements the point is asked, whatever it answers."""

    default = "None"

    def compile(self, point: str, tiers: Tiers, on_error: OnError) -> Answer:
        impls = flat(tiers)
        if not impls:
            return lambda *_: None
        impl = impls[0]

        def ask(*args: Any) -> Any:
            try:
                answer = impl.fn(*args)
                return None if answer is None else impl.check(answer, args)
            except BaseException as exc:
                fail(point, impl, exc, args)

        return ask


class FirstError(Rule):
    """Plugins are asked in policy order until one objects; the objection is the answer.

    None and SKIP are no objection.
    """

    default = "None: no objection"

    def compile(self, point: str, tiers: Tiers, on_error: OnError) -> Answer:
        impls = flat(tiers)

        def first_error(*args: Any) -> Any:
            for impl in impls:
                try:
                    answer = impl.fn(*args)
                    if answer is not None and answer is not SKIP:
                        return impl.check(answer, args)
                except BaseException as exc:
                    fail(point, impl, exc, args)
            return None

        return first_error
