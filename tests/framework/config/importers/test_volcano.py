"""``pumice config import``: Volcano's configuration as a policy that decides the same."""

import json

import pytest
import tomli

from pumice.config import load_policy, policy_from_dict
from pumice.config.importers._toml import write_toml
from pumice.config.importers.volcano.flags import FLAGS, points_off
from pumice.config.importers.volcano.policy import import_volcano
from pumice.config.settings import AS_UPSTREAM
from pumice.errors import PolicyError
from pumice.hookspecs import POINTS
from pumice_builtin_actions.allocate import Allocate
from tests.framework.config.importers._others import catalog_with
from tests.framework.config.importers._volcano import BUILT_IN, HELM, imported, texts


def refused(text, **more):
    with pytest.raises(PolicyError) as caught:
        import_volcano(text, **more)
    return caught.value.problems


# -- what upstream starts with


def test_the_built_in_configuration():
    policy, notes = import_volcano(BUILT_IN)
    assert notes == []
    assert policy == {
        "actions": ["enqueue", "allocate", "backfill"],
        "tiers": [
            {"plugins": ["priority", "gang", "conformance"]},
            {"plugins": ["overcommit", "drf", "predicates", "proportion", "nodeorder"]},
        ],
        "action": {"backfill": {"upstreamChecks": True}},
        "evictions": AS_UPSTREAM,
    }
    loaded = policy_from_dict(policy)
    preempting = loaded.voters("preemptable")
    assert [[entry.name for entry in tier] for tier in preempting] == [
        ["priority", "gang", "conformance"],
        ["drf"],
    ]


def test_the_configuration_of_the_chart_is_the_preset_but_for_the_evicting_actions():
    policy, notes = import_volcano(HELM)
    assert notes == []
    preset = load_policy(preset="volcano", env={}).raw
    assert policy["tiers"] == preset["tiers"]
    assert policy["actions"] == preset["actions"][:3]
    assert preset["actions"][3:] == ["reclaim", "preempt"]
    preempting = policy_from_dict(policy).voters("preemptable")
    assert [[entry.name for entry in tier] for tier in preempting] == [
        ["priority", "conformance"],
        [],
    ]


@pytest.mark.parametrize("text", [BUILT_IN, HELM])
def test_the_text_reads_back_as_the_same_policy(tmp_path, text):
    policy, notes = import_volcano(text)
    file = tmp_path / "policy.toml"
    file.write_text(write_toml(policy, "Imported.", notes), encoding="utf-8")
    assert tomli.loads(file.read_text("utf-8")) == policy
    loaded = load_policy(file, env={})
    assert loaded.warnings == ()
    assert {key: value for key, value in loaded.raw.items() if value} == policy


def test_a_config_map_around_it_is_taken_off():
    around = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "volcano-scheduler-configmap"},
        "data": {"volcano-scheduler.conf": HELM, "other": "1"},
    }
    assert import_volcano(json.dumps(around)) == import_volcano(HELM)
    around["data"]["second.conf"] = HELM
    (problem,) = refused(json.dumps(around))
    assert "not volcano-scheduler.conf and second.conf" in problem
    around["data"] = None
    (problem,) = refused(json.dumps(around))
    assert "not none" in problem


# -- switches


def test_every_switch_is_of_points_that_there_are_and_that_can_be_switched():
    for flag, points in FLAGS.items():
        for point in points:
            assert POINTS[point].gated, flag
            assert POINTS[point].base == point, flag


@pytest.mark.parametrize(
    "plugin, flag, disable",
    [
        ("gang", "enableJobOrder", ["job_order"]),
        ("gang", "enabledSubJobReady", ["sub_job_ready"]),
        ("gang", "enableJobStarving", ["job_starving"]),
        ("predicates", "enablePredicate", ["predicate", "pre_predicate", "simulate_predicate"]),
        ("binpack", "enableNodeOrder", ["node_order"]),
        ("proportion", "enableJobEnqueued", ["job_enqueueable", "job_enqueued"]),
        ("proportion", "enabledOverused", ["overused"]),
        ("proportion", "enabledAllocatable", ["allocatable", "simulate_allocatable"]),
        ("tdm", "enabledVictim", ["victim_tasks"]),
    ],
)
def test_a_switch_that_is_off_disables_what_the_plugin_answers(plugin, flag, disable):
    policy, notes = imported(plugin, **{flag: False})
    assert policy["tiers"][0]["plugins"] == [{"name": plugin, "disable": disable}]
    assert notes == []
    assert not any(policy_from_dict(policy).voters(disable[0]))
    assert imported(plugin, **{flag: True})[0]["tiers"][0]["plugins"] == [plugin]
    assert imported(plugin, **{flag: None})[0]["tiers"][0]["plugins"] == [plugin]


def test_simulated_removals_go_only_when_both_of_their_switches_are_off():
    both = {"enablePreemptable", "enabledAllocatable"}
    simulated = {"simulate_add_task", "simulate_remove_task"}
    for off in ({"enablePreemptable"}, {"enabledAllocatable"}):
        assert simulated.isdisjoint(p for points in points_off(off).values() for p in points)
    assert simulated <= {p for points in points_off(both).values() for p in points}
    policy, _ = imported("proportion", **dict.fromkeys(both, False))
    (entry,) = policy["tiers"][0]["plugins"]
    assert simulated <= set(entry["disable"])


def test_a_switch_of_what_the_plugin_does_not_answer_has_no_effect():
    policy, notes = imported("nodeorder", enableJobOrder=False, enabledClusterOrder=True)
    assert policy["tiers"] == [{"plugins": ["nodeorder"]}]
    assert texts(notes) == [
        "tiers[0].plugins[0].enabledClusterOrder: without effect: nothing orders clusters",
        "tiers[0].plugins[0].enableJobOrder: without effect: nodeorder does not answer job_order",
    ]
    assert policy_from_dict(policy).warnings == ()


@pytest.mark.parametrize("plugin", ["drf", "capacity", "nodegroup"])
def test_the_tree_of_queues_is_an_option(plugin):
    policy, notes = imported(plugin, enableHierarchy=True)
    flaw = {"upstreamShares": True} if plugin == "capacity" else {}
    assert (policy["plugin"], notes) == ({plugin: {"hierarchy": True, **flaw}}, [])
    assert policy_from_dict(policy).plugins[0].options.hierarchy is True
    assert "plugin" not in imported(plugin, enableHierarchy=False)[0]


def test_the_shares_at_session_open_are_no_argument():
    policy, notes = imported("capacity", arguments={"upstreamShares": False}, enableHierarchy=True)
    assert policy["plugin"]["capacity"]["upstreamShares"] is True
    assert texts(notes) == [
        "tiers[0].plugins[0].arguments.upstreamShares: Volcano does not know it"
    ]


def test_the_tree_of_queues_is_no_argument():
    policy, notes = imported("drf", arguments={"hierarchy": True})
    assert "plugin" not in policy
    assert texts(notes) == ["tiers[0].plugins[0].arguments.hierarchy: Volcano does not know it"]
    assert texts(imported("binpack", enableHierarchy=True)[1]) == [
        "tiers[0].plugins[0].enableHierarchy: without effect: binpack has no queue tree"
    ]


@pytest.mark.parametrize(
    "flag, near",
    [
        ("enabledPreemptable", "enablePreemptable"),
        ("enableOverused", "enabledOverused"),
        ("enableVictim", "enabledVictim"),
        ("enablejobready", "enableJobReady"),
        ("argument", "arguments"),
    ],
)
def test_unknown_switches_are_reported_with_the_nearest_name(flag, near):
    policy, notes = imported("gang", **{flag: False})
    assert policy["tiers"] == [{"plugins": ["gang"]}]
    expected = f"tiers[0].plugins[0].{flag}: Volcano does not know it; did you mean {near!r}?"
    assert texts(notes) == [expected]


# -- what has no counterpart


def test_metrics_and_unknown_keys_become_comments():
    rest = """
metrics:
  type: elasticsearch
  address: https://es:9200
  elasticsearch.password: letmein
schedulePeriod: 1s
"""
    policy, notes = imported(rest=rest)
    assert set(policy) == {"actions", "tiers", "evictions"}
    text = write_toml(policy, "Imported from x.", notes)
    head = text.partition("\n\nactions")[0]
    assert head.splitlines() == [
        "# Imported from x.",
        "#",
        "# Not imported as it is:",
        "# - schedulePeriod: Volcano does not know it",
        "# - metrics: how Volcano measures the usage of nodes has no counterpart here",
        "#     type: elasticsearch",
        "#     address: https://es:9200",
        "#     elasticsearch.password: (left out)",
    ]
    assert "letmein" not in text
    assert tomli.loads(text) == policy


def test_a_plugin_that_volcano_does_not_have_is_left_out_as_there():
    policy, notes = import_volcano(HELM + "  - name: nodeoder\n- plugins:\n  - name: snapshot\n")
    assert len(policy["tiers"]) == 2
    assert len(policy["tiers"][1]["plugins"]) == 6
    near, own, empty = texts(notes)
    assert near.startswith(
        "tiers[1].plugins[6]: Volcano has no plugin 'nodeoder' and ignores it; "
        "did you mean 'nodeorder'?"
    )
    assert "'snapshot'" in own
    assert empty == "tiers[2]: the tier has no plugins and is left out"


def test_parts_that_are_not_installed_stay_and_are_reported(catalog):
    text = "actions: allocate\ntiers:\n- plugins:\n  - name: gang\n    arguments: {a.b: 1}\n"
    policy, notes = import_volcano(text, catalog=catalog)
    assert policy["tiers"] == [{"plugins": ["gang"]}]
    assert policy["plugin"] == {"gang": {"a.b": 1}}
    assert texts(notes) == ["tiers[0].plugins[0]: the plugin gang is not installed here"]


def test_duplicate_entries_count_once():
    text = """
actions: "allocate, backfill, allocate"
tiers:
- plugins:
  - name: binpack
    arguments: {binpack.weight: 1, binpack.cpu: 5}
  - name: gang
- plugins:
  - name: binpack
    enableNodeOrder: false
    arguments: {binpack.weight: 2}
"""
    policy, notes = import_volcano(text)
    assert policy == {
        "actions": ["allocate", "backfill"],
        "tiers": [{"plugins": ["binpack", "gang"]}],
        "plugin": {"binpack": {"binpack.weight": 2}},
        "action": {"backfill": {"upstreamChecks": True}},
        "evictions": AS_UPSTREAM,
    }
    assert [note.path for note in notes] == [
        ("actions",),
        ("tiers", 1, "plugins", 0),
        ("tiers", 1),
    ]


# -- what is refused


@pytest.mark.parametrize(
    "text, message",
    [
        (
            "actions: 'allocat'",
            "Volcano has no action 'allocat', and no other is installed under that name",
        ),
        ("actions: 'allocate,'", "a name is missing in 'allocate,'"),
        ("actions: ''", "a name is missing in ''"),
        ("actions: [allocate]", "should be one string"),
        ("{}", "missing; it should be one string"),
        ("actions: allocate", "no plugin is left"),
        ("actions: allocate\ntiers: 7", "tiers: should be a list of tables, not 7"),
        ("actions: allocate\ntiers: [{plugins: [gang]}]", "should be a list of tables"),
        (
            "actions: allocate\ntiers: [{plugins: [{name: gang, enableJobOrder: 'false'}]}]",
            "tiers[0].plugins[0].enableJobOrder: should be true or false, not 'false'",
        ),
        (
            "actions: allocate\ntiers: [{plugins: [{name: gang, arguments: [1]}]}]",
            "tiers[0].plugins[0].arguments: should be a table, not [1]",
        ),
        (
            "actions: allocate\n"
            "tiers: [{plugins: [{name: proportion}, {name: drf, enableHierarchy: true}]}]",
            "tiers[0]: Volcano rejects proportion and drf with enableHierarchy in one tier",
        ),
        ("- a\n- b", "should be a table"),
        ("", "should be a table"),
        ("actions: allocate\n  x: {", "my.conf:2: "),
        ("a: b\x00", "my.conf"),
    ],
)
def test_what_volcano_refuses_is_refused(text, message):
    problems = refused(text, where="my.conf")
    assert message in " | ".join(problems)
    assert all(problem.startswith("my.conf") for problem in problems)


def test_all_problems_are_reported_at_once():
    text = "actions: x, y\ntiers: [{plugins: [{name: [z], enableHierarchy: true, arguments: 1}]}]"
    assert len(refused(text)) == 3


def test_odd_entries_are_accepted():
    policy, notes = import_volcano(HELM + "  - {}\n  - name: [gang]\n    enableHierarchy: true\n")
    assert len(policy["tiers"][1]["plugins"]) == 6
    assert len(notes) == 2


# -- what others have written


def test_installed_actions_and_plugins_of_others_are_taken_by_name():
    catalog = catalog_with(Allocate)
    text = """
actions: "allocate, sweep"
tiers:
- plugins:
  - name: gang
  - name: quiet
    enableJobOrder: false
    arguments: {hours: 3, minutes: 1}
"""
    policy, notes = import_volcano(text, catalog=catalog)
    assert policy["actions"] == ["allocate", "sweep"]
    assert policy["tiers"] == [{"plugins": ["gang", "quiet"]}]
    assert policy["plugin"] == {"quiet": {"hours": 3}}
    assert [note.split(": ", 1)[1] for note in texts(notes)] == [
        "Volcano does not know it",
        "without effect: quiet does not answer job_order",
    ]
    assert policy_from_dict(policy, catalog=catalog).plugins[1].options.hours == 3
