"""The page: figures side by side, and plots."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

from pumice.simulation.compare import Spread, compared, policies_of
from pumice.simulation.outcome import Outcome, Series
from pumice.simulation.report.plots import (
    Axis,
    Line,
    day_axis,
    day_scale,
    delay_axis,
    duration_text,
    legend,
    plot,
)
from pumice.simulation.report.style import STYLE

_COLOURS = 8
_MOST_QUEUES = 24
HEADLINES = {
    "delay.mean": "Delay, mean",
    "delay.p50": "Delay, median",
    "delay.p95": "Delay, 95 %",
    "completion.mean": "Completion time, mean",
    "completion.p95": "Completion time, 95 %",
    "slowdown.mean": "Slowdown, mean",
    "utilisation.allocated": "Allocated",
    "goodput": "Goodput",
    "lost_work.hours": "Lost work, hours",
    "evictions.pods": "Evicted pods",
    "evictions.jobs": "Jobs stopped",
    "evictions.repeated": "Jobs stopped repeatedly",
    "evictions.for_each_requested": "Evicted for each requested",
    "fairness.jain": "Fairness (Jain)",
    "fairness.worst": "Fairness, worst queue",
    "finish_time.mean": "Finish-time ratio, mean",
    "finish_time.worse_off": "Jobs worse off than alone",
    "quota_violation.amount": "Below deserved, amount × hours",
    "fragmentation": "Fragmentation",
    "starvation.longest": "Longest wait",
    "convergence.cycles_max": "Most cycles to settle",
}
"""The figures that are shown first, and their names for people."""
_TIMES = ("delay", "completion", "starvation.longest")
_PARTS = (
    "utilisation.allocated",
    "goodput",
    "lost_work.part",
    "fragmentation",
    "fairness",
    "finish_time.worse",
)


def shown(name: str, value: float) -> str:
    """A figure for people."""
    if math.isnan(value):
        return "–"
    if name.startswith(_TIMES):
        return duration_text(value)
    if name.startswith(_PARTS) and name != "fairness.jain":
        return f"{100 * value:.1f} %"
    return f"{value:,.0f}" if abs(value) >= 100 or value == int(value) else f"{value:.3g}"


def shown_spread(name: str, value: Spread) -> str:
    """A figure with its confidence, for people."""
    text = shown(name, value.mean)
    return text if math.isnan(value.within) else f"{text} ± {shown(name, value.within)}"


def page(outcomes: Sequence[Outcome], *, title: str, notes: Sequence[str] = ()) -> str:
    """The report as one HTML page. The same outcomes give the same page, byte for byte."""
    policies = policies_of(outcomes)
    first = [next(o for o in outcomes if o.policy == policy) for policy in policies]
    colours = [f"c{i % _COLOURS}" for i in range(len(policies))]
    key = legend(list(zip(colours, policies, strict=True)))
    seeds = list(dict.fromkeys(outcome.seed for outcome in outcomes))
    series = [outcome.series for outcome in first]
    sections = [
        f"<h1>{escape(title)}</h1>",
        f"<p>{outcomes[0].jobs:,} jobs, {_count(len(policies), 'policy', 'policies')}, "
        f"{_count(len(seeds), 'seed', 'seeds')}. Figures are means over the seeds with 95 % "
        f"confidence; plots show seed {seeds[0]}.</p>",
        *(f"<p>{escape(note)}</p>" for note in notes),
        "<h2>Figures</h2>",
        _table(outcomes, policies),
        "<h2>Utilisation</h2>",
        key,
        _utilisation(series, policies, colours),
        "<h2>Delay</h2>",
        "<p>The part of the jobs that started within a time.</p>",
        key,
        delay_plot(series, policies, colours),
        "<h2>Evictions</h2>",
        "<p>Pods that were evicted up to a time.</p>",
        key,
        _evictions(series, policies, colours),
        "<h2>Queues</h2>",
        "<p>What each queue used; the dashed line is what it deserves.</p>",
        key,
        _queues(series, policies, colours),
        "<h2>All figures</h2>",
        _all_figures(outcomes, policies),
    ]
    return document(title, sections)


def document(title: str, sections: Sequence[str]) -> str:
    """A page with a title and nothing from outside."""
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{STYLE}</style></head>\n<body><main>"
        + "\n".join(sections)
        + "</main></body></html>\n"
    )


def _count(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}"


def _table(outcomes: Sequence[Outcome], policies: Sequence[str]) -> str:
    figures = compared(outcomes)
    rows = {name: title for name, title in HEADLINES.items() if name in figures}
    return _figures_table(rows, figures, policies)


def _all_figures(outcomes: Sequence[Outcome], policies: Sequence[str]) -> str:
    figures = compared(outcomes)
    table = _figures_table({name: name for name in figures}, figures, policies)
    return f"<details><summary>{len(figures)} figures</summary>{table}</details>"


def _figures_table(
    rows: dict[str, str], figures: dict[str, dict[str, Spread]], policies: Sequence[str]
) -> str:
    head = "".join(f"<th>{escape(policy)}</th>" for policy in policies)
    body = "".join(
        f"<tr><td>{escape(title)}</td>"
        + "".join(f"<td>{escape(shown_spread(name, figures[name][p]))}</td>" for p in policies)
        + "</tr>"
        for name, title in rows.items()
    )
    table = f"<table><thead><tr><th></th>{head}</tr></thead><tbody>{body}</tbody></table>"
    return f'<div class="wide">{table}</div>'


def _end(series: Sequence[Series]) -> float:
    return max(each.times[-1] for each in series)


def _utilisation(series: Sequence[Series], policies: Sequence[str], colours: Sequence[str]) -> str:
    end = _end(series)
    scale = day_scale(end)
    lines = []
    for each, policy, colour in zip(series, policies, colours, strict=True):
        used = [sum(values) for values in zip(*each.used.values(), strict=True)]
        parts = [100 * u / c if c else 0.0 for u, c in zip(used, each.capacity, strict=True)]
        lines.append(Line(policy, [t / scale for t in each.times], parts, colour))
    axis = Axis(0, 100, "allocated", lambda value: f"{value:g} %")
    return plot(lines, day_axis(end), axis, title="Utilisation over time")


def delay_plot(series: Sequence[Series], policies: Sequence[str], colours: Sequence[str]) -> str:
    """The part of the jobs that started within a time."""
    longest = max((each.delays[-1] for each in series if each.delays), default=1.0)
    lines = [
        Line(policy, [max(d, 1.0) for d in each.delays], list(range(len(each.delays))), colour)
        for each, policy, colour in zip(series, policies, colours, strict=True)
    ]
    y = Axis(0, 100, "jobs", lambda value: f"{value:g} %")
    return plot(lines, delay_axis(longest), y, title="Jobs that started within a time")


def _evictions(series: Sequence[Series], policies: Sequence[str], colours: Sequence[str]) -> str:
    end = _end(series)
    scale = day_scale(end)
    lines, most = [], 1
    for each, policy, colour in zip(series, policies, colours, strict=True):
        total, sums = 0, []
        for count in each.evictions:
            total += count
            sums.append(float(total))
        most = max(most, total)
        lines.append(Line(policy, [t / scale for t in each.times], sums, colour, steps=True))
    y = Axis(0, most, "pods", lambda value: f"{value:,.0f}")
    return plot(lines, day_axis(end), y, title="Evicted pods over time")


def _queues(series: Sequence[Series], policies: Sequence[str], colours: Sequence[str]) -> str:
    end = _end(series)
    scale = day_scale(end)
    queues = sorted(
        {queue: None for each in series for queue in each.used},
        key=lambda queue: (-max(sum(each.used.get(queue, [0.0])) for each in series), queue),
    )
    plots = []
    for queue in queues[:_MOST_QUEUES]:
        lines = [
            Line(policy, [t / scale for t in each.times], each.used[queue], colour)
            for each, policy, colour in zip(series, policies, colours, strict=True)
        ]
        deserved = series[0].deserved[queue]
        lines.append(Line("deserved", [0.0, end / scale], [deserved, deserved], "limit"))
        high = max([deserved, *(value for line in lines for value in line.ys)]) or 1.0
        y = Axis(0, high, series[0].unit, lambda value: f"{value:g}")
        drawing = plot(
            lines, day_axis(end), y, title=f"Queue {queue} over time", width=360, height=180
        )
        plots.append(f"<figure><figcaption>{escape(queue)}</figcaption>{drawing}</figure>")
    more = len(queues) - _MOST_QUEUES
    note = f"<p>{more} more queues are not shown.</p>" if more > 0 else ""
    return f'<div class="small">{"".join(plots)}</div>{note}'
