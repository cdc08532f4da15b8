"""Running scenarios and comparing them with the expected outcome."""

import json
from pathlib import Path

import pytest

from pumice import Action, Plugin, hookimpl
from pumice.config.settings import AS_UPSTREAM
from pumice.scenarios import Result
from pumice.scenarios.scenario import parse
from tests.framework.scenarios._objects import group, node, pod, queue, scenario

BOTH = {
    "actions": ["evict-all", "first-fit"],
    "tiers": [{"plugins": ["whole"]}],
    "evictions": AS_UPSTREAM,
}


@pytest.fixture
def run(runner, tmp_path):
    def run(data, file="case.json") -> Result:
        text = json.dumps(data).encode()
        return runner.run_text(text, tmp_path / file, id="case")

    return run


TWO = (pod("x"), pod("y"))
BIG = pod("z", cpu="9")


@pytest.mark.parametrize(
    "expect, objects",
    [
        ({"binds": {"ns/x": "a", "ns/y": "a"}}, TWO),
        ({"bind_count": 2, "evictions": [], "evict_count": 0, "pipeline_count": 0}, TWO),
        ({"max_evictions": 0, "max_evictions_per_task": 0}, TWO),
        ({"phases": {"ns/job": "Inqueue"}}, TWO),
        ({"task_counts": {"ns/job": {"Binding": 2, "Pending": 1, "Running": 0}}}, (*TWO, BIG)),
        ({"jobs": {"ns/job": {"status": "Binding", "node": "a"}}}, TWO),
        ({"tasks": {"ns/x": {"status": "Binding", "node": "a"}}}, (*TWO, BIG)),
        ({"tasks": {"ns/z": {"status": "Pending"}}}, (*TWO, BIG)),
    ],
)
def test_an_expected_outcome_passes(run, expect, objects):
    result = run(scenario(expect, *objects))
    assert (result.verdict, result.mismatches, result.error) == ("passed", (), "")


@pytest.mark.parametrize(
    "expect, reported",
    [
        (
            {"binds": {"ns/x": "b", "ns/z": "a"}},
            [
                "binds ns/x: expected b, got a",
                "binds ns/y: expected not bound, got a",
                "binds ns/z: expected a, got not bound",
            ],
        ),
        ({"bind_count": 3}, ["bind_count: expected 3, got 2"]),
        ({"evictions": ["ns/x"]}, ["evictions ns/x: expected evicted, got not evicted"]),
        ({"evict_count": 1}, ["evict_count: expected 1, got 0"]),
        (
            {"pipelined": {"ns/job": ["a", "b"]}},
            ["pipelined ns/job: expected a task on a or b, got none"],
        ),
        ({"pipeline_count": 1}, ["pipeline_count: expected 1, got 0"]),
        ({"phases": {"ns/job": "Running"}}, ["phases ns/job: expected Running, got Inqueue"]),
        ({"phases": {"ns/jib": "Running"}}, ["phases ns/jib: expected Running, got no such job"]),
        (
            {"task_counts": {"ns/job": {"Binding": 3}}},
            ["task_counts ns/job: expected 3 Binding, got 2"],
        ),
        (
            {"jobs": {"ns/job": {"status": "Binding"}}},
            ["jobs ns/job ns/z: expected Binding, got Pending"],
        ),
        (
            {"jobs": {"ns/jib": {"status": "Binding"}}},
            ["jobs ns/jib: expected Binding, got no task of this job"],
        ),
        (
            {"tasks": {"ns/x": {"status": "Binding", "node": "b"}}},
            ["tasks ns/x: expected Binding on b, got Binding on a"],
        ),
        (
            {"tasks": {"ns/w": {"status": "Running"}}},
            ["tasks ns/w: expected Running, got no such task"],
        ),
    ],
)
def test_an_unexpected_outcome_fails_and_is_reported(run, expect, reported):
    result = run(scenario(expect, *TWO, BIG))
    assert result.verdict == "failed"
    assert [str(mismatch) for mismatch in result.mismatches] == reported


def test_a_failure_reports_why_the_job_waits(run):
    result = run(scenario({"binds": {"ns/z": "a"}}, BIG))
    assert result.reasons[0][0] == "ns/job"
    assert result.reasons[0][1] == "z asks for 9 cpu, the largest node has 2"


def test_evictions_are_compared_without_order_and_over_all_cycles(run):
    running = (pod("x", on="a"), pod("y", on="a"))
    expect = {"evictions": ["ns/y", "ns/x"], "evict_count": 2, "max_evictions": 2}
    data = scenario(expect, *running, config=BOTH, cycles=2)
    assert run(data).verdict == "passed"
    result = run({**data, "expect": {"max_evictions": 1, "max_evictions_per_task": 0}})
    assert [str(mismatch) for mismatch in result.mismatches] == [
        "max_evictions: expected at most 1, got 2",
        "max_evictions_per_task ns/x: expected at most 0, got 1",
        "max_evictions_per_task ns/y: expected at most 0, got 1",
    ]


def test_a_pipelined_task_is_on_one_of_the_nodes(run):
    # The running pod is evicted, and the pending one is pipelined on its node.
    objects = (node("a", "1"), queue(), group(), pod("x", on="a"), pod("y"))
    data = {"config": BOTH, "objects": objects, "expect": {"pipelined": {"ns/job": ["a"]}}}
    assert run(data).verdict == "passed"
    result = run({**data, "expect": {"pipelined": {"ns/job": ["b"]}}})
    assert [str(mismatch) for mismatch in result.mismatches] == [
        "pipelined ns/job: expected ns/y on b, got on a"
    ]


@pytest.mark.parametrize(
    "between, cycles, states",
    [
        ("settle", 1, {"ns/x": ("Releasing", "a"), "ns/y": ("Pipelined", "a")}),
        ("settle", 2, {"ns/y": ("Binding", "a")}),
        ("none", 2, {"ns/x": ("Releasing", "a"), "ns/y": ("Pipelined", "a")}),
        ("recreate", 1, {"ns/x": ("Pending", ""), "ns/y": ("Pending", "")}),
        ("recreate", 2, {"ns/x": ("Running", "a"), "ns/y": ("Pending", "")}),
    ],
)
def test_states_are_those_after_the_last_cycle(run, between, cycles, states):
    objects = (node("a", "1"), queue(), group(), pod("x", on="a"), pod("y"))
    tasks = {task: {"status": status, "node": n or None} for task, (status, n) in states.items()}
    extra = {"between_cycles": between}
    data = {"config": BOTH, "objects": objects, "extra": extra, "cycles": cycles}
    result = run({**data, "expect": {"tasks": tasks}})
    assert (result.mismatches, result.error) == ((), "")


def test_an_eviction_may_take_cycles(run):
    objects = (node("a", "1"), queue(), group(), pod("x", on="a"), pod("y"))
    data = {"config": BOTH, "objects": objects, "expect": {"binds": {"ns/y": "a"}}}
    slow = {"eviction_takes": 1}
    assert run({**data, "cycles": 2}).verdict == "passed"
    assert run({**data, "cycles": 2, "extra": slow}).verdict == "failed"
    assert run({**data, "cycles": 3, "extra": slow}).verdict == "passed"


def test_each_cycle_may_have_actions_and_objects_of_its_own(run):
    extra = {
        "cycle_actions": [["first-fit"], [], ["first-fit"]],
        "add_before_cycle": {"2": [pod("y")], "3": [group("late"), pod("w", "late")]},
    }
    expect = {"binds": {"ns/x": "a", "ns/y": "a", "ns/w": "b"}}
    result = run(scenario(expect, pod("x"), extra=extra, cycles=3))
    assert (result.mismatches, result.error) == ((), "")
    result = run(
        scenario(
            {"bind_count": 1},
            pod("x"),
            extra={**extra, "cycle_actions": [["first-fit"], [], []]},
            cycles=3,
        )
    )
    assert result.verdict == "passed"


def test_facts_outside_the_manifests_reach_objects_and_plugins(run, catalog):
    seen = {}

    class Look(Plugin):
        @hookimpl
        def on_session_open(self):
            cluster = self.session.cluster
            seen["gates"] = cluster.inventory.feature_gates
            seen["now"] = self.session.now
            seen["state"] = cluster.tasks["ns-x"].status.label
            seen["pods"] = cluster.nodes.max_pods.tolist()[0]
            seen["job"] = self.session.jobs["ns/job"].group.priority

    catalog.register_local("plugin", "look", Look)
    extra = {
        "now": "1970-01-01T00:01:00Z",
        "feature_gates": {"SomeGate": True},
        "tasks": {"ns/x": {"state": "Running", "node": "b"}},
        "nodes": {"a": {"max_task_num": 5}},
        "jobs": {"ns/job": {"priority": 9}},
    }
    config = {"actions": ["first-fit"], "tiers": [{"plugins": ["look"]}]}
    expect = {"tasks": {"ns/x": {"status": "Running", "node": "b"}}}
    result = run(scenario(expect, pod("x"), config=config, extra=extra))
    assert (result.mismatches, result.error) == ((), "")
    assert seen == {
        "gates": {"SomeGate": True}, "now": 60.0, "state": "Running", "pods": 5, "job": 9,
    }  # fmt: skip


def test_a_gated_pod_differs_from_a_pending_one(run):
    gated = pod("x")
    gated["spec"]["schedulingGates"] = [{"name": "wait"}]
    expect = {"tasks": {"ns/x": {"status": "Gated"}}}
    none = {"actions": [], "tiers": [{"plugins": ["whole"]}]}
    policy = {**none, "actions": ["evict-all"]}
    assert run(scenario(expect, gated, config=policy)).verdict == "passed"
    assert run(scenario(expect, pod("x"), config=policy)).verdict == "failed"


def test_parts_that_are_not_installed_skip_the_scenario_by_name(run):
    config = {"actions": ["first-fit", "nap"], "tiers": [{"plugins": ["whole", "dream"]}]}
    result = run(scenario({"bind_count": 0}, config=config))
    assert result.verdict == "skipped"
    assert result.missing == (("plugin", "dream"), ("action", "nap"))


def test_a_plugin_that_raises_fails_the_scenario_unless_the_policy_isolates_it(run):
    config = {"actions": ["first-fit"], "tiers": [{"plugins": ["whole", "broken"]}]}
    result = run(scenario({"bind_count": 0}, pod("x"), config=config))
    assert result.verdict == "error"
    assert "plugin broken" in result.error
    assert "out of order" in result.error
    isolated = {**config, "scheduler": {"on_plugin_error": "isolate"}}
    assert run(scenario({"bind_count": 0}, pod("x"), config=isolated)).verdict == "passed"


def test_an_action_that_raises_fails_the_scenario_and_says_where(run, catalog):
    class Crash(Action):
        def execute(self, session):
            raise KeyError("lost")

    catalog.register_local("action", "crash", Crash)
    config = {"actions": ["crash"], "tiers": [{"plugins": ["whole"]}]}
    result = run(scenario({"bind_count": 0}, config=config))
    assert result.verdict == "error"
    assert result.error.startswith("action crash (local) failed in execute: KeyError: 'lost' (")
    assert "test_runner.py" in result.error


def test_malformed_objects_are_reported(run):
    result = run(scenario({"bind_count": 0}, {"apiVersion": "v1", "kind": "Pod"}))
    assert result.verdict == "passed"
    assert "objects[4]" in result.warnings[0]


@pytest.mark.parametrize(
    "change, message",
    [
        ({"expect": {}}, "expect: nothing is expected"),
        ({"expect": {"tasks": {}}}, "expect: nothing is expected"),
        ({"expect": {"bindz": {}}}, "expect: there is no key 'bindz'; did you mean 'binds'?"),
        ({"expct": {}}, "there is no key 'expct'; did you mean 'expect'?"),
        (
            {"expect": {"tasks": {"ns/x": {"status": "Running", "nod": "a"}}}},
            "there is no key 'nod'; did you mean 'node'?",
        ),
        (
            {"expect": {"tasks": {"ns/x": {"status": "Runing"}}}},
            "no status is named 'Runing'; did you mean 'Running'?",
        ),
        ({"expect": {"bind_count": "2"}}, "expect.bind_count: expected a whole number"),
        ({"expect": {"bind_count": -1}}, "expect.bind_count: "),
        ({"cycles": 0}, "cycles: "),
        ({"dialect": "latin"}, "dialect: invalid enum value 'latin'"),
        ({"cluster": "here"}, "either 'objects' or 'cluster'; both is given"),
        ({"objects": None}, "either 'objects' or 'cluster'; neither is given"),
        ({"extra": {"between_cycles": "rest"}}, "extra.between_cycles: invalid enum value 'rest'"),
        ({"extra": {"cycle_actions": [[], []]}}, "extra.cycle_actions: 2 lists for 1 cycles"),
        ({"extra": {"add_before_cycle": {"2": []}}}, "there is no cycle 2"),
        ({"extra": []}, "extra: expected a table"),
        ({"extra": {"now": "noon"}}, "extra.now: 'noon' is no time"),
        ({"config": {"actoins": [], "tiers": []}}, "did you mean 'actions'?"),
        ({"config": "no-such.toml"}, "no-such.toml"),
        ({"config": "no-such.toml", "dialect": "volcano"}, "no-such.toml"),
    ],
)
def test_a_bad_scenario_is_an_error_that_names_the_key(run, change, message):
    result = run({**scenario({"bind_count": 0}), **change})
    assert result.verdict == "error"
    assert message in result.error


def test_the_clock_is_later_than_every_object():
    from pumice.model.facts import Inventory
    from pumice.scenarios import cluster

    def clock(*created, added=None, **extra):
        facts = Inventory()
        for number, time in enumerate(created):
            facts.nodes[str(number)] = type("Node", (), {"created": time})()
        text = json.dumps({"expect": {"bind_count": 0}, "objects": [], "extra": extra})
        return cluster.clock(facts, parse(text.encode(), "x").facts(), added)

    year = 365 * 86400.0
    assert clock(now=5) == 5.0
    assert clock(50 * year) > 50 * year + 3600
    assert clock(200 * year) == 200 * year + 86400
    assert clock() == clock(0.0)


def test_results_are_plain_data():
    result = Result("id", "file", "title", "skipped", missing=(("plugin", "x"),))
    assert json.loads(json.dumps(result.as_json()))["missing"] == [{"kind": "plugin", "name": "x"}]
    assert not result.failed
    assert Path(result.file).name == "file"
