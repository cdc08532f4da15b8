"""Types that several kinds of facts share."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

UNLIMITED = math.inf
"""A quantity without bound. Absent (``None``), zero and unlimited are three different things."""

Raw = Mapping[str, Any]
"""A part of a manifest as it was read, for plugins that need its details."""
