"""Runs a case in a process that has measured nothing else."""

from __future__ import annotations

import cProfile
import multiprocessing
import pstats
import sys
from concurrent.futures import ProcessPoolExecutor

from tests.bench._case import Measurable, Measured, best_of
from tests.bench._clock import peak_mib


def measure_apart(
    case: Measurable, repeat: int = 1, profiled: bool = False
) -> tuple[Measured, float]:
    """The figures of a case, and the most MiB that measuring it has taken."""
    fresh = multiprocessing.get_context("forkserver")
    fresh.set_forkserver_preload(["tests.bench._cases", "tests.bench._mixed"])
    with ProcessPoolExecutor(1, mp_context=fresh) as process:
        return process.submit(_measure, case, repeat, profiled).result()


def _measure(case: Measurable, repeat: int, profiled: bool) -> tuple[Measured, float]:
    profile = cProfile.Profile() if profiled else None
    measured = best_of(case, repeat, profile)
    if profile is not None:
        print(case.name)
        pstats.Stats(profile).sort_stats("tottime").print_stats(25)
        sys.stdout.flush()
    return measured, peak_mib()
