"""The public API does not change without a word in the changelog."""

import copy
import json

import pytest

from tests import update_api_snapshot as api


@pytest.fixture(scope="module")
def old() -> dict:
    return json.loads(api.SNAPSHOT.read_text())


def test_every_change_since_the_snapshot_is_in_the_changelog(old):
    missing = api.unmentioned(old, api.current_api(), api.CHANGELOG.read_text())
    assert not missing, (
        "mention in docs/changelog.md, the name in `backquotes`, then run "
        f"`python tests/update_api_snapshot.py`: {missing}"
    )


def _add_name(new):
    new["names"].append("Novelty")


def _add_solver_name(new):
    new["modules"]["solver"].append("Novelty")


def _remove_point(new):
    del new["points"]["job_order"]


def _change_signature(new):
    new["points"]["job_order"] = "job_order(one: Job, two: Job) -> int [Compare]"


def _add_option(new):
    new["plugins"]["binpack"].append("binpack.novelty")


def _remove_action(new):
    del new["actions"]["shuffle"]


@pytest.mark.parametrize(
    "change, what, name",
    [
        (_add_name, "name Novelty added", "Novelty"),
        (_add_solver_name, "name of pumice.solver: Novelty added", "Novelty"),
        (_remove_point, "extension point job_order removed", "job_order"),
        (_change_signature, "extension point job_order changed", "job_order"),
        (_add_option, "option of plugin binpack: binpack.novelty added", "binpack.novelty"),
        (_remove_action, "action shuffle removed", "shuffle"),
    ],
)
def test_a_change_must_be_mentioned_above_the_last_release(old, change, what, name):
    new = copy.deepcopy(old)
    change(new)
    released = f"## {old['version']}\n"
    assert api.unmentioned(old, new, f"## Unreleased\n{released}") == [what]
    assert api.unmentioned(old, new, f"## Unreleased\n- `{name}`, changed.\n{released}") == []
    assert api.unmentioned(old, new, f"## Unreleased\n{released}- `{name}`, long ago.\n") == [what]


def test_the_snapshot_has_all_kinds_of_names(old):
    assert {"Plugin", "hookimpl", "extension_point"} <= set(old["names"])
    assert "binpack.weight" in old["plugins"]["binpack"]
    assert "allocate" in old["actions"]
    assert old["points"]["job_order"].endswith("[Compare]")
