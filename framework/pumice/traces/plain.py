"""Our own formats: one job for each line of a JSONL file, or of a CSV file with a header."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from pumice.model.quantity import amount
from pumice.traces.reader import ReadProblems, TraceReader, csv_rows
from pumice.traces.trace import WHOLE_GPU_MILLI, Trace, TraceJob

FIELDS = (
    "name",
    "submit",
    "duration",
    "queue",
    "pods",
    "min_pods",
    "cpu",
    "memory",
    "gpus",
    "models",
    "priority",
)
"""What a job may state; ``name``, ``submit`` and ``duration`` it must."""
_NEEDED = FIELDS[:3]


class PlainReader(TraceReader):
    """Pumice's own format: a line of JSON for each job, or CSV with the same names as columns."""

    @classmethod
    def recognises(cls, name: str, head: str) -> bool:
        first = head.lstrip().partition("\n")[0].strip()
        if first.startswith("{"):
            try:
                return all(key in json.loads(first) for key in _NEEDED)
            except ValueError:
                return False
        return all(key in first.split(",") for key in _NEEDED)

    def read(self, text: str, problems: ReadProblems, options: Mapping[str, str]) -> Trace:
        trace = Trace()
        seen: set[str] = set()
        rows: Iterable[tuple[int, Mapping[str, Any]]] = (
            _json_rows(text, problems)
            if text.lstrip()[:1] == "{"
            else csv_rows(text, _NEEDED, problems)
        )
        for line, row in rows:
            try:
                job = read_job(row)
                if job.name in seen:
                    raise ValueError(f"name: there is another job {job.name!r}")
            except (ValueError, TypeError) as error:
                problems.add(line, str(error))
            else:
                seen.add(job.name)
                trace.jobs.append(job)
        return trace


def _json_rows(text: str, problems: ReadProblems) -> Iterator[tuple[int, dict[str, Any]]]:
    for line, content in enumerate(text.splitlines(), 1):
        if not content.strip():
            continue
        try:
            row = json.loads(content)
            if not isinstance(row, dict):
                raise ValueError("is no JSON object")
        except ValueError as error:
            problems.add(line, f"not JSON: {error}")
        else:
            yield line, row


def read_job(row: Mapping[str, Any]) -> TraceJob:
    """A job from its fields.

    :raises ValueError: a field is unknown, missing or wrong; the text names it.
    """
    given = {key: value for key, value in row.items() if value not in (None, "")}
    unknown = [key for key in given if key not in FIELDS]
    if unknown:
        raise ValueError(f"unknown field {unknown[0]!r}; known are {', '.join(FIELDS)}")
    missing = [key for key in _NEEDED if key not in given]
    if missing:
        raise ValueError(f"{missing[0]} is missing")
    pods = _whole(given, "pods", 1, least=1)
    min_pods = _whole(given, "min_pods", 0)
    if min_pods > pods:
        raise ValueError(f"min_pods is {min_pods}, more than {pods} pods")
    models = given.get("models", ())
    if isinstance(models, str):
        models = models.split("|")
    duration = _number(given, "duration", 0)
    if not duration:
        raise ValueError("duration is 0, should be more")
    gpus = round(_number(given, "gpus", 0) * WHOLE_GPU_MILLI)
    if gpus > WHOLE_GPU_MILLI and gpus % WHOLE_GPU_MILLI:
        raise ValueError("gpus: only a part of one GPU can be shared")
    return TraceJob(
        str(given["name"]),
        _number(given, "submit", 0),
        duration,
        queue=str(given.get("queue", "default")),
        pods=pods,
        min_pods=min_pods,
        cpu=_quantity(given, "cpu", 1),
        memory=_quantity(given, "memory", 0),
        gpus=gpus,
        models=tuple(map(str, models)),
        priority=_whole(given, "priority", 0, least=-(1 << 31)),
    )


def _number(row: Mapping[str, Any], key: str, default: float, *, least: float = 0) -> float:
    value = row.get(key, default)
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise ValueError(f"{key} is {value!r}, not a number") from None
    if not least <= number < float("inf"):
        raise ValueError(f"{key} is {value}, should be a number from {least:g}")
    return number


def _whole(row: Mapping[str, Any], key: str, default: int, *, least: int = 0) -> int:
    number = _number(row, key, default, least=least)
    if number != int(number):
        raise ValueError(f"{key} is {row[key]}, not a whole number")
    return int(number)


def _quantity(row: Mapping[str, Any], key: str, default: int) -> float:
    return float(amount(key, row.get(key, default)))
