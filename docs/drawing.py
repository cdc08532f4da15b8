"""SVG for the pages, readable in light and dark: the picture of how data flows, and the parts."""

from __future__ import annotations

from html import escape
from typing import NamedTuple

STYLE = """
  .card { fill: #ffffff; stroke: #d0d7de; }
  .band { fill: #f6f8fa; }
  .lane { stroke: #d8dee4; stroke-width: 1; }
  .path { stroke: #b35900; stroke-width: 2; fill: none; stroke-linejoin: round; }
  .dot { fill: #b35900; }
  .other { fill: #2f6f9f; }
  .hollow { fill: none; stroke: #8c959f; stroke-dasharray: 3 3; }
  .tick { stroke: #1f2328; stroke-width: 2; }
  .box { fill: #f6f8fa; stroke: #8c959f; }
  .main { fill: #fff4e5; stroke: #b35900; }
  text { font: 13px system-ui, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif; }
  .ink, .title, .question, .name { fill: #1f2328; }
  .soft { fill: #59636e; }
  .number { fill: #ffffff; font-size: 11px; font-weight: 600; text-anchor: middle; }
  .head { fill: #59636e; font-size: 12px; text-anchor: middle; }
  .title { font-size: 17px; font-weight: 600; }
  .question { font-weight: 600; }
  .code { font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; font-size: 12px; }
  .middle { text-anchor: middle; }
  .arrow { fill: #b35900; }
  @media (prefers-color-scheme: dark) {
    .card { fill: #0d1117; stroke: #30363d; }
    .band { fill: #161b22; }
    .lane { stroke: #30363d; }
    .path { stroke: #e3893d; }
    .dot, .arrow { fill: #e3893d; }
    .other { fill: #6cb6ff; }
    .hollow { stroke: #6e7681; }
    .tick { stroke: #e6edf3; }
    .box { fill: #161b22; stroke: #6e7681; }
    .main { fill: #2b1d0e; stroke: #e3893d; }
    .ink, .title, .question, .name { fill: #e6edf3; }
    .soft, .head { fill: #9198a1; }
    .number { fill: #0d1117; }
  }
"""


def svg(width: int, height: int, label: str, body: list[str]) -> str:
    """A picture on a card of its own, so that it is readable on any page."""
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}"'
            f' width="{width}" height="{height}" role="img" aria-label="{escape(label)}">',
            "<!-- drawn by docs/generate.py -->",
            f"<style>{STYLE}</style>",
            f'<rect class="card" x="0.5" y="0.5" rx="8"'
            f' width="{width - 1}" height="{height - 1}"/>',
            *body,
            "</svg>",
            "",
        ]
    )


def rect(x: float, y: float, width: float, height: float, kind: str) -> str:
    return (
        f'<rect class="{kind}" x="{x:g}" y="{y:g}" width="{round(width, 2):g}"'
        f' height="{round(height, 2):g}"/>'
    )


def text(x: float, y: float, words: str, kind: str) -> str:
    return f'<text x="{x:g}" y="{y:g}" class="{kind}">{escape(words)}</text>'


class Box(NamedTuple):
    x: int
    y: int
    width: int
    title: str
    lines: tuple[str, ...]
    kind: str = "box"

    @property
    def height(self) -> int:
        return 32 + 18 * len(self.lines)


_FLOW = {
    "backend": Box(
        40, 70, 250, "Backend", ("snapshot(): the facts", "pumice.backends, manifests/")
    ),
    "inventory": Box(40, 220, 250, "Inventory", ("facts by kind, never changed", "model/facts")),
    "cluster": Box(
        40, 370, 250, "Cluster", ("tasks, jobs, queues, node table", "model/, one per cycle")
    ),
    "session": Box(
        400,
        220,
        270,
        "Session",
        ("ask: extension points as functions", "order: which goes first", "queries: which node"),
        "main",
    ),
    "actions": Box(
        400, 70, 270, "Actions", ("the steps of a cycle, in order", "with or without solver/")
    ),
    "plugins": Box(
        780, 220, 220, "Plugins", ("answer extension points;", "combine: many answers", "to one")
    ),
    "ledger": Box(780, 70, 220, "Ledger", ("what was asked,", "who answered what")),
    "statement": Box(
        400, 370, 270, "Statement", ("evict, pipeline, allocate;", "undo exactly, or commit")
    ),
    "decisions": Box(780, 370, 220, "Decisions", ("binds, evictions,", "phases, reasons")),
}
_ARROWS = (
    ("M165 138 V216", "snapshot", 175, 182),
    ("M165 288 V366", "build, or refresh", 175, 332),
    ("M290 400 H345 V270 H396", "open", 303, 262),
    ("M535 138 V216", "ask", 545, 182),
    ("M670 262 H776", "ask", 708, 254),
    ("M890 220 V142", "record", 900, 184),
    ("M535 306 V366", "change", 545, 342),
    ("M670 404 H776", "commit", 698, 396),
    ("M890 438 V490 H20 V104 H36", "apply: the backend carries the decisions out", 410, 482),
)


def flow() -> str:
    """How data flows: facts, cluster, session, decisions, backend."""
    title = "From facts to decisions"
    body = [text(20, 34, title, "title")]
    for path, words, x, y in _ARROWS:
        body.append(f'<path class="path" d="{path}"/>')
        body.append(_head(path))
        body.append(text(x, y, words, "soft"))
    for box in _FLOW.values():
        body.append(
            f'<rect class="{box.kind}" x="{box.x}" y="{box.y}" width="{box.width}"'
            f' height="{box.height}" rx="6"/>'
        )
        middle = box.x + box.width / 2
        body.append(text(middle, box.y + 22, box.title, "question middle"))
        body += [
            text(middle, box.y + 42 + 18 * i, line, "soft middle")
            for i, line in enumerate(box.lines)
        ]
    return svg(1040, 516, title, body)


def _head(path: str) -> str:
    """The arrow's head, where the path ends."""
    x = y = 0.0
    last = ("", 0.0)
    for part in path.split(" "):
        if part[0] in "MHV":
            value = float(part[1:])
            if part[0] == "V":
                last, y = ("down" if value > y else "up", value), value
            else:
                last, x = ("right" if value > x else "left", value), value
        else:
            y = float(part)
    tips = {
        "down": f"{x - 5} {y - 4} {x + 5} {y - 4} {x} {y + 4}",
        "up": f"{x - 5} {y + 4} {x + 5} {y + 4} {x} {y - 4}",
        "right": f"{x - 4} {y - 5} {x - 4} {y + 5} {x + 4} {y}",
        "left": f"{x + 4} {y - 5} {x + 4} {y + 5} {x - 4} {y}",
    }
    return f'<polygon class="arrow" points="{tips[last[0]]}"/>'
