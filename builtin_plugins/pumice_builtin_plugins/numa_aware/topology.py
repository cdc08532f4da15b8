"""The CPUs of a node by NUMA node and core, read from a Numatopology object."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from pumice import Raw

_RANGE = re.compile(r"(\d{1,5})(?:-(\d{1,5}))?", re.ASCII)
_MAX_CPUS = 65536


@dataclass(slots=True, frozen=True, eq=False)
class CpuTopology:
    """The CPUs of each NUMA node and core. A set of CPUs is an integer with one bit per CPU."""

    nodes: tuple[int, ...]
    """The CPUs of every NUMA node, in order of the NUMA nodes' numbers."""
    numbers: tuple[int, ...]
    """The NUMA nodes' numbers."""
    cores: tuple[int, ...]
    """The CPUs of every core, in order of their first CPU."""


@dataclass(slots=True, frozen=True, eq=False)
class NumaTopology:
    """What the kubelet of one node reports of its CPUs."""

    policy: str
    """The topology manager's policy; ``none`` where it is not reported."""
    static: bool
    """Whether the CPU manager assigns exclusive CPUs."""
    cpu_topology: CpuTopology
    free: int | None
    """The CPUs that are assigned to no container; None where they are not reported."""


class CpuTopologyPool:
    """One object for all nodes with the same CPUs, so that results can be shared."""

    def __init__(self) -> None:
        self._known: dict[tuple[tuple[int, ...], ...], CpuTopology] = {}

    def topology(self, nodes: Mapping[int, int], cores: Iterable[int]) -> CpuTopology:
        numbers = tuple(sorted(nodes))
        by_first_cpu = tuple(sorted(cores, key=lambda cpus: cpus & -cpus))
        parts = (tuple(nodes[number] for number in numbers), numbers, by_first_cpu)
        topology = self._known.get(parts)
        if topology is None:
            topology = self._known[parts] = CpuTopology(*parts)
        return topology


def read_topology(raw: Raw, pool: CpuTopologyPool) -> NumaTopology:
    """The topology in a Numatopology object.

    :raises ValueError: it is malformed; the message names the field.
    """
    spec = _table(raw.get("spec"), "spec")
    policies = _table(spec.get("policies"), "spec.policies")
    resources = _table(spec.get("numares"), "spec.numares")
    nodes: dict[int, int] = {}
    cores: dict[tuple[int, int], int] = {}
    all_cpus = 0
    for key, value in _table(spec.get("cpuDetail"), "spec.cpuDetail").items():
        at = f"spec.cpuDetail.{key}"
        cpu, place = 1 << _number(key, "spec.cpuDetail"), _table(value, at)
        numa, socket, core = (
            _number(place.get(part, 0), f"{at}.{part}") for part in ("numa", "socket", "core")
        )
        all_cpus |= cpu
        nodes[numa] = nodes.get(numa, 0) | cpu
        cores[socket, core] = cores.get((socket, core), 0) | cpu
    free = None
    if "cpu" in resources:
        allocatable = _table(resources["cpu"], "spec.numares.cpu").get("allocatable", "")
        free = cpu_set(allocatable, "spec.numares.cpu.allocatable") & all_cpus
    return NumaTopology(
        policy=str(policies.get("TopologyManagerPolicy") or "none"),
        static=policies.get("CPUManagerPolicy") == "static",
        cpu_topology=pool.topology(nodes, cores.values()),
        free=free,
    )


def cpu_set(text: Any, at: str) -> int:
    """CPUs from Linux' list format: ``0-3,8``.

    :raises ValueError: it is no such list.
    """
    cpus = 0
    for part in str(text).split(","):
        match = _RANGE.fullmatch(part.strip())
        if match is None:
            if not str(text).strip():
                return 0
            raise ValueError(f"{at}: {text!r} is no list of CPUs like '0-3,8'")
        first, last = int(match[1]), int(match[2] or match[1])
        if last < first:
            raise ValueError(f"{at}: {part.strip()!r} ends before it begins")
        cpus |= (1 << last + 1) - (1 << first)
    return cpus


def _table(value: Any, at: str) -> Mapping[str, Any]:
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise ValueError(f"{at}: {value!r} is no table")
    return value


def _number(value: Any, at: str) -> int:
    try:
        number = int(value)
    except (TypeError, ValueError):
        number = -1
    if not 0 <= number < _MAX_CPUS:
        raise ValueError(f"{at}: {value!r} is no number of a CPU, core, socket or NUMA node")
    return number
