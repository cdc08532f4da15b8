"""Node and pod lists in the columns of the openb trace, and the order in which pods arrive."""

from __future__ import annotations

import csv
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, TypeVar

import numpy as np

from pumice import PumiceError
from pumice_fragmentation.devices import WHOLE
from pumice_fragmentation.fragments import PodShape

NODE_COLUMNS = ("sn", "cpu_milli", "memory_mib", "gpu", "model")
POD_COLUMNS = ("name", "cpu_milli", "memory_mib", "num_gpu", "gpu_milli")

_T = TypeVar("_T")


class TraceNode(NamedTuple):
    """A node of the list."""

    name: str
    cpu: int
    """Milli-CPUs."""
    memory: int
    """MiB."""
    gpus: int
    model: str
    """The model of its GPUs."""


class TracePod(NamedTuple):
    """A pod of the list."""

    name: str
    memory: int
    """MiB."""
    shape: PodShape
    """Its CPU and GPUs."""

    @property
    def gpu(self) -> int:
        """Thousandths of GPUs that it requests."""
        return self.shape.devices * self.shape.milli


def read_nodes(path: Path) -> list[TraceNode]:
    """The nodes of a CSV file, by name.

    :raises PumiceError: the file cannot be read, or a row is malformed; it names the line.
    """
    return sorted(_rows(path, NODE_COLUMNS, _node))


def read_pods(path: Path) -> list[TracePod]:
    """The pods of a CSV file, by name.

    :raises PumiceError: as :func:`read_nodes`.
    """
    return sorted(_rows(path, POD_COLUMNS, _pod))


def _rows(path: Path, columns: Sequence[str], read: Callable[[Mapping[str, str]], _T]) -> list[_T]:
    try:
        with path.open(newline="", encoding="utf-8") as file:
            table = csv.DictReader(file)
            missing = [name for name in columns if name not in (table.fieldnames or ())]
            if missing:
                raise PumiceError(
                    f"{path}: line 1: no column {', '.join(map(repr, missing))}",
                    hint=f"the columns are {', '.join(columns)}",
                )
            rows = []
            for row in table:
                try:
                    rows.append(read(row))
                except (ValueError, TypeError) as error:
                    raise PumiceError(f"{path}: line {table.line_num}: {error}") from None
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise PumiceError(f"{path}: cannot be read: {error}") from None
    if not rows:
        raise PumiceError(f"{path}: no rows", hint="a header and one line for each are expected")
    return rows


def _node(row: Mapping[str, str]) -> TraceNode:
    cpu, memory, gpus = (_number(row, name) for name in ("cpu_milli", "memory_mib", "gpu"))
    return TraceNode(_name(row, "sn"), cpu, memory, gpus, row["model"] or "")


def _pod(row: Mapping[str, str]) -> TracePod:
    cpu, memory, devices, milli = (_number(row, name) for name in POD_COLUMNS[1:])
    if not devices:
        return TracePod(_name(row, "name"), memory, PodShape(cpu, 0, 0, ""))
    if not 0 < milli <= WHOLE:
        raise ValueError(f"gpu_milli is {milli}, should be from 1 to {WHOLE}")
    if devices > 1 and milli < WHOLE:
        raise ValueError(f"gpu_milli is {milli} for {devices} GPUs, only one GPU can be shared")
    models = row.get("gpu_spec") or ""
    return TracePod(_name(row, "name"), memory, PodShape(cpu, milli, devices, models))


def _name(row: Mapping[str, str], column: str) -> str:
    if not row[column]:
        raise ValueError(f"{column} is empty")
    return row[column]


def _number(row: Mapping[str, str], column: str) -> int:
    text = row[column]
    if text is None:
        raise ValueError(f"{column} is missing: the line is too short")
    try:
        number = float(text)
    except ValueError:
        raise ValueError(f"{column} is {text!r}, not a number") from None
    if not (0 <= number < 1 << 53 and number == int(number)):
        raise ValueError(f"{column} is {text!r}, not a whole number from 0")
    return int(number)


def arrivals(
    pods: Sequence[TracePod], target: float, chance: np.random.Generator
) -> list[TracePod]:
    """The pods in random order, repeated or thinned out until they request ``target`` of GPUs.

    What is repeated comes after all others, drawn with replacement.
    """
    order = [pods[number] for number in chance.permutation(len(pods)).tolist()]
    requested = sum(pod.gpu for pod in order)
    if not requested:
        return order
    while requested > target:
        requested -= order.pop(int(chance.integers(len(order)))).gpu
    if len(order) < len(pods):
        return order
    while True:
        pod = pods[int(chance.integers(len(pods)))]
        if requested + pod.shape.milli > target:
            return order
        order.append(pod)
        requested += pod.gpu
