"""A generator of synthetic mixes of jobs."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from pumice.traces.reader import ReadProblems, TraceReader
from pumice.traces.trace import WHOLE_GPU_MILLI, Trace, TraceError, TraceJob, gang_of

DEFAULTS = {
    "jobs": 1000.0,
    "gpus": 64.0,
    "load": 0.9,
    "queues": 4.0,
    "median": 1200.0,
    "spread": 1.5,
    "seed": 0.0,
}
"""The options: jobs, GPUs of the cluster, the part of them that the jobs keep busy, queues, the
median of run times in seconds, the spread of their logarithms, and the seed."""
_SIZES = (1, 2, 4, 8, 16, 32)
_PARTS = (0.70, 0.10, 0.10, 0.07, 0.02, 0.01)


class SyntheticReader(TraceReader):
    """Jobs by chance: Poisson arrivals, log-normal run times, mostly one GPU, few large gangs."""

    def read(self, text: str, problems: ReadProblems, options: Mapping[str, str]) -> Trace:
        values = dict(DEFAULTS)
        for name, given in options.items():
            if name not in DEFAULTS:
                raise TraceError(
                    f"--trace-option {name}: the format synthetic has no such option",
                    hint=f"it has {', '.join(DEFAULTS)}",
                )
            try:
                values[name] = float(given)
            except ValueError:
                raise TraceError(f"--trace-option {name}: {given!r} is not a number") from None
            if values[name] < 0 or (name != "seed" and not values[name]):
                raise TraceError(f"--trace-option {name}: {given} should be more than 0")
        return Trace(jobs=_jobs(values))


def _jobs(values: Mapping[str, float]) -> list[TraceJob]:
    chance = np.random.default_rng(int(values["seed"]))
    count, queues = int(values["jobs"]), max(int(values["queues"]), 1)
    fitting = [size for size in _SIZES if size <= max(values["gpus"] / 2, 1)]
    parts = np.array(_PARTS[: len(fitting)]) / sum(_PARTS[: len(fitting)])
    sizes = chance.choice(fitting, count, p=parts)
    runs = np.exp(chance.normal(np.log(values["median"]), values["spread"], count)).clip(10, 604800)
    # Queue i gets i + 1 parts of the jobs, so that some ask for more than their share.
    weights = np.arange(1, queues + 1) / np.arange(1, queues + 1).sum()
    of_queue = chance.choice(queues, count, p=weights)
    gap = float((sizes * runs).sum()) / count / (values["gpus"] * values["load"])
    submits = np.cumsum(chance.exponential(gap, count))
    jobs = []
    for i in range(count):
        pods, each = gang_of(int(sizes[i]))
        jobs.append(
            TraceJob(
                f"job-{i:06}",
                round(float(submits[i]), 3),
                round(float(runs[i]), 3),
                queue=f"queue-{int(of_queue[i]) + 1}",
                pods=pods,
                cpu=4000.0 * each,
                memory=float(each << 34),
                gpus=each * WHOLE_GPU_MILLI,
            )
        )
    return jobs
