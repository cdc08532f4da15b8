"""The answers of ``/api/…``: tables of a cycle by pages, and explanations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pumice._nearest import did_you_mean
from pumice.explain import CODES, ExplainedCycle, Explanation
from pumice.explain.counterfactuals import find_changes
from pumice.model.quantity import PODS, shown
from pumice.serve.history import History, UnknownError
from pumice.serve.query import Query
from pumice.serve.rows import MOST_LISTED, Data, cycle_row, eviction_row, job_row, queue_row
from pumice.serve.views import STATES, CycleView

PAGE = ("offset", "limit")


@dataclass(frozen=True, slots=True)
class Route:
    """How one address is answered."""

    answer: Callable[[History, Query, str], Data]
    """Called with the parameters and the rest of the path."""
    parameters: tuple[str, ...]
    """The parameters that it knows."""


def cycles(history: History, query: Query, rest: str) -> Data:
    """All cycles with what was decided in each."""
    views = history.views
    return _page(query, views, lambda view: cycle_row(history, view), 200, 1000)


def queues(history: History, query: Query, rest: str) -> Data:
    """The tree of queues with the amounts of one resource."""
    view = _view(history, query)
    resource = _resource(view, query)
    column = view.dimensions.index(resource)
    answer = _page(query, view.queues, lambda row: queue_row(row, resource, column), 500, 5000)
    total = int(view.nodes.allocatable[:, column].sum())
    amounts = [total, *(int(row.request[column]) for row in view.queues)]
    return {
        **answer,
        "cycle": view.cycle,
        "resource": resource,
        "allocatable": total,
        "allocatable_text": shown(resource, total),
        "scale": max(amounts, default=0),
    }


def nodes(history: History, query: Query, rest: str) -> Data:
    """The use of one resource on every node, as columns."""
    view = _view(history, query)
    resource = _resource(view, query)
    column, table = view.dimensions.index(resource), view.nodes
    page = query.page(10_000, 20_000)
    used = table.pods if resource == PODS else table.used[:, column]
    return {
        "cycle": view.cycle,
        "resource": resource,
        "total": len(table.names),
        "offset": page.start,
        "names": table.names[page],
        "allocatable": table.allocatable[page, column].tolist(),
        "used": used[page].tolist(),
        "releasing": table.releasing[page, column].tolist(),
        "closed": [number for number, closed in enumerate(table.closed[page]) if closed],
    }


def node(history: History, query: Query, rest: str) -> Data:
    """One node: all resources, and the tasks on it."""
    view = _view(history, query)
    row = _known(rest, view.nodes.names, "node")
    table = view.nodes

    def tasks(explained: ExplainedCycle) -> list[Data]:
        held = explained.session.nodes.held[row].values()
        return [
            {
                "task": entry.task.key,
                "job": entry.task.job.uid if entry.task.job is not None else "",
                "status": entry.task.status.label,
                "request": entry.task.request.describe(),
            }
            for entry in held
        ]

    on_node = history.read(view.cycle, tasks)
    page = query.page(100, 1000)
    resources = {
        name: {
            "allocatable": shown(name, table.allocatable[row, column]),
            "used": shown(name, table.pods[row] if name == PODS else table.used[row, column]),
            "releasing": shown(name, table.releasing[row, column]),
        }
        for column, name in enumerate(view.dimensions)
        if table.allocatable[row, column] or table.used[row, column]
    }
    return {
        "cycle": view.cycle,
        "node": rest,
        "closed": table.closed[row],
        "resources": resources,
        "total": len(on_node),
        "offset": page.start,
        "rows": on_node[page],
    }


def jobs(history: History, query: Query, rest: str) -> Data:
    """The jobs, as far as they match."""
    view = _view(history, query)
    words, queue = query.text("q").lower().split(), query.text("queue")
    state = query.choice("state", STATES)
    found = [
        row
        for row in view.jobs
        if (state is None or row.state == state)
        and (not queue or row.queue == queue)
        and all(word in row.words for word in words)
    ]
    answer = _page(query, found, job_row, 50, 1000)
    return {**answer, "cycle": view.cycle, "all": len(view.jobs)}


def evictions(history: History, query: Query, rest: str) -> Data:
    """The evictions of all cycles, or of one, the latest first."""
    number = query.number("cycle", None, 0, 10**9)
    views = reversed(history.views) if number is None else [history.view(number)]
    job = query.text("job")
    found = [
        row for view in views for row in view.evictions if not job or job in (row.job, row.claimant)
    ]
    answer = _page(query, found, eviction_row, 100, 1000)
    return {**answer, "tasks": sum(len(row.tasks) for row in found)}


def explain(history: History, query: Query, rest: str) -> Data:
    """Why a job waits, runs or was evicted."""
    view = _view(history, query)

    def explained(cycle: ExplainedCycle) -> Data:
        job = cycle.session.jobs[_job_of(cycle, rest)]
        tasks = sorted(job.tasks.values(), key=lambda task: task.key)
        explanation = cycle.explain(rest).to_dict()
        victims = explanation["victims"]
        return {
            **explanation,
            "victims": victims[:MOST_LISTED],
            "more_victims": max(0, len(victims) - MOST_LISTED),
            "queue": job.queue,
            "priority": job.priority,
            "tasks": [
                {"task": task.key, "status": task.status.label, "node": task.node}
                for task in tasks[:MOST_LISTED]
            ],
            "more_tasks": max(0, len(tasks) - MOST_LISTED),
        }

    answer = history.read(view.cycle, explained)
    code = CODES.get(answer["code"])
    about = {} if code is None else {n: getattr(code, n) for n in ("title", "meaning", "remedy")}
    return {**answer, "cycle": view.cycle, "about": about}


def changes(history: History, query: Query, rest: str) -> Data:
    """Which small changes would let a job run, found by deciding the cycle again."""

    def explained(cycle: ExplainedCycle) -> tuple[ExplainedCycle, Explanation]:
        return cycle, cycle.explain(_job_of(cycle, rest))

    # Trials have clusters of their own, so other requests are answered meanwhile.
    cycle, explanation = history.read(_view(history, query).cycle, explained)
    session = cycle.session
    if explanation.verdict not in ("pending", "never"):
        return {"job": rest, "found": [], "text": "The job does not wait."}
    tried = find_changes(
        explanation, session.cluster.inventory, session.policy, now=session.now, budget=BUDGET
    )
    found = replace(explanation, would_run_if=tried.found).to_dict()["would_run_if"]
    return {"job": rest, "found": found, "text": tried.text}


BUDGET = 5.0
"""Seconds for which changes are tried."""
MOST_COMPARED = 2000
"""Names among which a similar one is sought; more take too long."""

ROUTES = {
    "cycles": Route(cycles, PAGE),
    "queues": Route(queues, ("cycle", "resource", *PAGE)),
    "nodes": Route(nodes, ("cycle", "resource", *PAGE)),
    "node/": Route(node, ("cycle", *PAGE)),
    "jobs": Route(jobs, ("cycle", "q", "state", "queue", *PAGE)),
    "evictions": Route(evictions, ("cycle", "job", *PAGE)),
    "explain/": Route(explain, ("cycle",)),
}
"""By the path below ``/api/``; after a slash comes a name."""
POSTED = {"changes/": Route(changes, ("cycle",))}
"""As ``ROUTES``, but these compute for seconds, so other sites must not be able to ask."""


# -- helpers


def _page(
    query: Query, rows: Sequence[Any], shape: Callable[[Any], Data], default: int, most: int
) -> Data:
    page = query.page(default, most)
    return {
        "total": len(rows),
        "offset": page.start,
        "rows": [shape(row) for row in rows[page]],
    }


def _view(history: History, query: Query) -> CycleView:
    return history.view(query.number("cycle", None, 0, 10**9))


def _resource(view: CycleView, query: Query) -> str:
    return query.choice("resource", view.resources, default_resource(view)) or PODS


def default_resource(view: CycleView) -> str:
    """GPUs where there are some, else CPUs."""
    gpus = [name for name in view.resources if name.endswith("/gpu")]
    return gpus[0] if gpus else "cpu"


def _known(name: str, names: Sequence[str], kind: str) -> int:
    try:
        return names.index(name)
    except ValueError:
        raise _unknown(f"there is no {kind}", name, names) from None


def _job_of(cycle: ExplainedCycle, name: str) -> str:
    if name not in cycle.session.jobs:
        raise _unknown(f"cycle {cycle.number} has no job", name, list(cycle.session.jobs))
    return name


def _unknown(text: str, name: str, names: Sequence[str]) -> UnknownError:
    comparable = len(name) < 300 and len(names) <= MOST_COMPARED
    return UnknownError(f"{text} {name[:300]!r}{did_you_mean(name, names) if comparable else ''}")
