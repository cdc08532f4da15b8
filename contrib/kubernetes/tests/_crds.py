"""The custom resources of Volcano and KAI, as far as the API server must know them."""

from __future__ import annotations

from typing import Any

import yaml
from _control_plane import DEPLOY

OWN = "scheduling.pumice"
CRDS = (
    ("scheduling.volcano.sh", "v1beta1", "queues", "Queue", "Cluster"),
    ("scheduling.volcano.sh", "v1beta1", "podgroups", "PodGroup", "Namespaced"),
    ("scheduling.run.ai", "v2", "queues", "Queue", "Cluster"),
    ("scheduling.run.ai", "v2alpha2", "podgroups", "PodGroup", "Namespaced"),
    ("scheduling.run.ai", "v1alpha2", "bindrequests", "BindRequest", "Namespaced"),
    (OWN, "v1alpha1", "queues", "Queue", "Cluster"),
    (OWN, "v1alpha1", "podgroups", "PodGroup", "Namespaced"),
)
"""(group, version, plural, kind, scope)."""


def crd(group: str, version: str, plural: str, kind: str, scope: str) -> dict[str, Any]:
    """A definition that accepts any object. Volcano's PodGroup has no status subresource."""
    if group == OWN:  # the shipped ones
        shipped = yaml.safe_load((DEPLOY / "crds" / f"{plural}.yaml").read_text())
        return dict(shipped)
    has_status = (group, kind) != ("scheduling.volcano.sh", "PodGroup")
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {
            "group": group,
            "scope": scope,
            "names": {"plural": plural, "kind": kind, "singular": kind.lower()},
            "versions": [
                {
                    "name": version,
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": schema},
                    "subresources": {"status": {}} if has_status else {},
                }
            ],
        },
    }
