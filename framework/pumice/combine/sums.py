"""Rules that put the answers of all plugins together."""

from __future__ import annotations

from collections.abc import Mapping
from math import isinf
from typing import Any

from pumice.combine.base import Answer, OnError, Rule, Tiers, fail, flat


class Sum(Rule):
    """The sum of all answers; None counts as nothing."""

    refuses = False
    default = "0.0"

    def compile(self, point: str, tiers: Tiers, on_error: OnError) -> Answer:
        impls = flat(tiers)

        def total(*args: Any) -> Any:
            result: Any = 0.0
            for impl in impls:
                try:
                    answer = impl.fn(*args)
                    if answer is not None:
                        if type(answer) is not float or isinf(answer):
                            answer = impl.check(answer, args)
                        result = result + answer
                except BaseException as exc:
                    fail(point, impl, exc, args)
            return result

        return total


class SumByKey(Rule):
    """Answers are mappings from name to score; the scores of each name are added up."""

    refuses = False
    default = "an empty mapping"

    def compile(self, point: str, tiers: Tiers, on_error: OnError) -> Answer:
        impls = flat(tiers)

        def total(*args: Any) -> dict[str, float]:
            result: dict[str, float] = {}
            for impl in impls:
                try:
                    answer: Mapping[str, float] | None = impl.fn(*args)
                    if answer is None:
                        continue
                    for key, score in impl.check(answer, args).items():
                        result[key] = result.get(key, 0.0) + score
                except BaseException as exc:
                    fail(point, impl, exc, args)
            return result

        return total


class Merge(Rule):
    """Answers are mappings, merged in order; a later plugin overwrites an equal key."""

    refuses = False
    default = "an empty mapping"

    def compile(self, point: str, tiers: Tiers, on_error: OnError) -> Answer:
        impls = flat(tiers)

        def merge(*args: Any) -> dict[str, Any]:
            result: dict[str, Any] = {}
            for impl in impls:
                try:
                    answer = impl.fn(*args)
                    if answer is not None:
                        result.update(impl.check(answer, args))
                except BaseException as exc:
                    fail(point, impl, exc, args)
            return result

        return merge


class PerPlugin(Rule):
    """A mapping from plugin to its answer."""

    refuses = False
    default = "an empty mapping"

    def compile(self, point: str, tiers: Tiers, on_error: OnError) -> Answer:
        impls = flat(tiers)

        def collect(*args: Any) -> dict[str, Any]:
            result: dict[str, Any] = {}
            for impl in impls:
                try:
                    answer = impl.fn(*args)
                    result[impl.plugin] = None if answer is None else impl.check(answer, args)
                except BaseException as exc:
                    fail(point, impl, exc, args)
            return result

        return collect


class Fold(Rule):
    """Each plugin replaces every element of the last argument, a list, by the list it answers.

    The lists are joined in order. An empty list removes the element; None leaves it as it is.
    """

    default = "the list as given"

    def compile(self, point: str, tiers: Tiers, on_error: OnError) -> Answer:
        impls = flat(tiers)
        if len(impls) == 1:
            (only,) = impls

            def answer_of_one(*args: Any) -> list[Any]:
                try:
                    answer = only.fn(*args)
                    return [args[-1]] if answer is None else list(only.check(answer, args))
                except BaseException as exc:
                    fail(point, only, exc, args)

            return answer_of_one

        def fold(*args: Any) -> list[Any]:
            *fixed, initial = args
            branches: list[Any] = [initial]
            for impl in impls:
                grown: list[Any] = []
                for branch in branches:
                    try:
                        answer = impl.fn(*fixed, branch)
                        if answer is None:
                            grown.append(branch)
                        else:
                            grown.extend(impl.check(answer, (*fixed, branch)))
                    except BaseException as exc:
                        fail(point, impl, exc, args)
                branches = grown
            return branches

        return fold
