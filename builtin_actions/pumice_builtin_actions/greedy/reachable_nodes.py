"""Nodes on which evictions could free enough for a task."""

from __future__ import annotations

import numpy as np

from pumice import FEW_ROWS, RequestFit, RowCursor, Session
from pumice_builtin_actions.greedy.victims import Evictable


class _CachedMask:
    """The reachable nodes of one request, and how far into the node journal they are true."""

    __slots__ = ("cursor", "fit", "mask")

    def __init__(self, session: Session, request: np.ndarray) -> None:
        self.fit = RequestFit(request)
        self.cursor = RowCursor(session.nodes)
        self.mask = np.zeros(len(session.nodes), bool)


class ReachableNodes:
    """The nodes that would fit a request if every evictable task were gone.

    Plugins can only protect tasks, never add victims: on any other node all evictions together
    would not be enough. Cached by request.
    """

    def __init__(self, session: Session) -> None:
        self._session = session
        self._nodes = session.nodes
        self._looks_ahead = session.uses("victims")
        self._evictable: Evictable | None = None
        self._spared: Evictable | None = None
        self._cache: dict[bytes, _CachedMask] = {}

    def mask(
        self, request: np.ndarray, evictable: Evictable, spared: Evictable | None = None
    ) -> np.ndarray:
        """A mask over all nodes as they are now. Do not write to it.

        All ``evictable`` tasks may go except the ``spared`` ones; both must be up to date.
        """
        if not self._looks_ahead:
            return np.ones(len(self._nodes), bool)
        if evictable is not self._evictable or spared is not self._spared:
            self._evictable, self._spared, self._cache = evictable, spared, {}
        key = request.tobytes()
        cached = self._cache.get(key)
        if cached is None:
            cached = self._cache[key] = _CachedMask(self._session, request)
        changed = cached.cursor.changed()
        if changed is None or len(changed) > FEW_ROWS:
            cached.mask = cached.fit.mask(self._attainable(slice(None)))
        else:
            for row in changed:
                cached.mask[row] = cached.fit.fits(self._attainable(row).tolist())
        return cached.mask

    def _attainable(self, where: int | slice) -> np.ndarray:
        """What would be free once the victims are gone."""
        assert self._evictable is not None
        free: np.ndarray = self._nodes.future_idle[where] + self._evictable.total[where]
        return free if self._spared is None else free - self._spared.total[where]
