"""The shortcuts of the engine, each of which can be done without to find a fault.

A shortcut saves work and changes no decision. ``[scheduler] plain = ["answers"]`` in a policy, or
``--plain answers`` on the command line, does the same the plain way. Whoever takes a shortcut
asks ``session.uses("answers")`` first. What only remembers facts that stay the same during a
cycle, and what one of the families does itself, is no shortcut.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from pumice._nearest import did_you_mean, nearest

ALL = "all"
"""In place of a name: every shortcut."""


class Shortcut(NamedTuple):
    saves: str
    """What is done with it."""
    instead: str
    """What is done without it."""


SHORTCUTS: dict[str, Shortcut] = {
    "answers": Shortcut(
        "what filters and scorers said is remembered for all tasks that ask the same",
        "they are asked about all nodes for every question",
    ),
    "journal": Shortcut(
        "only the nodes that have changed since the last question are looked at again",
        "all nodes are looked at again after any change",
    ),
    "scalar": Shortcut(
        "a few changed nodes are asked about one by one, by the scalar form of a question",
        "they are asked about together, by the vector form",
    ),
    "fixed": Shortcut(
        "what depends on a node's own facts only is asked once",
        "it is asked again whenever the node changes",
    ),
    "spans": Shortcut(
        "scores that compare nodes are remembered while the least and the most stay the same",
        "all nodes are compared for every task",
    ),
    "reasons": Shortcut(
        "tasks that ask the same share the reasons why no node takes them",
        "reasons are gathered for every task",
    ),
    "keys": Shortcut(
        "jobs, tasks and victims are sorted by keys where every plugin gives one",
        "they are compared two by two",
    ),
    "ranked": Shortcut(
        "the jobs that a search for victims looks at are kept in order while they change",
        "they are put in order for every step of every search",
    ),
    "refusal": Shortcut(
        "nobody searches victims for a job that would not fit if it were alone (whole GPUs)",
        "the search is made all the same",
    ),
    "slots": Shortcut(
        "nothing is simulated for which the nodes cannot have the room",
        "it is simulated and fails",
    ),
    "prefix": Shortcut(
        "evictions that two simulations in a row have in common are made once",
        "all are taken back after each and made again",
    ),
    "walk": Shortcut(
        "the victims of a search are put in order once for all its steps",
        "they are put in order for every step",
    ),
    "patience": Shortcut(
        "the nodes that score best are asked one by one until one takes the task",
        "all are asked before the first is tried",
    ),
    "roles": Shortcut(
        "nodes that failed are noted for a role only where its tasks may ask differently",
        "they are noted for every role",
    ),
    "victims": Shortcut(
        "who may be evicted is kept by node for a whole action",
        "it is gathered for every task that needs room",
    ),
    "promising": Shortcut(
        "nodes that are too small even without all who may be evicted are passed over",
        "each is tried",
    ),
    "foresight": Shortcut(
        "nobody is evicted on trial from a queue that would stay full without all victims",
        "the victims are evicted on trial",
    ),
    "shares": Shortcut(
        "shares of jobs and queues are remembered until something happens to them",
        "they are worked out whenever they are asked for",
    ),
    "amounts": Shortcut(
        "what a job holds and asks for next is remembered until something happens to it",
        "it is added up whenever queues are compared",
    ),
    "tallies": Shortcut(
        "pods that a term of affinity or spread speaks of are counted as they come and go",
        "they are counted on all nodes for every question",
    ),
    "difference": Shortcut(
        "a cycle's cluster is made out of that of the cycle before and of what has changed",
        "it is built from all facts for every cycle",
    ),
    "collection": Shortcut(
        "nothing looks for garbage in circles while an action runs",
        "Python does so whenever it wants to",
    ),
}
"""Every shortcut by name."""


def is_used(name: str, plain: Collection[str]) -> bool:
    """Whether a shortcut is to be taken; ``plain`` names those to do without."""
    if name not in SHORTCUTS:
        raise ValueError(f"there is no shortcut {name!r}{did_you_mean(name, SHORTCUTS)}")
    return name not in plain and ALL not in plain


def correction(name: str) -> str | None:
    """What a user should have written instead of a name; None: it is right."""
    known = (*SHORTCUTS, ALL)
    if name in known:
        return None
    near = nearest(name, known)
    return f"did you mean {near!r}?" if near else f"one of {', '.join(known)}"
