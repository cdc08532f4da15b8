"""``pumice shadow``: what a policy would decide beside the scheduler in charge of a cluster.

``observer`` runs cycles that touch nothing and compares them with what really happens;
``report`` has the differences of a cycle and the summary of all.
"""

from __future__ import annotations

from pumice.shadow.observer import Shadow
from pumice.shadow.report import BoundPod, ShadowCycle, ShadowSummary

__all__ = ["BoundPod", "Shadow", "ShadowCycle", "ShadowSummary"]
