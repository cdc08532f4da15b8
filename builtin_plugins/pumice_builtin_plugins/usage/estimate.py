"""The expected use of a pod, estimated from its requests and limits."""

from __future__ import annotations

import math
from typing import Annotated, Any, NamedTuple

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from pumice import Pod
from pumice.kube import amount


def _amount(name: str) -> BeforeValidator:
    def read(value: Any) -> Any:
        return amount(name, value)

    return BeforeValidator(read)


class Estimator(BaseModel):
    """How expected use is computed from requests and limits."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    request_ratio: float = Field(0.7, ge=0)
    """The fraction of its request that a pod uses."""
    burst_ratio: float = Field(0.0, ge=0)
    """The fraction it uses of what its limit allows above the request."""
    risk_threshold: float = Field(0.6, ge=0)
    """From this load of a node on, estimates are multiplied by ``risk_factor``."""
    risk_factor: float = Field(1.2, ge=0)
    be_cpu: Annotated[float, _amount("cpu")] = 250
    """Thousandths of a core that a pod without requests uses."""
    be_mem: Annotated[float, _amount("memory")] = 200 * 2**20


class Amounts(NamedTuple):
    """Thousandths of a core, and bytes."""

    cpu: float
    memory: float


def estimate(pod: Pod, estimator: Estimator, *, best_effort: bool, at_risk: bool) -> Amounts:
    """What the pod is expected to use; ``at_risk``: the node's load is above the threshold."""
    risk = estimator.risk_factor if at_risk else 1.0
    if best_effort:
        return Amounts(estimator.be_cpu * risk, estimator.be_mem * risk)
    return Amounts(
        _expected(pod.request.cpu, _limit(pod, "cpu"), estimator, risk),
        _expected(pod.request.memory, _limit(pod, "memory"), estimator, risk),
    )


def _expected(request: float, limit: float, estimator: Estimator, risk: float) -> float:
    most = max(request, limit)
    burst = (most - request) * estimator.burst_ratio
    return min(max((request * estimator.request_ratio + burst) * risk, 0.0), most)


def _limit(pod: Pod, name: str) -> float:
    return math.fsum(container.limits.get(name) for container in pod.containers)
