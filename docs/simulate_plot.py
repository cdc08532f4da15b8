"""Draw docs/img/simulate-delay.svg: ``python docs/simulate_plot.py``, a minute or two."""

from __future__ import annotations

from pathlib import Path

from pumice.simulation.engine import Settings
from pumice.simulation.report.page import delay_plot
from pumice.simulation.report.plots import standalone
from pumice.simulation.report.style import STYLE
from pumice.simulation.runs import PolicySource, TraceSource, run_one

PRESETS = ("pumice", "volcano", "kai")


def main() -> None:
    source = TraceSource("synthetic", options=(("jobs", "200"), ("gpus", "64"), ("load", "1.0")))
    settings = Settings(period=120.0, checkpoint=1800.0, restart_cost=60.0, seed=1)
    series = [run_one(source, PolicySource(name, preset=name), settings).series for name in PRESETS]
    drawing = delay_plot(series, PRESETS, [f"c{i}" for i in range(len(PRESETS))])
    # The page of the docs is light or dark by itself, so the plot has a ground of its own.
    style = STYLE.partition("@media")[0] + STYLE.partition("}}")[2] + ".plot{background:#fff}"
    target = Path(__file__).parent / "img" / "simulate-delay.svg"
    target.write_text(standalone(drawing, style) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
