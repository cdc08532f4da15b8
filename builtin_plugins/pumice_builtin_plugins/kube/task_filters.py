"""Which of the kube filters concern a class of tasks."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


class TaskFilters:
    """What the filters need of one class of tasks, read once."""

    __slots__ = (
        "affinity",
        "claims",
        "node_local",
        "ports",
        "spread",
        "static",
        "static_view",
        "volumes",
    )

    def __init__(
        self,
        static: np.ndarray,
        *,
        ports: Sequence[tuple[str, str, int]] = (),
        affinity: bool = False,
        spread: bool = False,
        volumes: bool = False,
        claims: bool = False,
    ) -> None:
        self.static = static
        """By row: the status that does not change during the cycle."""
        self.static_view = static.data
        self.ports = ports
        self.affinity = affinity
        self.spread = spread
        self.volumes = volumes
        self.claims = claims
        self.node_local = not (affinity or spread or volumes or claims)
        """Whether the verdict on a node depends on that node alone."""
