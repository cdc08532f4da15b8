"""A bounded search over the options of a policy: each trial is a simulation."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pumice.config import load_policy
from pumice.discovery import Catalog
from pumice.errors import PumiceError
from pumice.simulation.compare import spread
from pumice.simulation.engine import Settings
from pumice.simulation.runs import PolicySource, TraceSource, run_all


@dataclass(slots=True, frozen=True)
class Range:
    """The values that are tried for one setting."""

    key: str
    """The setting, as for ``--set``."""
    low: float = 0.0
    high: float = 0.0
    whole: bool = False
    """Whether only whole numbers are tried."""
    choices: tuple[str, ...] = ()
    """The values, where they are listed."""

    @classmethod
    def of(cls, text: str) -> Range:
        """From ``KEY=LOW..HIGH`` or ``KEY=ONE,OTHER``.

        :raises PumiceError: it has another form.
        """
        key, equals, values = text.partition("=")
        low, dots, high = values.partition("..")
        try:
            if not (key and equals and values):
                raise ValueError
            if not dots:
                return cls(key, choices=tuple(values.split(",")))
            first, last = float(low), float(high)
            if not first < last < math.inf:
                raise ValueError
        except ValueError:
            raise PumiceError(
                f"--over {text}: should be KEY=LOW..HIGH or KEY=ONE,OTHER",
                hint="for example --over plugin.binpack.binpack.weight=0..10, LOW below HIGH",
            ) from None
        return cls(key, first, last, whole=first == int(first) and last == int(last))


@dataclass(slots=True, frozen=True)
class Trial:
    """One set of values, and what came of it."""

    values: Mapping[str, str]
    """By setting."""
    figures: tuple[float, ...]
    """The figures that are searched for, means over the seeds."""


def check(policy: PolicySource, span: Range) -> None:
    """Whether the policy has the setting and takes its first value.

    :raises PumiceError: it does not.
    """
    value = span.choices[0] if span.choices else f"{span.low:g}"
    overrides = (*policy.overrides, f"{span.key}={value}")
    loaded = load_policy(policy.file, preset=policy.preset, overrides=overrides)
    kind, _, rest = span.key.partition(".")
    names = {
        "plugin": [entry.name for entry in loaded.plugins],
        "action": [entry.name for entry in loaded.actions],
    }
    name = rest.partition(".")[0]
    if kind in names and name not in names[kind]:
        raise PumiceError(
            f"--over {span.key}: the policy does not use the {kind} {name!r}",
            hint=f"it uses {', '.join(names[kind])}",
        )


def higher_is_better(figure: str, catalog: Catalog) -> bool:
    """Whether larger values of a figure are better."""
    name = figure.partition(".")[0]
    return bool(catalog.load("measure", name).cls.higher_is_better)


def search(
    source: TraceSource,
    policy: PolicySource,
    ranges: Sequence[Range],
    goals: Sequence[str],
    seeds: Sequence[int],
    settings: Settings,
    *,
    trials: int,
    processes: int = 0,
    report: Callable[[int, int], None] | None = None,
) -> list[Trial]:
    """Try values one after the other; the same seeds give the same trials.

    :raises PumiceError: Optuna is not installed, or a goal is no figure.
    """
    optuna = _optuna()
    catalog = Catalog()
    directions = ["maximize" if higher_is_better(goal, catalog) else "minimize" for goal in goals]
    done: list[Trial] = []

    def objective(trial: Any) -> tuple[float, ...]:
        values = {span.key: _suggest(trial, span) for span in ranges}
        overrides = (*policy.overrides, *(f"{key}={value}" for key, value in values.items()))
        chosen = replace(policy, overrides=overrides)
        outcomes = run_all(source, [chosen], seeds, settings, processes=processes)
        missing = [goal for goal in goals if goal not in outcomes[0].figures]
        if missing:
            raise PumiceError(
                f"--for {missing[0]}: there is no such figure",
                hint="'pumice simulate … -o json' shows all of them",
            )
        figures = tuple(
            spread(outcome.figures[goal] for outcome in outcomes).mean for goal in goals
        )
        done.append(Trial(values, figures))
        if report is not None:
            report(len(done), trials)
        worst = {"minimize": math.inf, "maximize": -math.inf}
        pairs = zip(figures, directions, strict=True)
        return tuple(worst[way] if math.isnan(value) else value for value, way in pairs)

    sampler = optuna.samplers.TPESampler(seed=seeds[0])
    study = optuna.create_study(directions=directions, sampler=sampler)
    study.optimize(objective, n_trials=trials)
    return done


def _suggest(trial: Any, span: Range) -> str:
    if span.choices:
        return str(trial.suggest_categorical(span.key, list(span.choices)))
    if span.whole:
        return str(trial.suggest_int(span.key, int(span.low), int(span.high)))
    return f"{trial.suggest_float(span.key, span.low, span.high):.6g}"


def _optuna() -> Any:
    try:
        import optuna
    except ImportError:
        raise PumiceError(
            "Optuna, which does the search, is not installed",
            hint="pip install 'pumice-framework[tune]'",
        ) from None
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    return optuna


def front(trials: Sequence[Trial], better_high: Sequence[bool]) -> list[Trial]:
    """The trials that no other trial beats in every goal, the best in the first goal first."""

    def costs(trial: Trial) -> tuple[float, ...]:
        pairs = zip(trial.figures, better_high, strict=True)
        signed = (-value if high else value for value, high in pairs)
        return tuple(math.inf if math.isnan(value) else value for value in signed)

    best: dict[tuple[float, ...], Trial] = {}
    for trial in trials:
        best.setdefault(costs(trial), trial)
    chosen = [
        cost
        for cost in best
        if not any(
            other != cost and all(a <= b for a, b in zip(other, cost, strict=True))
            for other in best
        )
    ]
    return [best[cost] for cost in sorted(chosen)]
