"""Shapes of the parts that facts hold as plain values; they are checked when they are read."""

from __future__ import annotations

from functools import partial
from typing import Any, Required, TypedDict

import msgspec
from msgspec import UNSET, Struct, UnsetType

from pumice.manifests.wire import Count, Int32, Object, decode_checked


class SelectorRequirement(TypedDict, total=False):
    key: Required[str]
    operator: Required[str]
    values: list[str]


class LabelSelector(TypedDict, total=False):
    matchLabels: dict[str, str]
    matchExpressions: list[SelectorRequirement]


class NodeSelectorTerm(TypedDict, total=False):
    matchExpressions: list[SelectorRequirement]
    matchFields: list[SelectorRequirement]


class NodeSelector(TypedDict, total=False):
    nodeSelectorTerms: list[NodeSelectorTerm]


class Strict(Struct, rename="camel", forbid_unknown_fields=True, gc=False):
    """A constraint; a field that is not known must not be ignored."""


class PreferredNodeTerm(Strict):
    weight: Int32
    preference: NodeSelectorTerm


class NodeAffinity(Strict):
    required_during_scheduling_ignored_during_execution: NodeSelector | UnsetType = UNSET
    preferred_during_scheduling_ignored_during_execution: list[PreferredNodeTerm] | UnsetType = (
        UNSET
    )


class PodAffinityTerm(Strict):
    topology_key: str
    label_selector: LabelSelector | UnsetType = UNSET
    namespace_selector: LabelSelector | UnsetType = UNSET
    namespaces: list[str] | UnsetType = UNSET
    match_label_keys: list[str] | UnsetType = UNSET
    mismatch_label_keys: list[str] | UnsetType = UNSET


class PreferredPodTerm(Strict):
    weight: Int32
    pod_affinity_term: PodAffinityTerm


class PodAffinity(Strict):
    required_during_scheduling_ignored_during_execution: list[PodAffinityTerm] | UnsetType = UNSET
    preferred_during_scheduling_ignored_during_execution: list[PreferredPodTerm] | UnsetType = UNSET


class Affinity(Strict):
    node_affinity: NodeAffinity | UnsetType = UNSET
    pod_affinity: PodAffinity | UnsetType = UNSET
    pod_anti_affinity: PodAffinity | UnsetType = UNSET


class Toleration(TypedDict, total=False):
    key: str
    operator: str
    value: str
    effect: str
    tolerationSeconds: int


class Taint(TypedDict, total=False):
    key: Required[str]
    value: str
    effect: Required[str]


class TopologySpreadConstraint(TypedDict, total=False):
    maxSkew: Required[Int32]
    topologyKey: Required[str]
    whenUnsatisfiable: Required[str]
    labelSelector: LabelSelector
    minDomains: Int32
    matchLabelKeys: list[str]
    nodeAffinityPolicy: str
    nodeTaintsPolicy: str


class PodResourceClaim(TypedDict, total=False):
    name: Required[str]
    resourceClaimName: str
    resourceClaimTemplateName: str


class ConfigMapRef(TypedDict, total=False):
    name: str
    optional: bool


class VolumeProjection(TypedDict, total=False):
    configMap: ConfigMapRef


class ProjectedSource(TypedDict, total=False):
    sources: list[VolumeProjection]


class PersistentVolumeClaimSource(TypedDict, total=False):
    claimName: Required[str]
    readOnly: bool


class EphemeralSource(TypedDict, total=False):
    volumeClaimTemplate: Object


class ValueFrom(TypedDict, total=False):
    configMapKeyRef: ConfigMapRef


class EnvFrom(TypedDict, total=False):
    configMapRef: ConfigMapRef


class ContainerPort(TypedDict, total=False):
    containerPort: Count
    hostPort: Count
    hostIP: str
    protocol: str
    name: str


class ContainerImage(TypedDict, total=False):
    names: list[str] | None
    sizeBytes: int


class Condition(TypedDict, total=False):
    type: Required[str]
    status: str
    reason: str
    message: str
    lastTransitionTime: str | None
    transitionID: str


class ExactMatch(TypedDict):
    name: str


class RegexMatch(TypedDict):
    pattern: str


class HyperNodeMemberSelector(TypedDict, total=False):
    exactMatch: ExactMatch
    regexMatch: RegexMatch
    labelMatch: LabelSelector


class HyperNodeMember(TypedDict):
    type: str
    selector: HyperNodeMemberSelector


class NodeGroupTerms(TypedDict, total=False):
    requiredDuringSchedulingIgnoredDuringExecution: list[str]
    preferredDuringSchedulingIgnoredDuringExecution: list[str]


class QueueAffinity(TypedDict, total=False):
    nodeGroupAffinity: NodeGroupTerms
    nodeGroupAntiAffinity: NodeGroupTerms


class TopologyConstraint(TypedDict, total=False):
    topology: str
    requiredTopologyLevel: str
    preferredTopologyLevel: str


def checked(shape: Any, at: str) -> partial[Any]:
    """A decoder of plain values that checks their shape."""
    return partial(decode_checked, msgspec.json.Decoder(shape), at)
