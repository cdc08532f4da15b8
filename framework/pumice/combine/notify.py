"""Rules for points that notify the plugins instead of asking them."""

from __future__ import annotations

from typing import Any

from pumice.combine.base import Answer, OnError, Rule, Tiers, fail, flat, plugin_error


class Notify(Rule):
    """All plugins are called; answers are ignored."""

    refuses = False
    default = "nothing happens"

    def compile(self, point: str, tiers: Tiers, on_error: OnError) -> Answer:
        impls = flat(tiers)

        def notify(*args: Any) -> None:
            for impl in impls:
                try:
                    impl.fn(*args)
                except BaseException as exc:
                    fail(point, impl, exc, args)

        return notify


class NotifyAll(Rule):
    """All plugins are called even when one objects; the first objection is the answer.

    An objection is any answer that is not None, or the PluginError of one that raised.
    """

    refuses = False
    default = "None: no objection"

    def compile(self, point: str, tiers: Tiers, on_error: OnError) -> Answer:
        impls = flat(tiers)
        if not impls:
            return lambda *_: None

        def notify(*args: Any) -> Any:
            objection: Any = None
            for impl in impls:
                try:
                    answer = impl.fn(*args)
                    if answer is not None:
                        answer = impl.check(answer, args)
                except BaseException as exc:
                    answer = plugin_error(point, impl, exc, args)
                    if objection is not None:
                        on_error(answer)
                if answer is not None and objection is None:
                    objection = answer
            return objection

        return notify
