"""The shell completes the values of options and the names in a cluster."""

import shutil
from pathlib import Path

import pytest
from click.shell_completion import ShellComplete

from pumice.cli import main

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(autouse=True)
def _demo(tmp_path, monkeypatch):
    shutil.copytree(ROOT / "docs/examples/demo", tmp_path / "demo")
    monkeypatch.chdir(tmp_path)


def completed(*words: str) -> list[str]:
    *before, typed = words
    complete = ShellComplete(main, {}, "pumice", "_PUMICE_COMPLETE")
    return [item.value for item in complete.get_completions(before, typed)]


@pytest.mark.parametrize(
    "words, expected",
    [
        ("run --preset v", ["volcano"]),
        ("simulate --preset k", ["kai"]),
        ("config show --preset k", ["kai"]),
        ("run --trace job_order", ["job_order", "job_order_key"]),
        ("run --trace al", ["all", "allocatable"]),
        ("run --backend mem", ["memory"]),
        ("run --plain node_c", ["node_cache"]),
        ("simulate --format sw", ["swf"]),
        ("new plugin x --hook job_order", ["job_order", "job_order_key"]),
        ("explain --code TooL", ["TooLarge"]),
        ("explain production/train demo --queue r", ["research"]),
        ("explain production/train demo --node gpu-a", ["gpu-a"]),
        ("explain production/train demo --task production/train-0", ["production/train-0"]),
        ("hooks queue", ["queue_order", "queue_order_key"]),
        ("actions fair", ["fair_allocate"]),
    ],
)
def test_values_are_completed(words, expected):
    assert completed(*words.split()) == expected


def test_jobs_are_those_of_the_dump_in_this_folder():
    assert completed("explain", "production/") == []
    Path("dump.json").write_text(
        '{"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "PodGroup",'
        ' "metadata": {"name": "train", "namespace": "production"}}'
    )
    assert completed("explain", "production/") == ["production/train"]


@pytest.mark.parametrize("text", ["{", "\0"])
def test_a_broken_dump_completes_nothing(text):
    Path("dump.json").write_text(text)
    assert completed("explain", "p") == []
