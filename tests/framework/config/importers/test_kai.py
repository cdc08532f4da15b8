"""``pumice config import --from kai``: KAI's configuration as a policy that decides the same."""

import json

import pytest
import tomli
from click.testing import CliRunner

from pumice.cli import main
from pumice.config import load_policy, policy_from_dict
from pumice.config.importers import importer, importer_names
from pumice.config.importers._toml import write_toml
from pumice.config.importers.kai.policy import import_kai
from pumice.config.importers.kai.translate import UPSTREAM_FLAWS
from pumice.config.settings import AS_UPSTREAM
from pumice.errors import PolicyError
from pumice_builtin_actions.fair_allocate import FairAllocate
from tests.framework.config.importers._others import catalog_with

BUILT_IN = """
actions: "allocate, consolidation, reclaim, preempt, stalegangeviction"
tiers:
- plugins:
  - name: predicates
  - name: proportion
  - name: priority
  - name: elastic
  - name: kubeflow
  - name: ray
  - name: nodeavailability
  - name: gpusharingorder
  - name: gpupack
  - name: resourcetype
  - name: subgrouporder
  - name: taskorder
  - name: nominatednode
  - name: dynamicresources
  - name: nodeplacement
    arguments: {cpu: binpack, gpu: binpack}
  - name: minruntime
  - name: topology
  - name: snapshot
"""
GPU_MEMORY = {"upstreamGpuMemory": True}
PRIORITY = {"name": "priority", "enable": ["job_order"]}


def imported(plugin="elastic", actions="allocate", rest="", **entry):
    """Policy and notes of a configuration with one plugin."""
    head = f"actions: {json.dumps(actions)}\ntiers:\n- plugins:\n  - "
    return import_kai(f"{head}{json.dumps({'name': plugin, **entry})}\n{rest}")


def shard(**spec):
    return import_kai(json.dumps({"kind": "SchedulingShard", "spec": spec}))


def texts(notes):
    return [str(note) for note in notes]


def refused(text, **more):
    with pytest.raises(PolicyError) as caught:
        import_kai(text, **more)
    return caught.value.problems


def names(policy):
    entries = (entry for tier in policy["tiers"] for entry in tier["plugins"])
    return [entry if isinstance(entry, str) else entry["name"] for entry in entries]


# -- the scheduler's own configuration


@pytest.mark.parametrize("text", [BUILT_IN, "", "# nothing\n", "actions: ''\ntiers: []\n"])
def test_the_default_is_the_preset(text):
    policy, notes = import_kai(text)
    preset = load_policy(preset="kai", env={})
    made = policy_from_dict(policy)
    assert notes == []
    assert made.actions == preset.actions
    assert made.tiers == preset.tiers
    assert made.warnings == ()


def test_names_become_ours_and_tiers_one():
    text = """
actions: "reclaim, allocate"
tiers:
- plugins:
  - name: proportion
    arguments: {kValue: "0.5"}
- plugins:
  - name: priority
  - name: predicates
"""
    policy, notes = import_kai(text)
    assert notes == []
    assert policy == {
        "actions": ["solve_reclaim", "fair_allocate"],
        "tiers": [{"plugins": ["fairshare", PRIORITY, "kai_predicates"]}],
        "plugin": {"fairshare": {"kValue": "0.5", **GPU_MEMORY}},
        "action": {"solve_reclaim": dict.fromkeys(UPSTREAM_FLAWS, True)},
        "evictions": AS_UPSTREAM,
    }


def test_the_text_reads_back_as_the_same_policy(tmp_path):
    policy, notes = imported("proportion", arguments={"kValue": "2"}, disableJobOrder=True)
    file = tmp_path / "policy.toml"
    file.write_text(write_toml(policy, "Imported.", notes), encoding="utf-8")
    assert tomli.loads(file.read_text("utf-8")) == policy
    assert load_policy(file, env={}).plugins[0].options.k == 2


def test_a_config_map_around_it_is_taken_off():
    around = {"kind": "ConfigMap", "data": {"config.yaml": BUILT_IN}}
    assert import_kai(json.dumps(around)) == import_kai(BUILT_IN)


def test_depths_are_options_of_actions():
    rest = "queueDepthPerAction: {allocate: 10, preempt: 5, reclaim: -1, stalegangeviction: 3}\n"
    policy, notes = imported(actions="allocate, reclaim", rest=rest)
    assert policy["action"]["fair_allocate"] == {"queueDepth": 10}
    assert "queueDepth" not in policy["action"]["solve_reclaim"]
    assert texts(notes) == [
        "queueDepthPerAction.stalegangeviction: without effect: no such action has a depth"
    ]


def test_an_action_of_depth_zero_is_left_out():
    policy, notes = imported(
        actions="allocate, reclaim", rest="queueDepthPerAction: {reclaim: 0}\n"
    )
    assert policy["actions"] == ["fair_allocate"]
    assert "at depth 0 reclaim has no effect" in texts(notes)[0]


def test_what_has_no_effect_or_is_unknown_is_noted():
    policy, notes = imported(
        "proportion",
        rest="schedulerPeriod: 1s\n",
        disableJobOrder=True,
        argument={},
        arguments={"reclaimerUtilizationMultiplier": "2", "kValue": "much"},
    )
    assert names(policy) == ["fairshare"]
    assert policy["plugin"] == {"fairshare": GPU_MEMORY}
    assert texts(notes) == [
        "schedulerPeriod: KAI does not know it",
        "tiers[0].plugins[0].disableJobOrder: without effect, in KAI too",
        "tiers[0].plugins[0].argument: KAI does not know it; did you mean 'arguments'?",
        "tiers[0].plugins[0].arguments.reclaimerUtilizationMultiplier: KAI does not know it; "
        "did you mean 'relcaimerSaturationMultiplier'?",
        "tiers[0].plugins[0].arguments.kValue: 'much' cannot be read, so KAI uses its default",
    ]


def test_plugins_that_kai_does_not_have_and_second_ones_are_left_out():
    text = "tiers: [{plugins: [{name: elastc}, {name: ray}, {name: ray}]}]"
    policy, notes = import_kai(text)
    assert names(policy) == ["ray"]
    unknown, twice = texts(notes)
    assert unknown.startswith("tiers[0].plugins[0]: KAI has no plugin 'elastc'")
    assert "did you mean 'elastic'?" in unknown
    assert (
        twice == "tiers[0].plugins[2]: ray is listed twice; here it counts once, at its first place"
    )


def test_arguments_of_parts_that_are_not_installed_stay(catalog):
    text = "tiers: [{plugins: [{name: proportion, arguments: {kValue: much}}]}]"
    policy, _ = import_kai(text, catalog=catalog)
    assert policy["plugin"] == {"fairshare": {"kValue": "much", **GPU_MEMORY}}


def test_usage_is_recorded_by_pumice():
    rest = """
usageDBConfig:
  clientType: prometheus
  connectionString: http://user:secret@host
  usageParams:
    halfLifePeriod: 1h
    windowType: tumbling
    tumblingWindowStartTime: 1970-01-01T00:01:00Z
    extraParams: {queryResolution: 30s}
"""
    policy, notes = imported("proportion", rest=rest)
    assert policy["plugin"]["fairshare"] == {
        "usage.halfLifePeriod": "1h",
        "usage.windowType": "tumbling",
        "usage.tumblingWindowStartTime": 60.0,
        "usage.windowSize": "7d",
        "usage.queryResolution": "30s",
        **GPU_MEMORY,
    }
    assert len(notes) == 1
    assert "records what queues use" in str(notes[0])
    assert "secret" not in write_toml(policy, "", notes)
    assert policy_from_dict(policy).plugins[0].options.window == 7 * 86400


def test_a_cron_window_slides():
    rest = "usageDBConfig: {usageParams: {windowType: cron, cronString: '0 0 * * *'}}\n"
    policy, notes = imported("proportion", rest=rest)
    assert policy["plugin"]["fairshare"] == {"usage.windowSize": "7d", **GPU_MEMORY}
    assert "cron" in texts(notes)[0]


@pytest.mark.parametrize(
    "text, problem",
    [
        ("actions: 'allocat'", "actions: KAI has no action 'allocat', and no other is installed"),
        ("actions: [allocate]", "actions: should be one string"),
        ("tiers: 7", "tiers: should be a list of tables, not 7"),
        ("tiers: [{plugins: [ray]}]", "tiers[0].plugins: should be a list of tables"),
        ("tiers: [{plugins: []}]", "tiers: no plugin is left"),
        ("queueDepthPerAction: {reclaim: many}", "queueDepthPerAction.reclaim: should be a number"),
        ("queueDepthPerAction: {reclaim: -2}", "queueDepthPerAction.reclaim: should be a number"),
        (
            "tiers: [{plugins: [{name: proportion, arguments: {kValue: [1]}}]}]",
            "tiers[0].plugins[0].arguments.kValue: should be a string, not [1]",
        ),
        (
            "usageDBConfig: {usageParams: {tumblingWindowStartTime: noon}}",
            "usageDBConfig.usageParams.tumblingWindowStartTime: should be a time, not 'noon'",
        ),
        ("usageDBConfig: 3", "usageDBConfig: should be a table, not 3"),
        ("kind: SchedulingShard\nspec: 3", "spec: should be a table, not 3"),
        (
            "kind: SchedulingShard\nspec: {placementStrategy: {gpu: both}}",
            "spec.placementStrategy.gpu: should be binpack or spread, not 'both'",
        ),
        (
            "kind: SchedulingShard\nspec: {plugins: {ray: {priority: high}}}",
            "spec.plugins.ray.priority: should be a whole number, not 'high'",
        ),
        ("kind: SchedulingShard\nspec: {actions: [reclaim]}", "spec.actions: should be a table"),
        ("- a", "should be a table of YAML"),
        ("a: [", "kai.yaml:1"),
    ],
)
def test_what_cannot_be_is_refused_with_its_place(text, problem):
    problems = refused(text, where="kai.yaml")
    assert problem in problems[0]
    assert problems[0].startswith("kai.yaml")


# -- a SchedulingShard


def test_a_shard_that_says_nothing_is_the_operators_default():
    policy, notes = shard()
    assert notes == []
    assert policy["actions"] == [
        "fair_allocate", "consolidate", "solve_reclaim", "solve_preempt", "evict_stale_gangs"
    ]  # fmt: skip
    assert names(policy) == [
        "kai_predicates", "fairshare", "priority", "nodeavailability", "resourcetype",
        "podaffinity", "elastic", "kubeflow", "ray", "subgrouporder", "taskorder",
        "nominatednode", "dynamicresources", "minruntime", "topology", "snapshot", "gpupack",
        "nodeplacement", "gpusharingorder",
    ]  # fmt: skip
    assert policy["plugin"] == {
        "nodeplacement": {"gpu": "binpack", "cpu": "binpack"},
        "fairshare": GPU_MEMORY,
    }
    policy_from_dict(policy)


def test_spreading_gpus_changes_who_scores_and_drops_consolidation():
    policy, _ = shard(placementStrategy={"gpu": "spread"})
    assert "gpuspread" in names(policy)
    assert not {"gpupack", "gpusharingorder"} & set(names(policy))
    assert "consolidate" not in policy["actions"]
    assert policy["plugin"]["nodeplacement"] == {"gpu": "spread", "cpu": "binpack"}
    both, _ = shard(placementStrategy={"cpu": "spread"})
    assert "gpupack" in names(both)
    assert "consolidate" not in both["actions"]


def test_runtimes_depths_and_k_become_options():
    policy, _ = shard(
        minRuntime={"preemptMinRuntime": "5m", "reclaimMinRuntime": "1h"},
        kValue=0.5,
        queueDepthPerAction={"reclaim": 3},
    )
    assert policy["plugin"]["minruntime"] == {
        "defaultPreemptMinRuntime": "5m",
        "defaultReclaimMinRuntime": "1h",
    }
    assert policy["plugin"]["fairshare"] == {"kValue": "0.5", **GPU_MEMORY}
    assert policy["action"]["solve_reclaim"]["queueDepth"] == 3


def test_plugins_and_actions_are_switched_ranked_and_given_arguments():
    policy, notes = shard(
        plugins={
            "podaffinity": {"enabled": False},
            "reflectjoborder": {},
            "elastic": {"priority": 5000},
            "nodeplacement": {"arguments": {"gpu": "spread"}},
            "ours": {"priority": 7},
        },
        actions={"preempt": {"enabled": False}, "reclaim": {"priority": 450}},
    )
    assert policy["actions"] == [
        "fair_allocate", "solve_reclaim", "consolidate", "evict_stale_gangs"
    ]  # fmt: skip
    plugin_names = names(policy)
    assert plugin_names[0] == "elastic"
    assert plugin_names[-1] == "reflectjoborder"
    assert "podaffinity" not in plugin_names
    assert policy["plugin"]["nodeplacement"] == {"gpu": "spread"}
    (note,) = texts(notes)
    assert "KAI has no plugin 'ours'" in note


def test_flags_become_options_or_notes():
    policy, notes = shard(
        args={
            "max-consolidation-preemptees": 4,
            "default-staleness-grace-period": "-1s",
            "allow-consolidating-reclaim": False,
            "restrict-node-scheduling": "true",
            "schedule-period": "2s",
            "v": 4,
        },
        partitionLabelValue="a100",
        extra=1,
    )
    loaded = policy_from_dict(policy)
    options = {entry.name: entry.options for entry in loaded.actions}
    assert options["consolidate"].max_preemptees == 4
    assert options["evict_stale_gangs"].grace == -1
    assert options["solve_reclaim"].allow_consolidating is False
    assert loaded.scheduler.period == 2
    assert loaded.plugins[0].options.model_dump(by_alias=True)["restrictNodeScheduling"] is True
    assert [text.partition(":")[0] for text in texts(notes)] == [
        "spec.extra", "spec.partitionLabelValue", "spec.args.v"
    ]  # fmt: skip


# -- the command


def test_the_command_imports(tmp_path):
    assert "kai" in importer_names()
    assert importer("kai") is import_kai
    file = tmp_path / "config.yaml"
    file.write_text(BUILT_IN + "queueDepthPerAction: {allocate: 10}\nmore: 1\n")
    result = CliRunner().invoke(main, ["config", "import", str(file), "--from", "kai"])
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith("# Imported from the KAI configuration config.yaml.\n")
    assert "note: more: KAI does not know it" in result.stderr
    made = tomli.loads(result.stdout)
    assert made["action"]["fair_allocate"] == {"queueDepth": 10}
    assert "import" in CliRunner().invoke(main, ["--help"]).output


def test_the_command_refuses_with_status_2(tmp_path):
    file = tmp_path / "config.yaml"
    file.write_text("actions: alocate")
    result = CliRunner().invoke(main, ["config", "import", str(file), "--from", "kai"])
    assert result.exit_code == 2
    assert "KAI has no action 'alocate'" in result.output


def test_installed_actions_and_plugins_of_others_are_taken_by_name():
    catalog = catalog_with(FairAllocate)
    text = """
actions: "allocate, sweep"
tiers:
- plugins:
  - name: elastic
  - name: quiet
    arguments: {hours: 3}
"""
    policy, notes = import_kai(text, catalog=catalog)
    assert notes == []
    assert policy["actions"] == ["fair_allocate", "sweep"]
    assert policy_from_dict(policy, catalog=catalog).plugins[1].options.hours == 3
