"""Decide where the code-free `pumice` distribution finds its three parts.

In a checkout they are the folders beside this file, so that `pip install .` needs no index. With
PUMICE_RELEASE set, and wherever the folders are missing, they are the distributions of the same
version.
"""

import os
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

PARTS = {
    "pumice-framework": "framework",
    "pumice-builtin-plugins": "builtin_plugins",
    "pumice-builtin-actions": "builtin_actions",
}


class PartsHook(MetadataHookInterface):
    PLUGIN_NAME = "custom"

    def update(self, metadata: dict[str, Any]) -> None:
        release = bool(os.environ.get("PUMICE_RELEASE"))
        metadata["dependencies"] = [
            self._pinned(part, metadata["version"])
            if release or not (Path(self.root) / folder / "pyproject.toml").is_file()
            else self._local(part, folder)
            for part, folder in PARTS.items()
        ]

    def _local(self, part: str, folder: str) -> str:
        return f"{part} @ {(Path(self.root) / folder).as_uri()}"

    def _pinned(self, part: str, version: str) -> str:
        return f"{part}=={version}"
