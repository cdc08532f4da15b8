"""The differences of one cycle, and the summary of all cycles."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from pumice.decisions import Bind, Eviction

Outcome = Literal["same", "other_node", "waits"]
"""What the shadow had decided for a pod: the same node, another one, or that it waits."""


@dataclass(frozen=True, slots=True)
class BoundPod:
    """A pod that the scheduler in charge has bound, and what the shadow had decided for it."""

    task: str
    """``namespace/name``."""
    node: str
    """The node that it was bound to."""
    outcome: Outcome
    """What the shadow had decided before."""
    shadow_node: str = ""
    """The node that the shadow had decided first; empty: none."""
    seconds: float = 0.0
    """How long before the bind the shadow had decided it."""
    code: str = ""
    """The reason code of its job in the shadow's last cycle, where it would have waited."""
    reason: str = ""
    """Why it would have waited."""


@dataclass(frozen=True, slots=True)
class Share:
    """The part of a resource that is in use."""

    actual: float
    """As the cluster is."""
    shadow: float
    """As it would be if this cycle's decisions were carried out."""


@dataclass(frozen=True, slots=True)
class ShadowCycle:
    """What one cycle of the shadow shows."""

    cycle: int
    """Its number."""
    time: float
    """Epoch seconds."""
    bound: tuple[BoundPod, ...]
    """Pods that the scheduler in charge has bound since the last cycle."""
    unseen: int
    """Pods that came and were bound between two cycles, so that nothing was decided for them."""
    would_bind: tuple[Bind, ...]
    """Waiting pods that the shadow decides to bind for the first time."""
    evicted: tuple[str, ...]
    """Pods that were evicted since the last cycle, ``namespace/name``."""
    would_evict: tuple[Eviction, ...]
    """Pods that the shadow decides to evict for the first time."""
    utilisation: dict[str, Share]
    """By resource."""

    @property
    def differs(self) -> bool:
        """Whether the scheduler in charge and the shadow did not do the same."""
        moved = any(pod.outcome != "same" for pod in self.bound)
        return moved or bool(self.would_evict or self.evicted)

    def as_json(self) -> dict[str, Any]:
        """The stable shape of ``pumice shadow -o json``."""
        return {
            "cycle": self.cycle,
            "time": self.time,
            "bound": [asdict(pod) for pod in self.bound],
            "unseen": self.unseen,
            "would_bind": [{"task": b.task, "node": b.node} for b in self.would_bind],
            "evicted": list(self.evicted),
            "would_evict": [
                {
                    "task": e.task,
                    "node": e.node,
                    "action": e.action,
                    "for": e.claimant,
                    "reason": e.reason,
                }
                for e in self.would_evict
            ],
            "utilisation": {name: asdict(share) for name, share in self.utilisation.items()},
        }


@dataclass(slots=True)
class ShadowSummary:
    """All cycles together."""

    cycles: int = 0
    """How many there were."""
    differing: int = 0
    """In how many the two did not do the same."""
    seconds: float = 0.0
    """From the first to the last."""
    bound: int = 0
    """Pods that the scheduler in charge has bound and the shadow had seen waiting."""
    same: int = 0
    """Of these, those that the shadow would have bound to the same node."""
    other_node: int = 0
    """Those that it would have bound to another node."""
    waits: int = 0
    """Those that it would not have bound yet."""
    unseen: int = 0
    """Pods that came and were bound between two cycles."""
    wait: Share = field(default_factory=lambda: Share(0.0, 0.0))
    """Mean seconds from creation to bind, of the pods that both have bound."""
    would_start: int = 0
    """Pods that the shadow would have bound and that still wait."""
    would_start_seconds: float = 0.0
    """For how long these have waited since the shadow decided, all together."""
    evicted: int = 0
    """Pods that were evicted."""
    would_evict: int = 0
    """Pods that the shadow would have evicted."""
    both_evict: int = 0
    """Pods that were evicted and would have been."""
    utilisation: dict[str, Share] = field(default_factory=dict)
    """By resource: the mean over time."""

    def as_json(self) -> dict[str, Any]:
        """The stable shape of ``pumice shadow -o json``."""
        return asdict(self)
