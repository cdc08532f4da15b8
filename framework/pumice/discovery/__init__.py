"""What is installed: plugins, actions and backends, found by their entry points."""

from __future__ import annotations

from pumice.discovery._origin import project_url
from pumice.discovery._scan import Kind
from pumice.discovery._source import Source
from pumice.discovery.catalog import KINDS, Catalog, Found, Listed, Loaded

__all__ = ["KINDS", "Catalog", "Found", "Kind", "Listed", "Loaded", "Source", "project_url"]
