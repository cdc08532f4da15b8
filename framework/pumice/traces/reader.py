"""Reads a trace: finds the reader of its format, and reports rows that are malformed."""

from __future__ import annotations

import csv
import gzip
import io
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import ClassVar

from pumice._nearest import read_hint
from pumice.discovery import Catalog
from pumice.traces.trace import MOST_PODS_OF_JOB, Trace, TraceError, TraceJob, ordered

_HEAD = 4096
_MOST_PROBLEMS = 1000
"""So many problems are remembered; the others are only counted."""


class ReadProblems:
    """Malformed rows: skipped and reported, or fatal."""

    def __init__(self, where: str, *, skip: bool = True) -> None:
        self.where = where
        """The file."""
        self.skip = skip
        """Whether malformed rows are skipped."""
        self.messages: list[str] = []
        """What was wrong, with the line."""
        self.count = 0
        """How many rows were skipped."""

    def add(self, line: int, message: str) -> None:
        """Report a row that is left out.

        :raises TraceError: malformed rows are fatal.
        """
        text = f"{self.where}:{line}: {message}"
        if not self.skip:
            raise TraceError(text, hint="correct the line, or skip such lines: --bad-rows skip")
        self.count += 1
        if len(self.messages) < _MOST_PROBLEMS:
            self.messages.append(text)


class TraceReader:
    """Base of the readers of trace formats; an entry point in the group ``pumice.traces``."""

    summary: ClassVar[str] = ""
    """What the format is, in a line."""

    @classmethod
    def recognises(cls, name: str, head: str) -> bool:
        """Whether a file of this name that begins with ``head`` has the format."""
        return False

    def read(self, text: str, problems: ReadProblems, options: Mapping[str, str]) -> Trace:
        """The trace in a text; malformed rows go to ``problems``.

        ``options`` are what a user says about this format with ``--trace-option``.
        """
        raise NotImplementedError


def read_trace(
    source: str,
    *,
    format_name: str = "",
    skip_bad_rows: bool = True,
    options: Mapping[str, str] | None = None,
    catalog: Catalog | None = None,
) -> Trace:
    """Read a trace from a file, a folder of manifests, or ``synthetic``.

    :raises TraceError: it cannot be read, or its format is not known.
    """
    catalog = Catalog() if catalog is None else catalog
    if not format_name and source in catalog.names("trace") and not Path(source).exists():
        format_name = source
    if format_name:
        catalog.load("trace", format_name)  # an unknown name is a mistake before a missing file
    text = "" if source == format_name else read_text(source)
    name = format_name or _recognised(source, text, catalog)
    reader: TraceReader = catalog.load("trace", name).cls()
    problems = ReadProblems(source, skip=skip_bad_rows)
    trace = reader.read(text, problems, dict(options or {}))
    trace.jobs = _usable(trace.jobs, source, trace.problems, skip=skip_bad_rows)
    trace.jobs = ordered(trace.jobs)
    trace.problems += problems.messages
    hidden = problems.count - len(problems.messages)
    if hidden:
        trace.problems.append(f"{source}: {hidden} more malformed rows were skipped")
    if not trace.jobs:
        raise TraceError(
            f"{source}: there is no job in it (format {name})",
            hint=trace.problems[0] if trace.problems else f"see the format {name} in the docs",
        )
    return trace


def _usable(
    jobs: list[TraceJob], source: str, problems: list[str], *, skip: bool
) -> list[TraceJob]:
    """The jobs that can be replayed; the others are problems, or fatal."""
    usable: dict[str, TraceJob] = {}
    for job in jobs:
        problem = ""
        if job.name in usable:
            problem = f"{source}: there is another job {job.name!r}"
        elif job.pods > MOST_PODS_OF_JOB:
            most = f"the most is {MOST_PODS_OF_JOB}"
            problem = f"{source}: job {job.name!r} has {job.pods} pods, {most}"
        if not problem:
            usable[job.name] = job
        elif skip:
            problems.append(problem)
        else:
            raise TraceError(problem, hint="correct the line, or skip such lines: --bad-rows skip")
    return list(usable.values())


def read_text(source: str) -> str:
    """The text of a file, unpacked if it is compressed.

    :raises TraceError: it cannot be read.
    """
    path = Path(source)
    try:
        data = path.read_bytes()
        if data[:2] == b"\x1f\x8b":
            data = gzip.decompress(data)
        return data.decode("utf-8-sig")
    except (OSError, EOFError) as error:
        text = getattr(error, "strerror", None) or error
        hint = read_hint(source, error)
        raise TraceError(f"{source}: cannot be read: {text}", hint=hint) from None
    except UnicodeDecodeError:
        raise TraceError(f"{source}: is no text in UTF-8") from None


def _recognised(source: str, text: str, catalog: Catalog) -> str:
    head = text[:_HEAD]
    names = []
    for entry in catalog.listing("trace"):
        if entry.loaded is not None and entry.loaded.cls.recognises(source, head):
            names.append(entry.installed.name)
    if len(names) == 1:
        return names[0]
    known = ", ".join(catalog.names("trace"))
    if names:
        raise TraceError(
            f"{source}: may be {' or '.join(names)}", hint="name the format: --format NAME"
        )
    if not head.strip():
        raise TraceError(f"{source}: is empty", hint="name a file with jobs")
    first = head.splitlines()[0][:80]
    raise TraceError(
        f"{source}: its format is not recognised; it begins with {first!r}",
        hint=f"name the format: --format NAME, one of {known}",
    )


def csv_rows(
    text: str, columns: Sequence[str], problems: ReadProblems
) -> Iterator[tuple[int, dict[str, str]]]:
    """The rows of a CSV text with their lines; a row of another length is a problem.

    :raises TraceError: a column is missing.
    """
    table = csv.reader(io.StringIO(text))
    try:
        header = [name.strip() for name in next(table, [])]
        missing = [name for name in columns if name not in header]
        if missing:
            raise TraceError(
                f"{problems.where}:1: no column {', '.join(map(repr, missing))}",
                hint=f"the columns are {', '.join(columns)}; the file has {', '.join(header)}",
            )
        for row in table:
            if not row:
                continue
            if len(row) != len(header):
                problems.add(table.line_num, f"{len(row)} fields, not {len(header)}")
                continue
            yield table.line_num, dict(zip(header, row, strict=True))
    except csv.Error as error:
        raise TraceError(f"{problems.where}:{table.line_num}: {error}") from None


def number(
    row: Mapping[str, str], column: str, default: float | None = None, *, least: float = 0
) -> float:
    """A number in a row.

    :raises ValueError: it is none, or less than ``least``; the text names the column.
    """
    text = (row.get(column) or "").strip()
    if not text:
        if default is None:
            raise ValueError(f"{column} is empty")
        return default
    try:
        value = float(text)
    except ValueError:
        raise ValueError(f"{column} is {text!r}, not a number") from None
    if not least <= value < float("inf"):
        raise ValueError(f"{column} is {text}, should be a number from {least:g}")
    return value


def whole(row: Mapping[str, str], column: str, default: float | None = None) -> int:
    """A whole number in a row.

    :raises ValueError: as :func:`number`.
    """
    value = number(row, column, default)
    if value != int(value):
        raise ValueError(f"{column} is {row[column]}, not a whole number")
    return int(value)
