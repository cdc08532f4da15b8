"""Kubernetes, Volcano and KAI objects become facts; what is wrong with one is told, not raised."""

from __future__ import annotations

from pumice.manifests.files import read_paths
from pumice.manifests.reader import load, read_objects

__all__ = ["load", "read_objects", "read_paths"]
