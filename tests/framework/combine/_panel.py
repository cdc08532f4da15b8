"""Plugins with fixed answers, to test one combination rule."""

from types import SimpleNamespace

from pumice.combine import (
    Impl,
)


class Panel:
    """Plugins with fixed answers, in tiers; records which were called."""

    def __init__(self, rule, *tiers):
        self.asked = []
        self.arguments = []
        self.errors = []
        names = iter("abcdefghij")
        impls = [[self._voter(next(names), answer) for answer in tier] for tier in tiers]
        self.ask = rule.compile("some_point", impls, self.errors.append)

    def _voter(self, name, answer):
        def fn(*args):
            self.asked.append(name)
            self.arguments.append(args)
            if isinstance(answer, Exception):
                raise answer
            return answer(*args) if callable(answer) else answer

        return Impl(name, fn, f"dist-{name} 1.0")


def tasks(letters):
    return None if letters is None else [TASKS[letter] for letter in letters]


class Named(SimpleNamespace):
    """An object with a uid; unlike a namespace it can be put into a set, as a task can."""

    __hash__ = object.__hash__


TASKS = {letter: Named(uid=letter) for letter in "abcdef"}


def uids(answer):
    return "".join(task.uid for task in answer)
