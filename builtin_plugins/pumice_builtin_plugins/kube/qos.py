"""The QoS class of a pod."""

from __future__ import annotations

from pumice import Pod

BEST_EFFORT, BURSTABLE, GUARANTEED = QOS_CLASSES = ("BestEffort", "Burstable", "Guaranteed")


def qos_class(pod: Pod) -> str:
    """The class in the pod's status, else the one that follows from requests and limits."""
    if pod.qos in QOS_CLASSES:
        return pod.qos
    amounts = [
        (getattr(container.requests, name), getattr(container.limits, name))
        for container in (*pod.containers, *pod.init_containers)
        for name in ("cpu", "memory")
    ]
    if not any(request or limit for request, limit in amounts):
        return BEST_EFFORT
    return GUARANTEED if all(limit == request > 0 for request, limit in amounts) else BURSTABLE
