"""Turns Kubernetes, Volcano and KAI objects into facts; malformed ones are reported, not raised."""

from __future__ import annotations

from pumice.manifests.files import read_paths
from pumice.manifests.links import link
from pumice.manifests.native import NATIVE_API, SCHEDULED, completed
from pumice.manifests.own import GANG_LABEL, OWN_API, QUEUE_LABEL, mark_of, queue_of
from pumice.manifests.pods import KAI_GROUP, QUEUE_GATE, VOLCANO_GROUP, family_of, read_pod
from pumice.manifests.pool import Pool
from pumice.manifests.reader import load, read_object, read_objects, table_of
from pumice.manifests.requests import Family
from pumice.manifests.wire import MalformedError, duration

__all__ = [
    "GANG_LABEL",
    "KAI_GROUP",
    "NATIVE_API",
    "OWN_API",
    "QUEUE_GATE",
    "QUEUE_LABEL",
    "SCHEDULED",
    "VOLCANO_GROUP",
    "Family",
    "MalformedError",
    "Pool",
    "completed",
    "duration",
    "family_of",
    "link",
    "load",
    "mark_of",
    "queue_of",
    "read_object",
    "read_objects",
    "read_paths",
    "read_pod",
    "table_of",
]
