"""Shortcuts: ways to save work that change no decision, each of which can be switched off.

``[scheduler] plain = ["node_cache"]`` in a policy, or ``--plain node_cache`` on the command line,
does without one, to find a fault. Code that takes a shortcut asks ``session.uses("node_cache")``
first. A plugin or action declares those that it takes itself in ``shortcuts``.

A cache of facts that stay the same during a cycle is not a shortcut, nor is anything that Volcano
or KAI does itself.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING, NamedTuple

from pumice import deprecated
from pumice._nearest import nearest

if TYPE_CHECKING:
    from pumice.action import Action
    from pumice.plugin import Plugin

ALL = "all"
"""In place of a name: every shortcut."""


class Shortcut(NamedTuple):
    """A way to save work that changes no decision."""

    name: str
    """What policies and ``--plain`` call it."""
    saves: str
    """What is done with it."""
    instead: str
    """What is done without it."""


FRAMEWORK = (
    Shortcut(
        "node_cache",
        "the answers of filters and scorers are cached by class of tasks, and refreshed only for"
        " nodes that changed; the best nodes are tried one by one",
        "all filters and scorers are asked about all nodes for every query",
    ),
    Shortcut(
        "order_keys",
        "jobs, tasks and victims are sorted by keys where every plugin gives one, jobs stay sorted"
        " while they change, and those like one that failed are taken from their queue at once",
        "they are compared two by two, whenever an order is needed",
    ),
    Shortcut(
        "solver_search",
        "plans that cannot fit or will be refused are not simulated, the same trial is not made"
        " twice, and one search reuses its victim order and the evictions that two plans have in"
        " common",
        "every plan is simulated from the start",
    ),
    Shortcut(
        "single_tasks",
        "a job of one task that the best node takes is placed there without a statement",
        "each job gets a statement",
    ),
    Shortcut(
        "incremental",
        "a cycle's cluster is made from that of the cycle before and what has changed since",
        "it is built from all facts in every cycle",
    ),
    Shortcut(
        "gc_pause",
        "Python's cyclic garbage collector is paused during a cycle",
        "it runs whenever Python starts it",
    ),
)
"""The shortcuts that the framework takes itself."""


def declared(parts: Iterable[type[Plugin] | type[Action]]) -> dict[str, Shortcut]:
    """The framework's shortcuts and those that these plugins and actions declare, by name."""
    every = (*FRAMEWORK, *(shortcut for part in parts for shortcut in part.shortcuts))
    return {shortcut.name: shortcut for shortcut in every}


def is_used(name: str, plain: Collection[str]) -> bool:
    """Whether a shortcut is taken; ``plain`` names those to do without."""
    return name not in plain and ALL not in plain


def current(names: Iterable[str]) -> tuple[str, ...]:
    """The names that shortcuts have now, each once; an old name is warned about."""
    return tuple(dict.fromkeys(map(deprecated.current_shortcut, names)))


def correction(name: str, known: Iterable[str]) -> str | None:
    """What a user should have written instead of a name; None: it is right."""
    names = (*known, ALL)
    if name in names or deprecated.renamed_shortcut(name) is not None:
        return None
    near = nearest(name, names)
    return f"did you mean {near!r}?" if near else f"one of {', '.join(names)}"
