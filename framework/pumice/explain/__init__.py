"""Why a job waits, was evicted or runs: reason codes, verdicts and whole explanations.

``run_explained(scheduler)`` runs one cycle and records it; ``cycle.explain("ns/job")`` answers an
:class:`Explanation` until the next cycle begins. Where only one job is to be explained,
``run_explained(scheduler, ledger_of(inventory, "ns/job"))`` is cheaper.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pumice.explain.codes import CODES, ReasonCode, code_of
    from pumice.explain.explanation import Change, Explanation, Level, Victim
    from pumice.explain.job import ExplainedCycle, explain_job, ledger_of, run_explained
    from pumice.explain.record import JobLedger

_HOME = {
    "CODES": "codes",
    "Change": "explanation",
    "ExplainedCycle": "job",
    "Explanation": "explanation",
    "JobLedger": "record",
    "Level": "explanation",
    "ReasonCode": "codes",
    "Victim": "explanation",
    "code_of": "codes",
    "explain_job": "job",
    "ledger_of": "job",
    "run_explained": "job",
}

__all__ = [
    "CODES",
    "Change",
    "ExplainedCycle",
    "Explanation",
    "JobLedger",
    "Level",
    "ReasonCode",
    "Victim",
    "code_of",
    "explain_job",
    "ledger_of",
    "run_explained",
]


def __getattr__(name: str) -> Any:
    """Import what is asked for: the verdict of a cycle needs no more than its own module."""
    home = _HOME.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{home}"), name)
