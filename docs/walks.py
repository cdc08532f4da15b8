"""The walks of the architecture page: one pod from its manifest to its bind, or to a reclaim.

The tables here are the only source: ``docs/generate.py`` draws the pictures from them, and
``tests/test_walks.py`` runs the examples and compares every step with what was called.
"""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from drawing import svg, text

EXAMPLES = Path(__file__).parent / "examples" / "walks"

LANES = {
    "scheduler": ("pumice.scheduler", "pumice.backends", "pumice.status"),
    "manifests": ("pumice.manifests",),
    "model": ("pumice.model",),
    "actions": ("pumice_builtin_actions",),
    "solver": ("pumice.solver",),
    "session": ("pumice.session",),
    "plugins": ("pumice_builtin_plugins",),
}
"""Folders from the outside in, and the modules that each stands for."""

POD = """
What is in the cluster?
    backends.memory MemoryBackend.from_files | the backend is asked for the objects
    manifests.reader load | reads files, sorts objects by kind, reports malformed ones
    manifests.pods read_pod | the pod becomes a fact: request, constraints, pod group
What does this cycle decide about?
    scheduler Scheduler.open_session | a cycle begins with a snapshot of the facts
    model.cluster build_cluster | facts become tasks, jobs and the node table
    model.build ModelBuilder.task | the pod becomes a task of its job, its request a vector
What is each queue entitled to?
    session.session Session.__init__ | makes the plugins, compiles every extension point
    plugins.proportion.plugin Proportion.on_session_open | deserved amounts, by water filling
May the job enter its queue?
    scheduler Scheduler.run_action | runs the actions of the policy one after another
    actions.enqueue Enqueue.execute | asks about pending jobs in the order of queues and jobs
    plugins.proportion.plugin Proportion.job_enqueueable | permits: minResources fit into the queue
Which node takes the task?
    actions.allocate Allocate.execute | takes jobs and tasks in order
    session.nodes.queries NodeQueries.best | best node of those where the request fits
    plugins.predicates.plugin Predicates.predicate_nodes | filters all nodes at once
    plugins.nodeorder.plugin NodeOrder.batch_node_order | scores all nodes at once
What does the placement change?
    session.statement Statement.allocate | an operation of a transaction: it can be undone
    plugins.proportion.plugin Proportion.on_allocate | the queue's allocated amount grows
Is the gang complete?
    session.session Session.sub_job_ready | asked after every task
    plugins.gang Gang.job_ready | minAvailable is met
What was decided?
    actions.allocate Allocate.execute | commits the statement
    session.session Session.decide_bind | the placement is a bind
How does the cluster learn of it?
    scheduler Scheduler.finish | phases and reasons, then decisions
    backends.memory MemoryBackend.apply | the backend binds the pod
"""

RECLAIM = """
What is in the cluster?
    backends.memory MemoryBackend.from_files | the backend is asked for the objects
    manifests.pods read_pod | the pod becomes a fact
    manifests.containers container_set | what its containers request
What does this cycle decide about?
    scheduler Scheduler.open_session | a cycle begins with a snapshot of the facts
    model.cluster build_cluster | tasks, jobs and the node table
    model.families.kai.pod_sets read_kai_job | sub-groups, minimums, preemptible or not
What is each queue's fair share?
    session.session Session.__init__ | makes the plugins, compiles every extension point
    plugins.fairshare.plugin FairShare.on_session_open | quotas, then over-quota weights
Does the job fit without an eviction?
    actions.fair_allocate FairAllocate.execute | tries every waiting job, the first queue first
    session.single_tasks SingleTasks.place | its only task, without a statement
    session.nodes.queries NodeQueries.fit_errors | no node has the GPUs: the reasons are recorded
May its queue reclaim?
    actions.solver_action SolverAction.execute | the next action takes the jobs that still wait
    plugins.fairshare.plugin FairShare.can_reclaim_resources | its queue would stay within its share
Which victims, in which order?
    solver.search Solver.solve | searches one job's plan
    session.order Order.task_key | the last to be served goes first
    plugins.taskorder TaskOrder.task_order_key | gives the order of tasks
What if the victims were gone?
    solver.steps Steps.run | adds victims until the job may fit
    session.statement Statement.evict | an operation: their resources are releasing
    plugins.fairshare.plugin FairShare.on_deallocate | their queue's allocated amount shrinks
Does the job fit then?
    solver.simulation Simulation.run | places the job, then the victims that still fit elsewhere
    session.statement Statement.pipeline | the task waits for the releasing GPUs
    plugins.fairshare.plugin FairShare.on_allocate | its queue's allocated amount grows
Is the plan fair?
    solver.steps Steps.run | asks the validators about the plan
    plugins.fairshare.plugin FairShare.reclaim_scenario_validator | victims' queues keep their share
What was decided?
    actions.solver_action SolverAction.execute | commits the statement that the solver returns
    session.session Session.decide_eviction | an eviction, with why
How does the cluster learn of it?
    scheduler Scheduler.finish | phases and reasons, then decisions
    backends.memory MemoryBackend.apply | the backend evicts the pod
"""


class Step(NamedTuple):
    module: str
    function: str
    what: str

    @property
    def lane(self) -> str:
        return next(lane for lane, homes in LANES.items() if self.module.startswith(homes))

    @property
    def shown(self) -> str:
        """Module and function, as short as can be."""
        module = self.module.removeprefix("pumice.").removeprefix("pumice_builtin_")
        return f"{module} · {self.function}"


class Question(NamedTuple):
    """Something that is asked once: a chain of calls that enters each folder once."""

    text: str
    steps: tuple[Step, ...]


class Walk(NamedTuple):
    name: str
    title: str
    example: str
    """A file in docs/examples/walks."""
    preset: str
    questions: tuple[Question, ...]


def parse(table: str) -> tuple[Question, ...]:
    """A question on each line that is not indented, its steps below: module, function | what.

    Modules are named without ``pumice.``, those of the built-ins without ``pumice_builtin_``.
    """
    questions: list[tuple[str, list[Step]]] = []
    for line in table.strip().splitlines():
        if line.startswith(" "):
            call, _, what = line.partition(" | ")
            module, function = call.split()
            prefix = "pumice_builtin_" if module.startswith(("plugins.", "actions.")) else "pumice."
            questions[-1][1].append(Step(prefix + module, function, what))
        else:
            questions.append((line, []))
    return tuple(Question(asked, tuple(steps)) for asked, steps in questions)


WALKS = (
    Walk("walk-pod", "One pod, from its manifest to its bind", "pod.yaml", "volcano", parse(POD)),
    Walk(
        "walk-reclaim",
        "One pod, from its manifest to a reclaim by the solver",
        "reclaim.yaml",
        "kai",
        parse(RECLAIM),
    ),
)


# -- drawing

_WIDTH, _TOP, _ROW, _HEAD, _LANE, _LEFT = 1000, 84, 38, 34, 66, 52
_TEXT = _LEFT + _LANE * (len(LANES) - 1) + 48


def draw(walk: Walk) -> str:
    """A lane for every folder, a band for every question, a dot for every step."""
    x_of = {lane: _LEFT + _LANE * i for i, lane in enumerate(LANES)}
    height = _TOP + sum(_HEAD + _ROW * len(q.steps) + 8 for q in walk.questions) + 8
    body = [text(20, 34, walk.title, "title")]
    body += [text(x, _TOP - 16, lane, "head") for lane, x in x_of.items()]
    bands: list[str] = []
    lines: list[str] = []
    marks: list[str] = []
    words: list[str] = []
    y, number = _TOP, 0
    for question in walk.questions:
        tall = _HEAD + _ROW * len(question.steps)
        bands.append(
            f'<rect class="band" x="10" y="{y}" width="{_WIDTH - 20}" height="{tall}" rx="6"/>'
        )
        words.append(text(_TEXT, y + 22, question.text, "question"))
        points = []
        for row, step in enumerate(question.steps):
            number += 1
            x, at = x_of[step.lane], y + _HEAD + _ROW * row + _ROW // 2 - 4
            points.append((x, at))
            marks.append(f'<circle class="dot" cx="{x}" cy="{at}" r="10"/>')
            marks.append(text(x, at + 4, str(number), "number"))
            words.append(text(_TEXT, at - 3, step.shown, "name code"))
            words.append(text(_TEXT, at + 13, step.what, "soft"))
        lines.append(f'<path class="path" d="{_path(points)}"/>')
        y += tall + 8
    grid = [
        f'<line class="lane" x1="{x}" y1="{_TOP - 8}" x2="{x}" y2="{y - 8}"/>'
        for x in x_of.values()
    ]
    return svg(_WIDTH, height, walk.title, [*body, *bands, *grid, *lines, *marks, *words])


def _path(points: list[tuple[int, int]]) -> str:
    """Down and across, from dot to dot."""
    parts = [f"M{points[0][0]} {points[0][1]}"]
    for (_, before), (x, y) in pairwise(points):
        parts.append(f"V{(before + y) // 2} H{x} V{y}")
    return " ".join(parts)
