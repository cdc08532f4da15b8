"""The effective request of a pod, as Volcano and as KAI compute it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from pumice.manifests.containers import NO_CONTAINERS, ContainerSet
from pumice.manifests.pod_wire import SpecWire, StatusWire
from pumice.manifests.pool import Pool
from pumice.manifests.wire import ANY_OBJECT, decode
from pumice.model.quantity import PODS
from pumice.model.resources import Resource

Family = Literal["volcano", "kai"]
"""Which scheduler's rules an object follows."""


def effective_request(
    family: Family,
    spec: SpecWire,
    status: StatusWire,
    main: ContainerSet,
    init: ContainerSet,
    pool: Pool,
) -> Resource:
    """What the pod asks of a node, by the rules of its family."""
    overhead = pool.resources("spec.overhead", spec.overhead) if len(spec.overhead) else None
    if family == "kai":
        return kai_request(main, init, overhead)
    return volcano_request(
        main,
        init,
        overhead,
        pod_level=_pod_level(spec, pool) if spec.resources else None,
        resized=_resized(status, main, init, pool) if status.tells_sizes() else None,
    )


def kai_request(
    main: ContainerSet, init: ContainerSet, overhead: Resource | None = None
) -> Resource:
    """The sum of the containers or the largest init container, whichever is more; no sidecars."""
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
    """Containers and sidecars together, or the most that any step of the start needs.

    ``pod_level`` requests stand in for what the containers add up to; ``resized`` is what
    containers hold whose size is being changed while they run.
    """
    if init is NO_CONTAINERS and overhead is None and not (pod_level or resized):
        return main.alone
    held = resized or {}
    total, sidecars, start = Resource(), Resource(), Resource()
    for container in main.containers:
        total.add(held.get(container.name, container.requests))
    for container in init.containers:
        request = held.get(container.name, container.requests)
        if container.restart_always:
            total.add(request)
            start.set_max(sidecars.add(request))
        else:
            start.set_max(request.plus(sidecars))
    total.set_max(start)
    total.set(PODS, total.get(PODS) + 1)
    for name, value in (pod_level or {}).items():
        total.set(name, value)
    return total if overhead is None else total.add(overhead)


def _pod_level(spec: SpecWire, pool: Pool) -> dict[str, float]:
    """What the pod as a whole asks for, of the resources that can be asked for like that."""
    at = "spec.resources.requests"
    text = bytes(spec.resources.requests) if spec.resources else b""
    if not text or text == b"null":
        return {}
    names = decode(ANY_OBJECT, at, text)
    asked = pool.resource_list(at, names)
    return {
        name: asked.get(name)
        for name in names
        if name in ("cpu", "memory") or name.startswith("hugepages-")
    }


def _resized(
    status: StatusWire, main: ContainerSet, init: ContainerSet, pool: Pool
) -> dict[str, Resource]:
    """What containers hold whose allocated or actual resources are not those of the spec."""
    infeasible = status.resize == "Infeasible" or any(
        condition.type == "PodResizePending" and condition.reason == "Infeasible"
        for condition in status.conditions or ()
    )
    specified = {c.name: c.requests for c in (*main.containers, *init.containers)}
    resized: dict[str, Resource] = {}
    for container in (*(status.container_statuses or ()), *(status.init_container_statuses or ())):
        asked = specified.get(container.name)
        allocated = pool.resources("status.allocatedResources", container.allocated_resources)
        actual = pool.resources(
            "status.resources", container.resources.requests if container.resources else b""
        )
        known = [held for held in (allocated, actual) if held is not pool.nothing]
        if asked is None or all(held is asked for held in known):
            continue
        held = Resource() if infeasible else asked.clone()
        for other in known:
            held.set_max(other)
        resized[container.name] = held
    return resized
