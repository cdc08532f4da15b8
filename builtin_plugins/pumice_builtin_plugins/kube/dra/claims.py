"""Resource claims and the devices that nodes offer, as they are read from their objects."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from pumice import Inventory, Pod, Raw
from pumice.kube import milli
from pumice_builtin_plugins.kube.dra.cel import CelError, Version, compiled
from pumice_builtin_plugins.kube.label_columns import LabelColumns

DeviceId = tuple[str, str, str]
"""Driver, pool, name."""


class DeviceError(Exception):
    """Why no node, or not this one, can serve a claim."""


class Device:
    """One device of a resource slice."""

    __slots__ = ("_matched", "attributes", "id", "nodes", "variables")

    def __init__(self, identity: DeviceId, raw: Raw, nodes: np.ndarray) -> None:
        self.id = identity
        self.nodes = nodes
        """Mask over all nodes: those from which it can be used."""
        basic = raw.get("basic") or raw
        driver = identity[0]
        self.attributes = {
            _qualified(name, driver): _attribute(value)
            for name, value in (basic.get("attributes") or {}).items()
        }
        capacity = {
            _qualified(name, driver): _amount(value)
            for name, value in (basic.get("capacity") or {}).items()
        }
        self.variables = {
            "device": {
                "driver": driver,
                "attributes": _by_domain(self.attributes),
                "capacity": _by_domain(capacity),
            }
        }
        self._matched: dict[str, bool] = {}

    def matches(self, expression: str) -> bool:
        """:raises DeviceError: the expression has no value for this device."""
        found = self._matched.get(expression)
        if found is None:
            try:
                found = self._matched[expression] = compiled(expression)(self.variables) is True
            except CelError as error:
                raise DeviceError(f"CEL runtime error: {error}") from None
        return found


class Request(NamedTuple):
    """So many devices of a class."""

    name: str
    wanted: int
    """0: all that match."""
    expressions: tuple[str, ...]
    shared: bool
    """Whether devices that are in use will do (admin access)."""


class Claim(NamedTuple):
    """A claim: for each of its requests the alternatives in order, and what they must share."""

    key: str
    requests: tuple[tuple[Request, ...], ...]
    same: tuple[tuple[str, frozenset[str]], ...]
    """Attribute, and the requests (none: all) whose devices must agree in it."""
    allocation: Mapping[str, Any] | None
    deleting: bool


class DeviceBook:
    """All claims, device classes and devices of a session."""

    def __init__(self, inventory: Inventory, columns: LabelColumns) -> None:
        others = inventory.others
        self._columns = columns
        self._claims = others.get("ResourceClaim", {})
        self._templates = others.get("ResourceClaimTemplate", {})
        self._classes = others.get("DeviceClass", {})
        self._read: dict[str, Claim] = {}
        self.devices = list(self._devices(others.get("ResourceSlice", {})))
        self.in_use = {
            identity
            for raw in self._claims.values()
            for identity in allocated_devices((raw.get("status") or {}).get("allocation"))
        }

    def _devices(self, slices: Mapping[str, Raw]) -> Iterator[Device]:
        specs = [raw.get("spec") or {} for _, raw in sorted(slices.items())]
        newest: dict[tuple[str, str], int] = defaultdict(int)
        for spec in specs:
            pool = spec.get("pool") or {}
            key = (spec.get("driver", ""), pool.get("name", ""))
            newest[key] = max(newest[key], pool.get("generation") or 0)
        for spec in specs:
            pool = spec.get("pool") or {}
            driver, pool_name = spec.get("driver", ""), pool.get("name", "")
            if (pool.get("generation") or 0) < newest[driver, pool_name]:
                continue
            for raw in spec.get("devices") or ():
                place = raw if spec.get("perDeviceNodeSelection") else spec
                identity = (driver, pool_name, raw.get("name", ""))
                yield Device(identity, raw, self._nodes(place))

    def _nodes(self, place: Raw) -> np.ndarray:
        if place.get("allNodes"):
            return self._columns.all()
        if place.get("nodeSelector"):
            return self._columns.selector(place["nodeSelector"])
        mask = ~self._columns.all()
        row = self._columns.table.row_of.get(place.get("nodeName") or "")
        if row is not None:
            mask[row] = True
        return mask

    def nodes_of(self, allocation: Mapping[str, Any]) -> np.ndarray:
        """Mask over all nodes: those from which what is allocated can be used."""
        selector = allocation.get("nodeSelector")
        return self._columns.all() if selector is None else self._columns.selector(selector)

    def claims(self, pod: Pod) -> list[Claim]:
        """The claims of a pod.

        :raises DeviceError: one, or what it asks for, does not exist.
        """
        return [self._claim(pod, raw) for raw in pod.resource_claims]

    def _claim(self, pod: Pod, raw: Raw) -> Claim:
        name, template = raw.get("resourceClaimName"), raw.get("resourceClaimTemplateName")
        key = f"{pod.namespace}/{name or pod.name + '-' + raw.get('name', '')}"
        found = self._read.get(key)
        if found is not None:
            return found
        content: Mapping[str, Any] | None
        if name:
            content = self._claims.get(key)
            if content is None:
                raise DeviceError(f'resourceclaim "{name}" not found')
        else:
            # Nobody has made the claim yet: what the template says is what it will be.
            content = (self._templates.get(f"{pod.namespace}/{template}") or {}).get("spec")
            if content is None:
                raise DeviceError(f'resourceclaimtemplate "{template}" not found')
        self._read[key] = found = self._parsed(key, content)
        return found

    def _parsed(self, key: str, raw: Raw) -> Claim:
        devices = (raw.get("spec") or {}).get("devices") or {}
        requests = []
        for request in devices.get("requests") or ():
            listed = request.get("firstAvailable") or [request.get("exactly") or request]
            name = request.get("name", "")
            requests.append(tuple(self._request(name, each) for each in listed))
        same = [
            (constraint["matchAttribute"], frozenset(constraint.get("requests") or ()))
            for constraint in devices.get("constraints") or ()
            if constraint.get("matchAttribute")
        ]
        return Claim(
            key,
            tuple(requests),
            tuple(same),
            (raw.get("status") or {}).get("allocation"),
            bool((raw.get("metadata") or {}).get("deletionTimestamp")),
        )

    def _request(self, name: str, raw: Raw) -> Request:
        class_name = raw.get("deviceClassName", "")
        device_class = self._classes.get(class_name)
        if device_class is None:
            raise DeviceError(f"request {name}: device class {class_name} does not exist")
        selectors = (*((device_class.get("spec") or {}).get("selectors") or ()),)
        expressions = [
            (selector.get("cel") or {}).get("expression", "false")
            for selector in (*selectors, *(raw.get("selectors") or ()))
        ]
        everything = raw.get("allocationMode") == "All"
        return Request(
            name,
            0 if everything else raw.get("count") or 1,
            tuple(expressions),
            bool(raw.get("adminAccess")),
        )


def allocated_devices(allocation: Mapping[str, Any] | None) -> Iterator[DeviceId]:
    """The devices that an allocation takes from others."""
    for result in ((allocation or {}).get("devices") or {}).get("results") or ():
        if not result.get("adminAccess"):
            yield result.get("driver", ""), result.get("pool", ""), result.get("device", "")


def _attribute(value: Raw) -> Any:
    for kind in ("string", "int", "bool"):
        if kind in value:
            return value[kind]
    try:
        return Version(value["version"])
    except (KeyError, CelError):
        return None


def _amount(value: Any) -> int:
    """Thousandths; what cannot be read is nothing."""
    try:
        return milli(value.get("value", 0) if isinstance(value, Mapping) else value)
    except ValueError:
        return 0


def _qualified(name: str, driver: str) -> str:
    return name if "/" in name else f"{driver}/{name}"


class _Domains(dict[str, dict[str, Any]]):
    """A domain that a device does not speak of has no names in it."""

    def __missing__(self, domain: str) -> dict[str, Any]:
        return {}


def _by_domain(values: Mapping[str, Any]) -> _Domains:
    result = _Domains()
    for name, value in values.items():
        domain, _, rest = name.partition("/")
        result.setdefault(domain, {})[rest] = value
    return result
