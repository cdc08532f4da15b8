"""Rules by which the first plugin with an answer decides."""

from __future__ import annotations

from typing import Any

from pumice.combine.base import SKIP, Answer, OnError, Rule, Tiers, fail, flat, plugin_error


class Compare(Rule):
    """The first non-zero comparison decides; negative puts the left one first.

    The caller breaks ties, because Volcano and KAI do so differently. A plugin that raises
    abstains, so that an order never costs a job its turn.
    """

    default = "0: the caller's tie-break decides"

    def compile(self, point: str, tiers: Tiers, on_error: OnError) -> Answer:
        impls = flat(tiers)
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


class First(Rule):
    """The first answer that is not None."""

    default = "None"

    def compile(self, point: str, tiers: Tiers, on_error: OnError) -> Answer:
        impls = flat(tiers)

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

    default = "None"

    def compile(self, point: str, tiers: Tiers, on_error: OnError) -> Answer:
        impls = flat(tiers)
        if not impls:
            return lambda *_: None
        impl = impls[0]

        def ask(*args: Any) -> Any:
            try:
                return impl.fn(*args)
            except Exception as exc:
                fail(point, impl, exc)

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
                except Exception as exc:
                    fail(point, impl, exc)
                if answer is not None and answer is not SKIP:
                    return answer
            return None

        return first_error
