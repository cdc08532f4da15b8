"""On which nodes evictions could ever make enough room."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pumice import Session
from pumice_builtin_actions.greedy.victims import Evictable, Needed, covers

_FEW = 4
"""Up to so many changed nodes are looked at one by one: cheaper than vectors."""


class _Known(NamedTuple):
    version: int
    mask: np.ndarray


class ReachableNodes:
    """The nodes that would have room for a request if all who may be evicted were gone.

    Plugins only ever allow fewer: elsewhere all would be too little. Remembered by request, and
    renewed from the journal of nodes.
    """

    def __init__(self, session: Session) -> None:
        self._nodes = session.nodes
        self._looks_ahead = session.uses("victims")
        self._evictable: Evictable | None = None
        self._spared: Evictable | None = None
        self._known: dict[bytes, _Known] = {}

    def mask(
        self, request: np.ndarray, evictable: Evictable, spared: Evictable | None = None
    ) -> np.ndarray:
        """Over all nodes, as they are now. Do not write to it.

        ``prey`` may be evicted but for those that are ``spared``; both must be up to date.
        """
        nodes, key = self._nodes, request.tobytes()
        if not self._looks_ahead:
            return np.ones(len(nodes), bool)
        if evictable is not self._evictable or spared is not self._spared:
            self._evictable, self._spared, self._known = evictable, spared, {}
        known = self._known.get(key)
        if known is not None and known.version == nodes.version:
            return known.mask
        changed = None if known is None else nodes.changed_since(known.version)
        if known is None or changed is None or len(changed) > _FEW:
            mask = covers(self._room(slice(None)), request)
        else:
            mask = known.mask
            needed = Needed(request)
            for row in changed:
                mask[row] = needed.fits(self._room(row))
        self._known[key] = _Known(nodes.version, mask)
        return mask

    def _room(self, where: int | slice) -> np.ndarray:
        assert self._evictable is not None
        room: np.ndarray = self._nodes.future_idle[where] + self._evictable.total[where]
        return room if self._spared is None else room - self._spared.total[where]
