"""A backend: where the facts come from and where the decisions go."""

import json
from collections.abc import Sequence
from pathlib import Path
from time import time
from typing import Self

from pumice import Decisions, Inventory, manifests


class Journal:
    """Reads manifests for every cycle and appends the decisions to a file beside them."""

    def __init__(self, files: Sequence[str], default_queue: str = "default") -> None:
        self.files = files
        self.default_queue = default_queue
        self.journal = Path(files[0]).with_suffix(".decisions.json")

    @classmethod
    def from_files(cls, files: Sequence[str], *, default_queue: str = "default") -> Self:
        """What ``pumice run FILES --backend journal`` calls."""
        return cls(files, default_queue)

    def snapshot(self) -> Inventory:
        return manifests.load(self.files, default_queue=self.default_queue)

    def apply(self, decisions: Decisions) -> None:
        with self.journal.open("a", encoding="utf-8") as file:
            file.write(json.dumps(decisions.as_json()) + "\n")

    def now(self) -> float:
        return time()
