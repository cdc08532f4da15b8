"""The page of a search: what was tried, and what is best."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

from pumice.simulation.report.page import document, shown
from pumice.simulation.report.plots import Axis, Line, plot
from pumice.simulation.search import Trial


def front_page(
    trials: Sequence[Trial], best: Sequence[Trial], goals: Sequence[str], *, title: str
) -> str:
    """The trials in order or, with two goals, one goal over the other; and the best as a table."""
    heads = "".join(f"<th>{escape(name)}</th>" for name in (*trials[0].values, *goals))
    rows = "".join(_row(trial, goals) for trial in best)
    return document(
        title,
        [
            f"<h1>{escape(title)}</h1>",
            f"<p>{len(trials)} trials.</p>",
            _plot(trials, best, goals),
            "<h2>Best</h2>",
            '<div class="wide"><table>'
            f"<thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table></div>",
        ],
    )


def _row(trial: Trial, goals: Sequence[str]) -> str:
    cells = [*trial.values.values()]
    cells += [shown(goal, value) for goal, value in zip(goals, trial.figures, strict=True)]
    return "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in cells) + "</tr>"


def _plot(trials: Sequence[Trial], best: Sequence[Trial], goals: Sequence[str]) -> str:
    known = [t for t in trials if not any(math.isnan(value) for value in t.figures)]
    if not known:
        return "<p>No trial has all figures.</p>"
    if len(goals) > 1:
        points = [(t.figures[0], t.figures[1]) for t in known]
        chosen = sorted((t.figures[0], t.figures[1]) for t in best if t in known)
        x = _axis(goals[0], [a for a, _ in points])
    else:
        points = [(float(i + 1), t.figures[0]) for i, t in enumerate(known)]
        better = max if best[0].figures[0] >= max(b for _, b in points) else min
        chosen = [(number, better(b for _, b in points[: int(number)])) for number, _ in points]
        x = Axis(0.0, len(points) + 1.0, "trial", lambda value: f"{value:g}")
    goal = goals[1] if len(goals) > 1 else goals[0]
    y = _axis(goal, [b for _, b in points])
    lines = [Line("best", [a for a, _ in chosen], [b for _, b in chosen], "c0", steps=True)]
    # A line of no length is drawn as a dot by its round ends.
    lines += [Line(f"{a:g}, {b:g}", [a, a], [b, b], "dot c1") for a, b in points]
    return plot(lines, x, y, title="Trials and the best of them")


def _axis(goal: str, values: Sequence[float]) -> Axis:
    low, high = min(values), max(values)
    room = (high - low or abs(high) or 1.0) * 0.05
    return Axis(low - room, high + room, goal, lambda value: shown(goal, value))
