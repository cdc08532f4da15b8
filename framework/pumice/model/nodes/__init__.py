"""The nodes of a session: columns, tasks on nodes, shared GPUs, views, and a journal."""

from __future__ import annotations

from pumice.model.nodes.gpus import DeviceCounts, NodeTask
from pumice.model.nodes.table import NodeTable
from pumice.model.nodes.views import NodeHandle, NodeView

__all__ = ["DeviceCounts", "NodeHandle", "NodeTable", "NodeTask", "NodeView"]
