"""The names that Volcano and KAI have for extension points."""

from __future__ import annotations

import re
from collections.abc import Container

_EXCEPTIONS = {
    "event_handler": "on_allocate",
    "hyper_node_order_map": "hyper_node_order",
    "is_job_over_capacity": "is_job_over_queue_capacity",
    "job_order_compare": "job_order",
    "node_order_map": "node_map",
    "node_order_reduce": "node_reduce",
    "pre_binder": "pre_bind",
    "http_handler": "http_handlers",
    "hyper_node_gradient": "hyper_node_gradient_for_job",
    "task_compare": "task_order",
    "victim": "victim_tasks",
}
"""Names that are not ours in snake case, without ``Add``, ``Fn`` and ``enable``."""
_AFFIXES = re.compile(r"^(?:Add|Register|enabled?)(?=[A-Z])|(?:Fns?|Func|Funcs)$")
_WORDS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


def upstream_point(name: str, points: Container[str]) -> str | None:
    """The extension point that Volcano or KAI calls ``name``; None: there is none.

    ``JobOrderFn``, ``AddJobOrderFn`` and the flag ``enableJobOrder`` all are ``job_order``.
    """
    snake = _WORDS.sub("_", _AFFIXES.sub("", name)).lower()
    # AllocateFunc of an event handler is on_allocate.
    candidates = (_EXCEPTIONS.get(snake, snake), f"on_{snake}")
    return next((ours for ours in candidates if ours != name and ours in points), None)
