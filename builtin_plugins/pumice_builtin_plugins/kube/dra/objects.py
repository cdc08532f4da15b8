"""Resource claims and the devices that nodes offer, as they are read from their objects."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from pumice import Inventory, Pod, Raw
from pumice.kube import milli
from pumice_builtin_plugins.kube.dra.cel import Version, compiled
from pumice_builtin_plugins.kube.dra.cel_arithmetic import CelError
from pumice_builtin_plugins.kube.label_columns import LabelColumns

DeviceId = tuple[str, str, str]
"""Driver, pool, name."""


class DeviceError(Exception):
    """Why a claim cannot be allocated, on one node or on any."""


class Device:
    """One device of a resource slice."""

    __slots__ = ("_matched", "attributes", "id", "nodes", "variables")

    def __init__(self, identity: DeviceId, raw: Raw, nodes: np.ndarray) -> None:
        self.id = identity
        self.nodes = nodes
        """Mask over all nodes: those that can use it."""
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
        matched = self._matched.get(expression)
        if matched is None:
            try:
                matched = self._matched[expression] = compiled(expression)(self.variables) is True
            except CelError as error:
                raise DeviceError(f"CEL runtime error: {error}") from None
        return matched


class DeviceRequest(NamedTuple):
    """A number of devices that match selectors."""

    name: str
    number: int
    """0: all that match."""
    expressions: tuple[str, ...]
    admin_access: bool
    """Whether devices that are in use may be given as well."""


class ResourceClaim(NamedTuple):
    """One ResourceClaim, or what will be one when its template is instantiated."""

    key: str
    requests: tuple[tuple[DeviceRequest, ...], ...]
    """For each request its alternatives, in order."""
    match_attributes: tuple[tuple[str, frozenset[str]], ...]
    """Attribute, and the requests (none: all) whose devices must have the same value of it."""
    allocation: Mapping[str, Any] | None
    deleting: bool


class DraObjects:
    """All claims, claim templates, device classes and devices of a session."""

    def __init__(self, inventory: Inventory, columns: LabelColumns) -> None:
        others = inventory.others
        self._columns = columns
        self._raw_claims = others.get("ResourceClaim", {})
        self._templates = others.get("ResourceClaimTemplate", {})
        self._classes = others.get("DeviceClass", {})
        self._claims: dict[str, ResourceClaim] = {}
        self.devices = list(self._devices(others.get("ResourceSlice", {})))
        self.in_use = {
            identity
            for raw in self._raw_claims.values()
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
                selection = raw if spec.get("perDeviceNodeSelection") else spec
                identity = (driver, pool_name, raw.get("name", ""))
                yield Device(identity, raw, self._nodes(selection))

    def _nodes(self, selection: Raw) -> np.ndarray:
        if selection.get("allNodes"):
            return self._columns.all()
        if selection.get("nodeSelector"):
            return self._columns.selector(selection["nodeSelector"])
        mask = ~self._columns.all()
        row = self._columns.table.row_of.get(selection.get("nodeName") or "")
        if row is not None:
            mask[row] = True
        return mask

    def nodes_of(self, allocation: Mapping[str, Any]) -> np.ndarray:
        """Mask over all nodes: those that can use what is allocated."""
        selector = allocation.get("nodeSelector")
        return self._columns.all() if selector is None else self._columns.selector(selector)

    def claims(self, pod: Pod) -> list[ResourceClaim]:
        """The claims of a pod.

        :raises DeviceError: a claim, its template or a device class does not exist.
        """
        return [self._claim(pod, raw) for raw in pod.resource_claims]

    def _claim(self, pod: Pod, raw: Raw) -> ResourceClaim:
        name, template = raw.get("resourceClaimName"), raw.get("resourceClaimTemplateName")
        key = f"{pod.namespace}/{name or pod.name + '-' + raw.get('name', '')}"
        claim = self._claims.get(key)
        if claim is not None:
            return claim
        content: Mapping[str, Any] | None
        if name:
            content = self._raw_claims.get(key)
            if content is None:
                raise DeviceError(f'resourceclaim "{name}" not found')
        else:
            # The claim may not exist yet; the template says what it will be.
            content = (self._templates.get(f"{pod.namespace}/{template}") or {}).get("spec")
            if content is None:
                raise DeviceError(f'resourceclaimtemplate "{template}" not found')
        self._claims[key] = claim = self._parse(key, content)
        return claim

    def _parse(self, key: str, raw: Raw) -> ResourceClaim:
        devices = (raw.get("spec") or {}).get("devices") or {}
        requests = []
        for request in devices.get("requests") or ():
            listed = request.get("firstAvailable") or [request.get("exactly") or request]
            name = request.get("name", "")
            requests.append(tuple(self._request(name, each) for each in listed))
        match_attributes = [
            (constraint["matchAttribute"], frozenset(constraint.get("requests") or ()))
            for constraint in devices.get("constraints") or ()
            if constraint.get("matchAttribute")
        ]
        return ResourceClaim(
            key,
            tuple(requests),
            tuple(match_attributes),
            (raw.get("status") or {}).get("allocation"),
            bool((raw.get("metadata") or {}).get("deletionTimestamp")),
        )

    def _request(self, name: str, raw: Raw) -> DeviceRequest:
        class_name = raw.get("deviceClassName", "")
        device_class = self._classes.get(class_name)
        if device_class is None:
            raise DeviceError(f"request {name}: device class {class_name} does not exist")
        selectors = (*((device_class.get("spec") or {}).get("selectors") or ()),)
        expressions = [
            (selector.get("cel") or {}).get("expression", "false")
            for selector in (*selectors, *(raw.get("selectors") or ()))
        ]
        all_matching = raw.get("allocationMode") == "All"
        return DeviceRequest(
            name,
            0 if all_matching else raw.get("count") or 1,
            tuple(expressions),
            bool(raw.get("adminAccess")),
        )


def allocated_devices(allocation: Mapping[str, Any] | None) -> Iterator[DeviceId]:
    """The devices that an allocation has to itself: those without admin access."""
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
    """Thousandths; 0 for an unreadable quantity."""
    try:
        return milli(value.get("value", 0) if isinstance(value, Mapping) else value)
    except ValueError:
        return 0


def _qualified(name: str, driver: str) -> str:
    return name if "/" in name else f"{driver}/{name}"


class _Domains(dict[str, dict[str, Any]]):
    """By domain; a domain without attributes is an empty table, not an error."""

    def __missing__(self, domain: str) -> dict[str, Any]:
        return {}


def _by_domain(values: Mapping[str, Any]) -> _Domains:
    result = _Domains()
    for name, value in values.items():
        domain, _, rest = name.partition("/")
        result.setdefault(domain, {})[rest] = value
    return result
