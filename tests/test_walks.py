"""The walks of the architecture page are what happens: every call of their examples is recorded."""

import importlib
import subprocess
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from types import FrameType

import pytest

from pumice import MemoryBackend, Scheduler, load_policy
from pumice.discovery import Catalog

DOCS = Path(__file__).parent.parent / "docs"


sys.path.insert(0, str(DOCS))
walks = importlib.import_module("walks")
sys.path.remove(str(DOCS))
Call = tuple[str, str]
"""Module and function."""


def recorded(walk) -> list[tuple[Call, frozenset[Call]]]:
    """Every call of a run, with the calls that it was made in."""
    policy = load_policy(preset=walk.preset, env={}, catalog=Catalog())
    calls: list[tuple[Call, frozenset[Call]]] = []
    stack: list[Call] = []

    def on_call(frame: FrameType, event: str, argument: object) -> None:
        if event not in ("call", "return"):
            return
        module = frame.f_globals.get("__name__", "")
        if not module.startswith("pumice"):
            return
        if event == "call":
            call = (module, frame.f_code.co_qualname)
            calls.append((call, frozenset(stack)))
            stack.append(call)
        elif stack:
            stack.pop()

    sys.setprofile(on_call)
    try:
        backend = MemoryBackend.from_files([str(walks.EXAMPLES / walk.example)])
        Scheduler(backend, policy).run_once()
    finally:
        sys.setprofile(None)
    return calls


def expected(walk) -> Iterator[tuple[Call, Call | None]]:
    """Every step, and the step of another folder before it, in whose call it must be made."""
    for question in walk.questions:
        for position, step in enumerate(question.steps):
            before = [s for s in question.steps[:position] if s.lane != step.lane]
            asker = before[-1] if before else question.steps[0] if position else None
            yield (
                (step.module, step.function),
                (asker.module, asker.function) if asker else None,
            )


def unmatched(walk) -> list[Call]:
    """The steps from the first one that was not called in its turn.

    The first step of a question may have been called earlier, if it is still going on when the
    second is called.
    """
    steps = list(expected(walk))
    at = 0
    for call, within in recorded(walk):
        if at == len(steps):
            break
        step, asker = steps[at]
        if asker is None and call != step and step in within and at + 1 < len(steps):
            following, _ = steps[at + 1]
            at += 2 if call == following else 0
        elif call == step and (asker is None or asker in within):
            at += 1
    return [step for step, _ in steps[at:]]


@pytest.mark.parametrize("walk", walks.WALKS, ids=lambda walk: walk.name)
class TestWalk:
    def test_every_module_and_function_exists(self, walk):
        for question in walk.questions:
            for step in question.steps:
                found: object = importlib.import_module(step.module)
                for name in step.function.split("."):
                    found = getattr(found, name)
                assert callable(found)

    def test_a_question_enters_each_folder_once(self, walk):
        for question in walk.questions:
            lanes = [step.lane for step in question.steps]
            entered = lanes[:1] + [new for old, new in pairwise(lanes) if new != old]
            assert len(entered) == len(set(entered)), question.text

    def test_a_question_goes_from_the_outside_in(self, walk):
        order = list(walks.LANES)
        for question in walk.questions:
            places = [order.index(step.lane) for step in question.steps]
            assert places == sorted(places), question.text

    def test_a_run_makes_these_calls_in_this_order(self, walk):
        # In a process of its own: a profile function sees whatever else this one has going on.
        command = [sys.executable, __file__, walk.name]
        run = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
        assert (run.returncode, run.stdout.strip()) == (0, "[]"), run.stderr

    def test_the_page_shows_the_picture(self, walk):
        assert f"img/{walk.name}.svg" in (DOCS / "architecture.md").read_text()
        assert (DOCS / "img" / f"{walk.name}.svg").read_text() == walks.draw(walk)


if __name__ == "__main__":
    print(unmatched(next(walk for walk in walks.WALKS if walk.name == sys.argv[1])))
