"""The effective request of a pod, as Volcano and as KAI compute it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from pumice.manifests.containers import NO_CONTAINERS, ContainerSet
from pumice.manifests.pod_wire import SpecWire, StatusWire
from pumice.manifests.pool import Pool
from pumice.manifests.wire import ANY_OBJECT, Object, decode
from pumice.model.quantity import PODS
from pumice.model.resources import Resource

Family = Literal["volcano", "kai"]
"""Which scheduler's rules an object follows."""


def effective_request(
    family: Family,
    spec: SpecWire,
    status: StatusWire,
    conditions: Sequence[Object],
    main: ContainerSet,
    init: ContainerSet,
    pool: Pool,
) -> Resource:
    """What the pod requests of a node, by the rules of its family."""
    overhead = pool.resources("spec.overhead", spec.overhead) if len(spec.overhead) else None
    if family == "kai":
        return kai_request(main, init, overhead)
    return volcano_request(
        main,
        init,
        overhead,
        pod_level=_pod_level(spec, pool) if spec.resources else None,
        resized=_resized(status, conditions, main, init, pool)
        if status.has_container_resources()
        else None,
    )


def kai_request(
    main: ContainerSet, init: ContainerSet, overhead: Resource | None = None
) -> Resource:
    """The larger of the containers' sum and the largest init container; KAI ignores sidecars."""
    if init is NO_CONTAINERS and overhead is None:
        return main.alone
    total = main.total.clone()
    for container in init.containers:
        total.set_max(container.requests)
    total.set(PODS, total.get(PODS) + 1)
    return total if overhead is None else total.add(overhead)


def volcano_request(
    main: ContainerSet,
    init: ContainerSet,
    overhead: Resource | None = None,
    *,
    pod_level: Mapping[str, float] | None = None,
    resized: Mapping[str, Resource] | None = None,
) -> Resource:
    """The larger of containers plus sidecars and the most that any init step needs.

    ``pod_level`` requests replace the sums of the containers; ``resized`` has the resources of
    containers that are being resized in place.
    """
    if init is NO_CONTAINERS and overhead is None and not (pod_level or resized):
        return main.alone
    resized = resized or {}
    total, sidecars, init_peak = Resource(), Resource(), Resource()
    for container in main.containers:
        total.add(resized.get(container.name, container.requests))
    for container in init.containers:
        request = resized.get(container.name, container.requests)
        if container.restart_always:
            total.add(request)
            init_peak.set_max(sidecars.add(request))
        else:
            init_peak.set_max(request.plus(sidecars))
    total.set_max(init_peak)
    total.set(PODS, total.get(PODS) + 1)
    for name, value in (pod_level or {}).items():
        total.set(name, value)
    return total if overhead is None else total.add(overhead)


def _pod_level(spec: SpecWire, pool: Pool) -> dict[str, float]:
    """The pod-level requests, of the resources that may have one."""
    at = "spec.resources.requests"
    text = bytes(spec.resources.requests) if spec.resources else b""
    if not text or text == b"null":
        return {}
    names = decode(ANY_OBJECT, at, text)
    requests = pool.resource_list(at, names)
    return {
        name: requests.get(name)
        for name in names
        if name in ("cpu", "memory") or name.startswith("hugepages-")
    }


def _resized(
    status: StatusWire,
    conditions: Sequence[Object],
    main: ContainerSet,
    init: ContainerSet,
    pool: Pool,
) -> dict[str, Resource]:
    """The resources of containers whose allocated or actual resources differ from the spec."""
    infeasible = status.resize == "Infeasible" or any(
        condition["type"] == "PodResizePending" and condition.get("reason") == "Infeasible"
        for condition in conditions
    )
    specified = {c.name: c.requests for c in (*main.containers, *init.containers)}
    resized: dict[str, Resource] = {}
    for container in (*(status.container_statuses or ()), *(status.init_container_statuses or ())):
        requested = specified.get(container.name)
        allocated = pool.resources("status.allocatedResources", container.allocated_resources)
        actual = pool.resources(
            "status.resources", container.resources.requests if container.resources else b""
        )
        reported = [r for r in (allocated, actual) if r is not pool.nothing]
        if requested is None or all(r is requested for r in reported):
            continue
        largest = Resource() if infeasible else requested.clone()
        for resource in reported:
            largest.set_max(resource)
        resized[container.name] = largest
    return resized
