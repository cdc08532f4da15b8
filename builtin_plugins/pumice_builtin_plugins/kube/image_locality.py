"""Image locality: nodes that already have the images of a pod score higher."""

from __future__ import annotations

import numpy as np

from pumice import NodeTable, Pod

_MEBIBYTE = 1024 * 1024
_MIN_SIZE = 23 * _MEBIBYTE
_MAX_SIZE_PER_CONTAINER = 1000 * _MEBIBYTE


class Images:
    """The images on nodes. As in kube-scheduler, an image counts more the more nodes have it."""

    def __init__(self, table: NodeTable) -> None:
        self._count = len(table)
        self._sizes: dict[str, dict[int, int]] = {}
        has_images = table.fact_column("has images", lambda node: bool(node.images), lasting=True)
        for row in np.flatnonzero(has_images).tolist():
            for image in table.facts[row].images:
                for name in image.get("names") or ():
                    self._sizes.setdefault(name, {})[row] = image.get("sizeBytes") or 0

    def wanted(self, pod: Pod) -> tuple[int, tuple[str, ...]]:
        """What the score of a pod depends on: its number of containers, and their known images."""
        if not self._sizes:
            return 0, ()
        containers = (*pod.init_containers, *pod.containers)
        names = (tagged(container.image) for container in containers)
        return len(containers), tuple(sorted(name for name in names if name in self._sizes))

    def scores(self, wanted: tuple[int, tuple[str, ...]]) -> np.ndarray | None:
        """0 to 100 for every node; None: no node has any of the images."""
        containers, names = wanted
        if not names:
            return None
        total = np.zeros(self._count, np.int64)
        for name in names:
            sizes = self._sizes[name]
            share = len(sizes) / self._count
            for row, size in sizes.items():
                total[row] += int(size * share)
        largest = _MAX_SIZE_PER_CONTAINER * containers
        scores: np.ndarray = (
            100 * (np.clip(total, _MIN_SIZE, largest) - _MIN_SIZE) // (largest - _MIN_SIZE)
        )
        return scores


def tagged(image: str) -> str:
    """The name with its tag, ``latest`` where none is given."""
    return image if image.rfind(":") > image.rfind("/") else f"{image}:latest"
