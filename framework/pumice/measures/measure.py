"""What a measure is."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import ClassVar

import numpy as np

from pumice.discovery import Catalog
from pumice.errors import PumiceError
from pumice.simulation.record import Record


class Measure:
    """Base of the measures; an entry point in the group ``pumice.measures``."""

    higher_is_better: ClassVar[bool] = False
    """Whether larger values are better."""

    def figures(self, record: Record) -> Mapping[str, float]:
        """Figures by name; an empty name stands for the measure itself. NaN: there is none."""
        raise NotImplementedError


def measure_all(record: Record, catalog: Catalog | None = None) -> dict[str, float]:
    """The figures of all installed measures, by ``measure.figure``.

    :raises PumiceError: a measure failed.
    """
    catalog = Catalog() if catalog is None else catalog
    results: dict[str, float] = {}
    for name in catalog.names("measure"):
        loaded = catalog.load("measure", name)
        try:
            figures = loaded.cls().figures(record)
            for key, value in figures.items():
                results[f"{name}.{key}" if key else name] = float(value)
        except Exception as error:
            raise PumiceError(
                f"measure {name!r} ({loaded.source.label}): {type(error).__name__}: {error}"
            ) from error
    return results


def percentiles(values: Iterable[float], prefix: str = "") -> dict[str, float]:
    """Mean and the percentiles 50, 95 and 99; NaN without values."""
    array = np.array(list(values), float)
    if not len(array):
        return {f"{prefix}{name}": math.nan for name in ("mean", "p50", "p95", "p99")}
    p50, p95, p99 = np.percentile(array, (50, 95, 99)).tolist()
    return {
        f"{prefix}mean": float(array.mean()),
        f"{prefix}p50": p50,
        f"{prefix}p95": p95,
        f"{prefix}p99": p99,
    }
