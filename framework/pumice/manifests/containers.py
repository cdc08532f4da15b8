"""The containers of a pod: their requests and host ports."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import msgspec
from msgspec import Raw, Struct

from pumice.manifests.pool import EMPTY, Pool
from pumice.manifests.shapes import ContainerPort, EnvFrom, ValueFrom
from pumice.manifests.wire import MalformedError, decode
from pumice.model.facts import Container
from pumice.model.resources import Resource

HostPort = tuple[str, str, int]


class ResourcesWire(Struct, gc=False):
    requests: Raw = Raw()
    limits: Raw = Raw()


class EnvWire(Struct, rename="camel", gc=False):
    name: str = ""
    value_from: ValueFrom | None = None


class ContainerWire(Struct, rename="camel", gc=False):
    name: str | None = None
    image: str | None = None
    ports: Raw = Raw()
    resources: Raw = Raw()
    restart_policy: str | None = None
    env: list[EnvWire] | None = None
    env_from: list[EnvFrom] | None = None


_PORTS: msgspec.json.Decoder[list[ContainerPort]] = msgspec.json.Decoder(list[ContainerPort])
_RESOURCES = msgspec.json.Decoder(ResourcesWire)
_NO_RESOURCES = ResourcesWire()
_LAST_PORT = 65535


@dataclass(slots=True, eq=False)
class ContainerSet:
    """A list of containers, shared by every pod that has the same one."""

    containers: tuple[Container, ...]
    total: Resource
    """Sum of their requests."""
    alone: Resource
    """The request of a pod with these containers and nothing else."""
    host_ports: tuple[HostPort, ...]


NO_CONTAINERS = ContainerSet((), Resource(), Resource(scalars={"pods": 1}), ())


def container_set(at: str, wires: Sequence[ContainerWire] | None, pool: Pool) -> ContainerSet:
    """The containers at a path of the pod."""
    if wires is None:
        return NO_CONTAINERS
    containers = tuple([_container(at, i, wire, pool) for i, wire in enumerate(wires)])
    return pool.made("containers", containers, lambda: _container_set(containers, pool))


def _container_set(containers: tuple[Container, ...], pool: Pool) -> ContainerSet:
    total = Resource()
    for container in containers:
        total.add(container.requests)
    alone = pool.shared(total.plus(NO_CONTAINERS.alone))
    return ContainerSet(containers, pool.shared(total), alone, host_ports(containers))


def _container(at: str, i: int, wire: ContainerWire, pool: Pool) -> Container:
    """One container; containers that are equal in what scheduling reads share one object."""
    env = _references(wire) if wire.env or wire.env_from else EMPTY

    def build() -> Container:
        place = f"{at}[{i}]"
        resources = pool.part(
            "resources",
            wire.resources,
            partial(decode, _RESOURCES, f"{place}.resources"),
            _NO_RESOURCES,
        )
        return Container(
            name=wire.name or "",
            requests=pool.resources(f"{place}.resources.requests", resources.requests),
            limits=pool.resources(f"{place}.resources.limits", resources.limits),
            image=wire.image or "",
            ports=_ports(f"{place}.ports", wire.ports),
            restart_always=wire.restart_policy == "Always",
            env=env,
        )

    if env:
        return build()
    ports = bytes(wire.ports) if wire.ports else b""
    key = (wire.name, wire.image, bytes(wire.resources), ports, wire.restart_policy)
    return pool.made("container", key, build)


def _ports(at: str, raw: Raw) -> Sequence[ContainerPort]:
    ports = decode(_PORTS, at, raw) if bytes(raw) not in (b"", b"null") else ()
    for i, port in enumerate(ports):
        if port.get("hostPort", 0) > _LAST_PORT:
            raise MalformedError(f"{at}[{i}].hostPort: {port['hostPort']} is not a port number")
    return ports


def _references(wire: ContainerWire) -> dict[str, Any]:
    """The environment that refers to other objects: ConfigMaps must exist before a bind."""
    references: dict[str, Any] = {}
    env = [entry for entry in wire.env or () if entry.value_from]
    if env:
        references["env"] = [{"name": e.name, "valueFrom": e.value_from} for e in env]
    env_from = [entry for entry in wire.env_from or () if entry]
    if env_from:
        references["envFrom"] = env_from
    return references or EMPTY


def host_ports(containers: Iterable[Container]) -> tuple[HostPort, ...]:
    """Protocol, address and number of every host port."""
    return tuple(
        (port.get("protocol") or "TCP", port.get("hostIP") or "0.0.0.0", port["hostPort"])
        for container in containers
        for port in container.ports
        if port.get("hostPort")
    )
