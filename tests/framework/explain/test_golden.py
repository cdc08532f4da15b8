"""What ``pumice explain`` prints, compared with files; run this module to write them again."""

from pathlib import Path

import pytest

from pumice.explain import run_explained
from pumice.explain.codes import CODES
from pumice.explain.text import code_text, explanation_text
from pumice.scenarios import Runner, find_files, read_file
from pumice.scenarios.scenario import parse

ROOT = Path(__file__).parents[3]
GOLDEN = Path(__file__).parent / "golden"
SCENARIOS = sorted(find_files([ROOT / "tests" / "scenarios" / "explain"]))


def explanations(file: Path) -> str:
    """The explanations of all jobs that a scenario of one cycle names."""
    (text,) = read_file(file)
    scenario = parse(text, str(file))
    scheduler, _ = Runner().scheduler(scenario, file)
    cycle = run_explained(scheduler)
    return "\n\n".join(explanation_text(cycle.explain(job)) for job in scenario.expect.explain)


def texts() -> dict[str, str]:
    found = {file.stem: explanations(file) for file in SCENARIOS}
    return found | {f"code/{code.code}": code_text(code) for code in CODES.values()}


@pytest.mark.parametrize("file", SCENARIOS, ids=lambda file: file.stem)
def test_explanations(file):
    assert explanations(file) + "\n" == (GOLDEN / f"{file.stem}.txt").read_text()


@pytest.mark.parametrize("name", CODES)
def test_codes(name):
    assert code_text(CODES[name]) + "\n" == (GOLDEN / "code" / f"{name}.txt").read_text()


def test_no_file_is_left_over():
    files = {str(path.relative_to(GOLDEN).with_suffix("")) for path in GOLDEN.rglob("*.txt")}
    assert files == {file.stem for file in SCENARIOS} | {f"code/{name}" for name in CODES}


if __name__ == "__main__":
    for path in GOLDEN.rglob("*.txt"):
        path.unlink()
    for name, text in texts().items():
        path = GOLDEN / f"{name}.txt"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text + "\n")
