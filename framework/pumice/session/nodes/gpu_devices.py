"""Tasks that take shares of GPUs: on which nodes they fit, and which devices they take there."""

from __future__ import annotations

from itertools import count
from math import isnan
from typing import TYPE_CHECKING

import numpy as np

from pumice.errors import InvariantError
from pumice.model.cursors import RowCursor
from pumice.model.fitting import RequestFit
from pumice.model.gpu.request import GPU, GpuRequest
from pumice.model.gpu.shares import WHOLE_GPU, gpu_memory
from pumice.model.nodes import NodeTable
from pumice.model.task import Task

if TYPE_CHECKING:
    from pumice.session.session import Session


def fits_idle(nodes: NodeTable, task: Task, rows: np.ndarray) -> np.ndarray:
    """Mask: the task fits into the idle resources and devices of these rows; not cached."""
    if task.best_effort:
        return np.ones(len(rows), bool)
    fits = RequestFit(task.vector, task.compared).mask(nodes.idle[rows])
    return _with_devices(fits, nodes, task, rows, nodes.idle)


def fits_rows(session: Session, task: Task, rows: np.ndarray | None, *, idle: bool) -> np.ndarray:
    """Mask: the task fits into the resources and devices of these rows, from the cache.

    ``idle``: into what is idle, the same as :func:`fits_idle`; else into future idle.
    """
    nodes, queries = session.nodes, session.queries
    if task.best_effort:
        return np.ones(len(nodes) if rows is None else len(rows), bool)
    fits = queries.fits_idle(task, rows) if idle else queries.fits_future(task, rows)
    if not task.gpu.shared:
        return fits
    if queries.device_fits is not None:
        enough = queries.device_fits.mask(task, idle=idle)
        usable: np.ndarray = fits & (enough if rows is None else enough[rows])
        return usable
    every = nodes.all_rows if rows is None else rows
    return _with_devices(fits, nodes, task, every, nodes.idle if idle else nodes.future_idle)


class DeviceFits:
    """Which nodes have the devices for a share of GPUs, refreshed for changed rows only."""

    def __init__(self, nodes: NodeTable, *, verify: bool = False) -> None:
        self._nodes = nodes
        self._verify = verify
        self._masks: dict[tuple[GpuRequest, bool], tuple[RowCursor, np.ndarray]] = {}

    def mask(self, task: Task, *, idle: bool) -> np.ndarray:
        """Mask over all nodes; do not write to it. CPU and memory are not looked at."""
        key = (task.gpu, idle)
        found = self._masks.get(key)
        if found is None:
            found = self._masks[key] = (RowCursor(self._nodes), np.zeros(len(self._nodes), bool))
        cursor, mask = found
        rows = cursor.changed()
        if rows is None:
            mask[:] = self._asked(task, self._nodes.all_rows, idle)
        elif rows:
            changed = np.array(rows)
            mask[changed] = self._asked(task, changed, idle)
        if self._verify:
            self._compare(task, mask, idle)
        return mask

    def _asked(self, task: Task, rows: np.ndarray, idle: bool) -> np.ndarray:
        nodes = self._nodes
        column = nodes.idle if idle else nodes.future_idle
        return _with_devices(np.ones(len(rows), bool), nodes, task, rows, column)

    def _compare(self, task: Task, mask: np.ndarray, idle: bool) -> None:
        wrong = np.flatnonzero(mask != self._asked(task, self._nodes.all_rows, idle))
        if len(wrong):
            raise InvariantError(
                f"whether task {task.key} finds devices on node "
                f"{self._nodes.names[int(wrong[0])]} is cached wrongly",
                hint="GPU groups of a node were changed without a touch of its row",
            )


def _with_devices(
    fits: np.ndarray, nodes: NodeTable, task: Task, rows: np.ndarray, column: np.ndarray
) -> np.ndarray:
    """The mask without the rows that have too few devices for the task's shares."""
    if not task.gpu.shared:
        return fits
    fits = fits.copy()
    _drop_rows_without_devices(fits, nodes, task, rows, column)
    if task.gpu.kind == "memory":
        fits &= _valid_portion(nodes, task, rows)
    return fits


def _valid_portion(nodes: NodeTable, task: Task, rows: np.ndarray) -> np.ndarray:
    """Mask: the GPU memory asked for is at most one GPU of the node, or a multiple of it."""
    sizes = nodes.fact_column(
        "gpu memory", lambda node: gpu_memory(node)[0], np.int64, lasting=True
    )[rows]
    percent = -(-100 * task.gpu.memory // np.maximum(sizes, 1))
    valid: np.ndarray = (percent <= 100) | (percent % 100 == 0)
    return valid


def _drop_rows_without_devices(
    fits: np.ndarray, nodes: NodeTable, task: Task, rows: np.ndarray, column: np.ndarray
) -> None:
    """Clear the rows with too few whole GPUs and shared GPUs that the task's share fits into."""
    gpu = nodes.dimensions.position.get(GPU)
    whole = np.zeros(len(rows), np.int64) if gpu is None else column[rows, gpu] // 1000
    for position in np.flatnonzero(fits & (whole < task.gpu.devices)).tolist():
        row, devices = int(rows[position]), int(whole[position])
        if row in nodes.sharing:
            devices += len(nodes.shares(row).fitting_groups(task.gpu))
        fits[position] = devices >= task.gpu.devices


def ranked_devices(session: Session, task: Task, row: int) -> list[str]:
    """The devices of a node of which the task could take a share, the best first.

    A shared GPU is named by its group; each whole GPU that is idle or being released is one
    ``WHOLE_GPU``. The score is ``gpu_order``; a device that a plugin scores NaN is left out.
    """
    nodes, gpu_order = session.nodes, session.ask.gpu_order
    devices = list(nodes.shares(row).fitting_groups(task.gpu))
    gpu = nodes.dimensions.position.get(GPU)
    if gpu is not None:
        idle, future = int(nodes.idle[row, gpu]), int(nodes.future_idle[row, gpu])
        devices += [WHOLE_GPU] * (int(idle / 1000) + int((future - idle) / 1000))
    view = nodes.view(np.array([row]))
    scores = {device: gpu_order(task, view, row, device) for device in dict.fromkeys(devices)}
    usable = [device for device in devices if not isnan(scores[device])]
    return sorted(usable, key=lambda device: -scores[device])


def choose_groups(session: Session, task: Task, row: int) -> tuple[str, ...] | None:
    """The GPU groups of a node that the task joins, the best devices; None: too few devices.

    A whole GPU becomes a new group.
    """
    nodes = session.nodes
    shares, groups = nodes.shares(row), list[str]()
    for device in ranked_devices(session, task, row)[: task.gpu.devices]:
        if device == WHOLE_GPU:
            device = _new_group(nodes.names[row], {*shares.used, *shares.marked, *groups})
        groups.append(device)
    return tuple(groups) if len(groups) == task.gpu.devices else None


def groups_fit_idle(session: Session, task: Task, row: int, groups: tuple[str, ...]) -> bool:
    """Whether the task can join these groups of a node without waiting for a release."""
    if not fits_rows(session, task, np.array([row]), idle=True)[0]:
        return False
    shares = session.nodes.shares(row)
    return all(shares.fits_group_now(task.gpu, group) for group in groups if group in shares.used)


def _new_group(node: str, taken: set[str]) -> str:
    """A name for the tasks that will share a GPU that is whole until now."""
    return next(name for i in count(1) if (name := f"{node}/shared-{i}") not in taken)
