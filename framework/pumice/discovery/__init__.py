"""What is installed: plugins, actions and backends, found by their entry points."""

from __future__ import annotations

from pumice.discovery._scan import Kind
from pumice.discovery.catalog import KINDS, Catalog, Found, Listed, Loaded, Source

__all__ = ["KINDS", "Catalog", "Found", "Kind", "Listed", "Loaded", "Source"]
