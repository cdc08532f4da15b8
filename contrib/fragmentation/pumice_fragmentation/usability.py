"""Keep leftover GPUs usable: place a task where what it leaves is worth most."""

import numpy as np
from pydantic import Field, field_validator

from pumice import NodeView, Plugin, Task, hookimpl

_WHOLE = 1000  # the node table counts scalars in thousandths


class Fragmentation(Plugin):
    """Prefer the node whose leftover GPUs stay most usable.

    Filled with tasks of one size, a node can use ``free - free mod size`` of its free GPUs. Their
    usability is that as a fraction of the free GPUs, averaged over the usual sizes. The score is
    how much the task raises the usability, scaled so that 50 is no change.
    """

    class Options(Plugin.Options):
        resource: str = Field(
            "nvidia.com/gpu", alias="fragmentation.resource", description="The resource to pack."
        )
        sizes: tuple[int, ...] = Field(
            (1, 2, 4, 8),
            alias="fragmentation.sizes",
            description="The numbers of GPUs that tasks usually request.",
        )
        weight: float = Field(
            1.0, ge=0, alias="fragmentation.weight", description="Weight of the whole score."
        )

        @field_validator("sizes")
        @classmethod
        def _positive(cls, value: tuple[int, ...]) -> tuple[int, ...]:
            if not value or min(value) < 1:
                raise ValueError("should be one or more whole numbers from 1")
            return value

    @hookimpl
    def on_session_open(self) -> None:
        self._gpu = self.session.nodes.dimensions.position.get(self.options.resource)
        self._sizes = np.array(self.options.sizes, np.int64)

    def _usable(self, idle: np.ndarray) -> np.ndarray:
        """Per node: the fraction of its free GPUs that tasks can use; 1 where none is free."""
        free = np.maximum(idle, 0) / _WHOLE
        whole = np.floor(free)
        used = (whole[:, None] - whole[:, None] % self._sizes).mean(axis=1)
        usable = np.ones(len(free))
        np.divide(used, free, out=usable, where=free > 0)
        return usable

    @hookimpl(scope="row")
    def batch_node_order(self, task: Task, nodes: NodeView) -> np.ndarray | None:
        requested = 0 if self._gpu is None else int(task.vector[self._gpu])
        if not requested:
            return None
        idle = nodes.idle[:, self._gpu]
        gain = self._usable(idle - requested) - self._usable(idle)
        scores: np.ndarray = self.options.weight * 50.0 * (1.0 + gain)
        return scores
