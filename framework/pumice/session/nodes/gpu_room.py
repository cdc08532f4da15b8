"""Where a task fits that may take parts of GPUs, and which devices of a node it would take."""

from __future__ import annotations

from math import isnan
from typing import TYPE_CHECKING

import numpy as np

from pumice.model.gpu.request import GPU
from pumice.model.gpu.shares import WHOLE_GPU, gpu_memory
from pumice.model.nodes import NodeTable
from pumice.model.task import Task

if TYPE_CHECKING:
    from pumice.session.session import Session


def fits_idle(nodes: NodeTable, task: Task, rows: np.ndarray) -> np.ndarray:
    """Mask: the rows that have room for the task right now, worked out afresh."""
    if task.best_effort:
        return np.ones(len(rows), bool)
    asked = task.vector > 0
    asked[list(task.compared)] = True
    fits: np.ndarray = (task.vector[asked] <= nodes.idle[rows][:, asked]).all(axis=1)
    return _with_devices(fits, nodes, task, rows, nodes.idle)


def has_room(session: Session, task: Task, rows: np.ndarray | None, *, now: bool) -> np.ndarray:
    """Mask: the rows that have room for the task, now or once promises are kept.

    The same as :func:`fits_idle` with ``now``, from what the session remembers.
    """
    nodes, queries = session.nodes, session.queries
    if task.best_effort:
        return np.ones(len(nodes) if rows is None else len(rows), bool)
    fits = queries.fits_idle(task, rows) if now else queries.fits_future(task, rows)
    every = nodes.all_rows if rows is None else rows
    return _with_devices(fits, nodes, task, every, nodes.idle if now else nodes.future_idle)


def _with_devices(
    fits: np.ndarray, nodes: NodeTable, task: Task, rows: np.ndarray, column: np.ndarray
) -> np.ndarray:
    """The mask without the rows that lack devices to share."""
    if not task.gpu.shared:
        return fits
    fits = fits.copy()
    _drop_rows_without_devices(fits, nodes, task, rows, column)
    if task.gpu.kind == "memory":
        fits &= _valid_portion(nodes, task, rows)
    return fits


def _valid_portion(nodes: NodeTable, task: Task, rows: np.ndarray) -> np.ndarray:
    """Mask: the rows whose GPUs have as much memory as asked, or go into it evenly."""
    sizes = nodes.fact_column(
        "gpu memory", lambda node: gpu_memory(node)[0], np.int64, lasting=True
    )[rows]
    percent = -(-100 * task.gpu.memory // np.maximum(sizes, 1))
    valid: np.ndarray = (percent <= 100) | (percent % 100 == 0)
    return valid


def _drop_rows_without_devices(
    fits: np.ndarray, nodes: NodeTable, task: Task, rows: np.ndarray, column: np.ndarray
) -> None:
    """Keep rows with enough whole GPUs and shared ones that the task's part fits into."""
    gpu = nodes.dimensions.position.get(GPU)
    whole = np.zeros(len(rows), np.int64) if gpu is None else column[rows, gpu] // 1000
    for position in np.flatnonzero(fits & (whole < task.gpu.devices)).tolist():
        row, devices = int(rows[position]), int(whole[position])
        if row in nodes.sharing:
            devices += len(nodes.shares(row).fitting_groups(task.gpu))
        fits[position] = devices >= task.gpu.devices


def ranked_devices(session: Session, task: Task, row: int) -> list[str]:
    """The devices of a node that a part of a GPU could be taken of, the best first.

    Groups that share a device stand for it; each whole GPU that is free or will be is an entry
    of its own. A device of which a plugin says NaN is left out.
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
