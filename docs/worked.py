"""The pictures of the worked examples. Every number is what a plugin answered in a real cycle."""

from __future__ import annotations

from pathlib import Path

from drawing import rect, svg, text

from pumice import Ledger, MemoryBackend, Scheduler, Session, load_policy
from pumice.gpu import GPU

EXAMPLES = Path(__file__).parent / "examples" / "worked"
_WIDTH, _LEFT, _UNIT = 760, 110, 44


def _scheduler(example: str, policy: str, ledger: Ledger | None = None) -> Scheduler:
    """A policy file of the folder, or a preset, on a cluster of the folder."""
    file = EXAMPLES / f"{policy}.toml"
    loaded = load_policy(file, env={}) if file.exists() else load_policy(preset=policy, env={})
    backend = MemoryBackend.from_files([EXAMPLES / f"{example}.yaml"])
    return Scheduler(backend, loaded, ledger=ledger)


def _demand(session: Session, queue: str) -> float:
    tasks = [t for job in session.jobs.values() if job.queue == queue for t in job.tasks.values()]
    return sum(task.request.get(GPU) for task in tasks) / 1000


def deserved(example: str = "fair-share", policy: str = "proportion") -> dict[str, float]:
    """GPUs that each queue deserves."""
    session = _scheduler(example, policy).open_session()
    return {
        queue.name: session.ask.get_queue_deserved_resources(queue).get(GPU) / 1000
        for queue in session.queues.values()
        if _demand(session, queue.name)
    }


def fair_shares(example: str, policy: str = "pumice") -> dict[str, float]:
    """GPUs that are the fair share of each queue."""
    session = _scheduler(example, policy).open_session()
    return {
        queue.name: session.ask.get_queue_fair_share(queue).get(GPU) / 1000
        for queue in session.queues.values()
        if _demand(session, queue.name)
    }


def scores(policy: str = "binpack") -> dict[str, tuple[float, float]]:
    """The GPUs that are used on each node, and the score of the node for the job ``new``."""
    session = _scheduler("binpack", policy).open_session()
    (task,) = session.jobs["team/new"].tasks.values()
    nodes = session.nodes
    column = nodes.dimensions.position[GPU]
    values = session.plugins["binpack"].batch_node_order(task, nodes.view())
    return {
        name: (nodes.used[row, column] / 1000, float(values[row]))
        for row, name in enumerate(nodes.names)
    }


def turns() -> list[tuple[str, dict[str, float]]]:
    """Each task in the order of placement, and the dominant shares of the jobs after it."""
    ledger = Ledger(points=["job_order"])
    decisions = _scheduler("drf", "drf", ledger).run_once()
    held = {"team/memory": 0.0, "team/compute": 0.0}
    answered: dict[str, list[float]] = {job: [] for job in held}
    for event in ledger.events():
        if event.get("plugin") == "drf" and event["answer"] not in answered[event["args"][0]]:
            answered[event["args"][0]].append(event["answer"])
    made = []
    for bind in decisions.binds:
        shares = answered[bind.job]
        held[bind.job] = shares[shares.index(held[bind.job]) + 1]
        made.append((bind.task, dict(held)))
    return made


# -- drawing


def _amount(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".")


def fair_share_picture() -> str:
    """What each queue asks for, its part by weight, and what it gets by either plugin."""
    session = _scheduler("fair-share", "proportion").open_session()
    by_water, by_units = deserved(), fair_shares("fair-share")
    weights = {name: session.queues[name].weight for name in by_water}
    gpus = (
        sum(node.allocatable.get(GPU) for node in session.cluster.inventory.nodes.values()) / 1000
    )
    title = f"{gpus:g} GPUs, three queues"
    body = [
        text(20, 34, title, "title"),
        text(20, 56, "dashed: what the queue asks for; mark: its part by weight alone", "soft"),
    ]
    y = 78
    for name, share in by_water.items():
        part = gpus * weights[name] / sum(weights.values())
        body.append(text(20, y + 22, name, "question"))
        body.append(text(20, y + 40, f"weight {weights[name]}", "soft"))
        body.append(rect(_LEFT, y + 2, _demand(session, name) * _UNIT, 50, "hollow"))
        for row, (value, kind, who) in enumerate(
            [(share, "dot", "proportion"), (by_units[name], "other", "fairshare")]
        ):
            at = y + 6 + 22 * row
            body.append(rect(_LEFT, at, value * _UNIT, 18, kind))
            words = f"{_amount(value)} by {who}"
            body.append(text(_LEFT + 10 * _UNIT + 16, at + 14, words, "ink"))
        x = _LEFT + part * _UNIT
        body.append(f'<line class="tick" x1="{x:g}" y1="{y - 2}" x2="{x:g}" y2="{y + 56}"/>')
        y += 74
    return svg(_WIDTH, y + 4, title, body)


def quota_picture() -> str:
    """Quotas first, the rest by weight."""
    session = _scheduler("quotas", "pumice").open_session()
    title = "Quotas first, the rest by over-quota weight"
    body = [
        text(20, 34, title, "title"),
        text(20, 56, "dashed: what the queue asks for; mark: its quota", "soft"),
    ]
    y = 78
    for name, share in fair_shares("quotas").items():
        queue = session.queues[name]
        quota = session.ask.get_queue_deserved_resources(queue).get(GPU) / 1000
        body.append(text(20, y + 22, name, "question"))
        body.append(rect(_LEFT, y + 4, _demand(session, name) * _UNIT, 30, "hollow"))
        body.append(rect(_LEFT, y + 8, min(share, quota) * _UNIT, 22, "dot"))
        over = max(0.0, share - quota)
        body.append(rect(_LEFT + min(share, quota) * _UNIT, y + 8, over * _UNIT, 22, "other"))
        x = _LEFT + quota * _UNIT
        body.append(f'<line class="tick" x1="{x:g}" y1="{y}" x2="{x:g}" y2="{y + 38}"/>')
        words = f"{_amount(share)}: {_amount(min(share, quota))} of its quota, {_amount(over)} more"
        body.append(text(_LEFT + 10 * _UNIT + 16, y + 24, words, "ink"))
        y += 54
    return svg(_WIDTH, y + 4, title, body)


def binpack_picture() -> str:
    """Four nodes with eight GPUs each, and a task that asks for two."""
    title = "A task that asks for 2 GPUs, four nodes of 8"
    best = max(score for _, score in scores().values())
    body = [
        text(20, 34, title, "title"),
        text(
            20,
            56,
            "filled: in use; second colour: the task; the score is the sum in percent",
            "soft",
        ),
    ]
    y = 78
    for name, (used, score) in scores().items():
        fits = used + 2 <= 8
        body.append(text(20, y + 24, name, "question"))
        body.append(rect(_LEFT, y + 4, 8 * _UNIT, 30, "hollow"))
        body.append(rect(_LEFT, y + 8, used * _UNIT, 22, "dot"))
        if fits:
            body.append(rect(_LEFT + used * _UNIT, y + 8, 2 * _UNIT, 22, "other"))
        words = f"score {_amount(score)}" + ("" if fits else ": it does not fit")
        kind = "question" if score == best else "ink"
        body.append(text(_LEFT + 8 * _UNIT + 16, y + 24, words, kind))
        y += 54
    return svg(_WIDTH, y + 4, title, body)


def drf_picture() -> str:
    """Whose turn it is, and the dominant shares after it."""
    title = "The job with the smaller dominant share goes next"
    made = turns()
    base, tall, step = 300, 270, (_WIDTH - _LEFT - 20) / len(made)
    body = [
        text(20, 34, title, "title"),
        rect(20, 48, 14, 14, "dot"),
        text(40, 60, "memory: 1 cpu and 4 Gi a task", "ink"),
        rect(280, 48, 14, 14, "other"),
        text(300, 60, "compute: 3 cpu and 1 Gi a task", "ink"),
    ]
    for share, words in ((1 / 3, "1/3"), (2 / 3, "2/3")):
        y = base - share * tall
        body.append(f'<line class="lane" x1="70" y1="{y:g}" x2="{_WIDTH - 20}" y2="{y:g}"/>')
        body.append(text(36, y + 4, words, "soft"))
    for number, (pod, shares) in enumerate(made):
        x = _LEFT + number * step
        for bar, (job, kind) in enumerate((("team/memory", "dot"), ("team/compute", "other"))):
            height = shares[job] * tall
            body.append(rect(x + 40 * bar, base - height, 34, height, kind))
        body.append(text(x + 37, base + 20, pod.removeprefix("team/"), "ink middle"))
    body.append(f'<line class="lane" x1="70" y1="{base}" x2="{_WIDTH - 20}" y2="{base}"/>')
    return svg(_WIDTH, base + 40, title, body)


PICTURES = {
    "worked-fair-share": fair_share_picture,
    "worked-quotas": quota_picture,
    "worked-binpack": binpack_picture,
    "worked-drf": drf_picture,
}
