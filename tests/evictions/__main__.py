"""``python -m tests.evictions``: run random clusters and print what must not happen."""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter, defaultdict
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import chain
from pathlib import Path

import yaml

from tests.evictions.generator import Items, draw
from tests.evictions.kinds import KINDS
from tests.evictions.reduce import reduce
from tests.evictions.run import RULES, Result, Run, policy_of

_EXAMPLES = 8


def main(argv: list[str] | None = None) -> int:
    options = _parser().parse_args(argv)
    if options.reduce is not None or options.show is not None:
        return _one(options)
    seeds = _seeds(options.seeds)
    with ProcessPoolExecutor(options.workers) as pool:
        chunks = [seeds[start :: options.workers] for start in range(options.workers)]
        work = partial(_run_seeds, options.preset, options.family, churn=options.churn)
        results = dict(chain.from_iterable(pool.map(work, chunks)))
    _print_table(options, {seed: results[seed] for seed in seeds})
    return int(any(result.violations for result in results.values()))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.evictions", description=__doc__)
    parser.add_argument("--preset", default="pumice", help="a preset or a policy file")
    parser.add_argument("--family", choices=["volcano", "kai"], default="volcano")
    parser.add_argument("--seeds", default="0-99", help="like 0-199 or 3,17,40")
    parser.add_argument("--workers", type=int, default=1, help="processes")
    parser.add_argument("--churn", action="store_true", help="jobs come and go at first")
    parser.add_argument("--show", help="a seed or manifest: print its violations and decisions")
    parser.add_argument("--reduce", help="a seed or manifest: shrink it while --kind stays")
    parser.add_argument("--kind", choices=list(KINDS), help="the violation to reduce")
    parser.add_argument("-o", "--output", default="-", help="where the reduced manifest goes")
    return parser


def _seeds(text: str) -> list[int]:
    seeds: list[int] = []
    for part in text.split(","):
        first, _, last = part.partition("-")
        seeds += range(int(first), int(last or first) + 1)
    return seeds


def _run_seeds(
    preset: str, family: str, seeds: list[int], *, churn: bool
) -> list[tuple[int, Result]]:
    policy, rules = policy_of(preset), RULES.get(preset, RULES["pumice"])
    return [
        (seed, Run(draw(seed, family), policy, rules, churn=seed if churn else None).cycles())
        for seed in seeds
    ]


def _print_table(options: argparse.Namespace, results: dict[int, Result]) -> None:
    times: Counter[str] = Counter()
    clusters: dict[str, list[int]] = defaultdict(list)
    for seed, result in results.items():
        times.update(violation.kind for violation in result.violations)
        for kind in {violation.kind for violation in result.violations}:
            clusters[kind].append(seed)
    evicting = sum(1 for result in results.values() if result.evictions)
    evictions = sum(result.evictions for result in results.values())
    print(
        f"{options.preset}, {options.family} objects: {len(results)} clusters, "
        f"{evicting} of them evict, {evictions} evictions"
    )
    for kind, meaning in KINDS.items():
        seeds = clusters.get(kind, [])
        examples = " ".join(map(str, seeds[:_EXAMPLES]))
        print(f"{kind:18} {len(seeds):5} clusters {times[kind]:6} times  {examples:40} {meaning}")


def _one(options: argparse.Namespace) -> int:
    policy, rules = policy_of(options.preset), RULES.get(options.preset, RULES["pumice"])
    source = options.reduce or options.show
    items = _items(source, options.family)
    churn = int(source) if options.churn and source.isdigit() else None

    def violates(smaller: Items) -> bool:
        found = Run(smaller, policy, rules, churn=churn).cycles().violations
        return any(violation.kind == options.kind for violation in found)

    if options.reduce is None:
        run = Run(items, policy, rules, churn=churn)
        result = run.cycles()
        for number, decisions in enumerate(run.backend.history, 1):
            told = decisions.as_json()
            for name in ("binds", "evictions", "pipelined"):
                for one in told[name]:
                    print(f"decision {number} {name}: {one}")
        for violation in result.violations:
            print(f"cycle {violation.cycle} {violation.kind}: {violation.detail}")
        return int(bool(result.violations))
    if options.kind is None or not violates(items):
        print(f"no violation of kind {options.kind} to reduce", file=sys.stderr)
        return 2
    listing = {"apiVersion": "v1", "kind": "List", "items": reduce(items, violates)}
    text = yaml.safe_dump(json.loads(json.dumps(listing)), sort_keys=False)
    if options.output == "-":
        print(text)
    else:
        Path(options.output).write_text(text)
    return 0


def _items(source: str, family: str) -> Items:
    if source.isdigit():
        return draw(int(source), family)
    documents = yaml.safe_load_all(Path(source).read_text())
    return [
        item
        for document in documents
        if document
        for item in (document["items"] if document["kind"] == "List" else [document])
    ]


if __name__ == "__main__":
    sys.exit(main())
