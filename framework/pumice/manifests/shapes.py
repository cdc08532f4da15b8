"""Shapes of the parts that facts keep as they are read, so that plugins can trust them."""

from __future__ import annotations

from functools import partial
from typing import Any, Required, TypedDict

import msgspec

from pumice.manifests.wire import Count, Int32, Object, kept


class Expression(TypedDict, total=False):
    key: Required[str]
    operator: Required[str]
    values: list[str]


class LabelSelector(TypedDict, total=False):
    matchLabels: dict[str, str]
    matchExpressions: list[Expression]


class NodeTerm(TypedDict, total=False):
    matchExpressions: list[Expression]
    matchFields: list[Expression]


class NodeTerms(TypedDict, total=False):
    nodeSelectorTerms: list[NodeTerm]


class PreferredNode(TypedDict):
    weight: Int32
    preference: NodeTerm


class NodeAffinity(TypedDict, total=False):
    requiredDuringSchedulingIgnoredDuringExecution: NodeTerms
    preferredDuringSchedulingIgnoredDuringExecution: list[PreferredNode]


class PodTerm(TypedDict, total=False):
    topologyKey: Required[str]
    labelSelector: LabelSelector
    namespaceSelector: LabelSelector
    namespaces: list[str]
    matchLabelKeys: list[str]
    mismatchLabelKeys: list[str]


class PreferredPod(TypedDict):
    weight: Int32
    podAffinityTerm: PodTerm


class PodAffinity(TypedDict, total=False):
    requiredDuringSchedulingIgnoredDuringExecution: list[PodTerm]
    preferredDuringSchedulingIgnoredDuringExecution: list[PreferredPod]


class Affinity(TypedDict, total=False):
    nodeAffinity: NodeAffinity
    podAffinity: PodAffinity
    podAntiAffinity: PodAffinity


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


class Spread(TypedDict, total=False):
    maxSkew: Required[Int32]
    topologyKey: Required[str]
    whenUnsatisfiable: Required[str]
    labelSelector: LabelSelector
    minDomains: Int32
    matchLabelKeys: list[str]
    nodeAffinityPolicy: str
    nodeTaintsPolicy: str


class Claim(TypedDict, total=False):
    name: Required[str]
    resourceClaimName: str
    resourceClaimTemplateName: str


class ConfigMapRef(TypedDict, total=False):
    name: str
    optional: bool


class ProjectedSource(TypedDict, total=False):
    configMap: ConfigMapRef


class Projected(TypedDict, total=False):
    sources: list[ProjectedSource]


class ClaimVolume(TypedDict, total=False):
    claimName: Required[str]
    readOnly: bool


class Ephemeral(TypedDict, total=False):
    volumeClaimTemplate: Object


class ValueFrom(TypedDict, total=False):
    configMapKeyRef: ConfigMapRef


class EnvVar(TypedDict, total=False):
    name: str
    valueFrom: ValueFrom


class EnvFrom(TypedDict, total=False):
    configMapRef: ConfigMapRef


class Port(TypedDict, total=False):
    containerPort: Count
    hostPort: Count
    hostIP: str
    protocol: str
    name: str


class Image(TypedDict, total=False):
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


class MemberSelector(TypedDict, total=False):
    exactMatch: ExactMatch
    regexMatch: RegexMatch
    labelMatch: LabelSelector


class Member(TypedDict):
    type: str
    selector: MemberSelector


class GroupChoice(TypedDict, total=False):
    requiredDuringSchedulingIgnoredDuringExecution: list[str]
    preferredDuringSchedulingIgnoredDuringExecution: list[str]


class QueueAffinity(TypedDict, total=False):
    nodeGroupAffinity: GroupChoice
    nodeGroupAntiAffinity: GroupChoice


class TopologyConstraint(TypedDict, total=False):
    topology: str
    requiredTopologyLevel: str
    preferredTopologyLevel: str


def checked(shape: Any, at: str) -> partial[Any]:
    """A decoder that keeps a part as it is, given that it has the shape."""
    return partial(kept, msgspec.json.Decoder(shape), at)
