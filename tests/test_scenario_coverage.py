"""Every builtin has scenarios of its own, and each of them would miss it."""

import json
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from pumice.config import Policy
from pumice.discovery import Catalog
from pumice.scenarios import Result, Runner, find_files, read_file

SCENARIOS = Path(__file__).parent / "scenarios"
ENOUGH = {"plugin": 3, "action": 5}
BAD = "bad_"
"""How the name of a file begins whose scenario is about input that is wrong."""

TELLS_ONLY = {"on_session_open", "on_session_close", "http_handlers"}
"""Extension points that decide nothing, so that no scenario could miss their answer."""

BUILTINS = {
    (kind, line.installed.name): line.loaded
    for kind in ENOUGH
    for line in Catalog().listing(kind)
    if line.installed.source.distribution == f"pumice-builtin-{kind}s"
}
PARTS = [
    part
    for part, loaded in BUILTINS.items()
    if not (loaded and loaded.points and TELLS_ONLY.issuperset(loaded.points))
]


class Without(Runner):
    """Runs scenarios as if their policies did not name one part."""

    def __init__(self, kind: str, name: str) -> None:
        super().__init__()
        self.kind = kind
        self.name = name
        self.taken_out = False

    def _policy(self, scenario, file) -> Policy:
        policy = super()._policy(scenario, file)
        entries = policy.plugins if self.kind == "plugin" else policy.actions
        self.taken_out = any(entry.name == self.name for entry in entries)
        if self.kind == "action":
            left = tuple(action for action in policy.actions if action.name != self.name)
            return replace(policy, actions=left)
        tiers = tuple(tuple(p for p in tier if p.name != self.name) for tier in policy.tiers)
        return replace(policy, tiers=tiers)


def folder_of(kind: str, name: str) -> Path:
    return SCENARIOS / f"{kind}s" / name


@cache
def files_of(kind: str, name: str) -> tuple[Path, ...]:
    folder = folder_of(kind, name)
    return tuple(find_files([folder])) if folder.is_dir() else ()


def results(runner: Runner, files: tuple[Path, ...]) -> Iterator[Result]:
    return (result for file in files for result in runner.run_file(file))


@pytest.mark.parametrize("kind, name", PARTS)
def test_every_part_has_enough_scenarios_and_one_with_bad_input(kind, name):
    files = files_of(kind, name)
    count = sum(len(read_file(file)) for file in files)
    bad = any(file.name.startswith(BAD) for file in files)
    wanting = count < ENOUGH[kind] or not bad
    assert not wanting, (
        f"{folder_of(kind, name)}: {count} scenarios, {ENOUGH[kind]} wanted; "
        f"with bad input ({BAD}*): {bad}"
    )


@pytest.mark.parametrize("kind, name", [part for part in PARTS if folder_of(*part).is_dir()])
def test_no_scenario_holds_when_its_part_is_taken_out(kind, name):
    runner = Without(kind, name)
    wrong = []
    for result in results(runner, files_of(kind, name)):
        if not runner.taken_out:
            wrong.append(f"{result.id}: its policy does not name the {kind}")
        elif result.verdict != "failed":
            wrong.append(f"{result.id}: {result.verdict} all the same {result.error}")
    assert not wrong, "\n".join(wrong)


def test_every_folder_is_of_a_part():
    folders = {
        (kind, folder.name) for kind in ENOUGH for folder in (SCENARIOS / f"{kind}s").iterdir()
    }
    assert folders <= set(BUILTINS)


def test_every_scenario_says_in_a_sentence_what_it_is_about():
    short = [
        str(file)
        for file in find_files([SCENARIOS])
        for scenario in map(json.loads, map(bytes, read_file(file)))
        if len(scenario.get("title", "").split()) < 4
    ]
    assert not short
