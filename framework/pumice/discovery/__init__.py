"""Finds the installed plugins, actions, backends and hookspecs by their entry points."""

from __future__ import annotations

from pumice.discovery._origin import project_url
from pumice.discovery._scan import Kind
from pumice.discovery._source import Source
from pumice.discovery.catalog import KINDS, OURS, Catalog, CatalogEntry, Installed, Loaded

__all__ = [
    "KINDS",
    "OURS",
    "Catalog",
    "CatalogEntry",
    "Installed",
    "Kind",
    "Loaded",
    "Source",
    "project_url",
]
