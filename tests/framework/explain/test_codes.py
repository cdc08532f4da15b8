"""Every reason code is produced: by a scenario that expects it, or by a test named here."""

import msgspec
import pytest

from pumice import Plugin, hookimpl
from pumice.explain.codes import CODES
from pumice.explain.verdict import verdict_of
from pumice.model.task import TaskStatus
from pumice.scenarios import find_files, read_file
from pumice.scenarios.scenario import parse
from pumice.verdicts import Refusal
from pumice_builtin_actions.allocate import Allocate
from tests.framework._build import World, policy
from tests.framework.cli import test_explain as cli
from tests.framework.explain import test_verdict as verdicts
from tests.framework.explain.test_golden import ROOT


class Objects(Plugin):
    @hookimpl
    def pre_bind(self, bind_context):
        return "the disk is gone"


def test_a_bind_that_a_plugin_refuses():
    (job,) = World().node("n").job("j").run(policy([Objects], actions=[Allocate])).jobs
    assert job.code == "BindRefused"
    assert "the disk is gone" in job.reason


@pytest.mark.parametrize("code", ["EvictionRefused", "SearchBudgetSpent"])
def test_what_an_evicting_action_says_of_its_end(code):
    session, job = verdicts.session_with(TaskStatus.PENDING)
    job.refusals.append(Refusal(code, "reclaim evicts nothing for it"))
    found = verdict_of(session, job)
    assert found.code == code
    assert found.text.endswith("; reclaim: evicts nothing for it")


def test_a_reservation_that_ended():
    session, job = verdicts.session_with(TaskStatus.PENDING)
    job.refusals.append(Refusal("ReservationEnded", "node n is gone"))
    assert verdict_of(session, job) == ("ReservationEnded", "node n is gone")


BY_TESTS = {
    "PluginFault": verdicts.test_a_plugins_error_is_the_reason,
    "BindRefused": test_a_bind_that_a_plugin_refuses,
    "EvictionRefused": test_what_an_evicting_action_says_of_its_end,
    "SearchBudgetSpent": test_what_an_evicting_action_says_of_its_end,
    "ReservationEnded": test_a_reservation_that_ended,
    "LeftOut": cli.test_a_job_that_takes_no_part,
}
"""Codes that need a faulty plugin or an unreadable object, or that no small cluster shows."""


def expected_codes():
    for file in find_files([ROOT / "tests" / "scenarios"]):
        for text in read_file(file):
            if b"explain" in bytes(text):
                expected = parse(text, str(file)).expect.explain
                yield from (
                    one["code"] for one in msgspec.to_builtins(expected).values() if one.get("code")
                )


def test_every_code_is_produced():
    by_scenarios = set(expected_codes())
    assert by_scenarios <= CODES.keys()
    assert by_scenarios | BY_TESTS.keys() == CODES.keys()
    assert not by_scenarios & BY_TESTS.keys()
