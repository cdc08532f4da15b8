"""A policy is read strictly: all problems are reported together, with its place and the fix."""

import pytest

from pumice import Plugin
from pumice.config import MissingParts, load_policy, policy_from_dict
from pumice.errors import PolicyError
from tests.framework.config._policies import GOOD, HEAD


def test_a_good_policy(load):
    policy = load(GOOD)
    assert [entry.name for entry in policy.actions] == ["enqueue", "allocate"]
    assert [[entry.name for entry in tier] for tier in policy.tiers] == [
        ["priority", "gang"],
        ["nodeorder"],
    ]
    assert policy.plugins[2].options.least == 5
    assert policy.plugins[2].options.strict is True
    assert policy.actions[1].options.limit == 7
    assert policy.scheduler.period == 0.5
    assert policy.scheduler.scheduler_names == ("volcano",)
    assert policy.scheduler.on_plugin_error == "isolate"
    assert policy.warnings == ()


def test_the_effective_configuration_reads_back_as_the_same_policy(load, parts):
    policy = load(GOOD)
    again = policy_from_dict(policy.raw, catalog=parts)
    assert again.raw == policy.raw
    assert again.tiers == policy.tiers
    assert again.actions == policy.actions
    assert again.scheduler == policy.scheduler


def test_five_mistakes_are_reported_at_once_with_lines_and_nearest_names(problems):
    text = """\
actions = ["enqueue", "alocate"]

[[tiers]]
plugins = [
    "priority",
    "binpak",
    { name = "gang", disable = ["preemtable"] },
]

[plugin.nodeorder]
leastrequested.wieght = 2

[[tiers]]
plugins = ["nodeorder"]

[schedular]
period = "1s"
"""
    assert problems(text) == [
        "policy.toml:1: no action named 'alocate' is installed; did you mean 'allocate' (local)?",
        "policy.toml:6: no plugin named 'binpak' is installed; did you mean 'binpack' (local)?",
        "policy.toml:7: there is no extension point 'preemtable'; did you mean 'preemptable'?",
        "policy.toml:11: plugin 'nodeorder' (local) has no option 'leastrequested.wieght'; "
        "did you mean 'leastrequested.weight'?",
        "policy.toml:16: a policy has no key 'schedular'; did you mean 'scheduler'?",
    ]


MISTAKES = {
    "syntax": ("actions = [\n  1 2\n]", ":2:5: unclosed array"),
    "no actions": ('[[tiers]]\nplugins = ["gang"]', ": 'actions' is missing"),
    "empty actions": (HEAD.replace('"allocate"', ""), ":1: 'actions' is empty"),
    "actions of another type": (
        HEAD.replace('["allocate"]', '"allocate"'),
        ":1: 'actions' should be a list of names, not 'allocate'",
    ),
    "an action of another type": (
        HEAD.replace('"allocate"', '"allocate", 5'),
        ":1: an action should be a name, not 5",
    ),
    "an action twice": (
        HEAD.replace('"allocate"', '"allocate",\n"allocate"'),
        ":2: action 'allocate' is listed twice",
    ),
    "a plugin as an action": (
        HEAD.replace('"allocate"', '"gang"'),
        ":1: no action named 'gang' is installed; it is a plugin",
    ),
    "no tiers": ('actions = ["allocate"]', ": 'tiers' is missing"),
    "empty tiers": ('actions = ["allocate"]\ntiers = []', ":2: 'tiers' is empty"),
    "a tier of another type": (
        'actions = ["allocate"]\ntiers = ["gang"]',
        ":2: a tier should be a table",
    ),
    "an empty tier": (f"{HEAD}[[tiers]]\nplugins = []", ":5: 'plugins' of a tier is empty"),
    "a tier without plugins": (f"{HEAD}[[tiers]]\n", ":4: 'plugins' of a tier is missing"),
    "another key in a tier": (f"{HEAD}plugin = []", ":4: a tier has no key 'plugin'"),
    "a plugin twice": (
        f'{HEAD}[[tiers]]\nplugins = ["gang",\n"binpack"]',
        ":6: plugin 'binpack' is listed twice",
    ),
    "a plugin of another type": (f"{HEAD}[[tiers]]\nplugins = [1]", ":5: a plugin should be a"),
    "another key in an entry": (
        f'{HEAD}[[tiers]]\nplugins = [{{ name = "gang", enabled = [] }}]',
        ":5: the entry of plugin 'gang' has no key 'enabled'; did you mean 'enable'?",
    ),
    "options in an entry": (
        f'{HEAD}[[tiers]]\nplugins = [{{ name = "gang", arguments = {{}} }}]',
        "has no key 'arguments'; its options belong under [plugin.gang]",
    ),
    "enable of another type": (
        f'{HEAD}[[tiers]]\nplugins = [{{ name = "gang", enable = "all" }}]',
        ":5: 'enable' should be a list of extension points, not 'all'",
    ),
    "a point enabled and disabled": (
        f'{HEAD}[[tiers]]\nplugins = [{{ name = "gang", '
        'enable = ["predicate"], disable = ["predicate_nodes"] }]',
        ":5: plugin 'gang' both enables and disables predicate",
    ),
    "an ungated point": (
        f'{HEAD}[[tiers]]\nplugins = [{{ name = "gang", disable = ["on_allocate"] }}]',
        ":5: 'on_allocate' cannot be disabled",
    ),
    "options of an unknown plugin": (
        f"{HEAD}[plugin.nodeordr]\nstrict = true",
        ":4: no plugin named 'nodeordr' is installed; did you mean 'nodeorder'",
    ),
    "options that are no table": (f"{HEAD}[plugin]\nbinpack = 3", ":5: [plugin.binpack] should be"),
    "an option of another type": (
        f"{HEAD}[plugin.nodeorder]\n\n'leastrequested.weight' = 'two'",
        ":6: plugin 'nodeorder' (local): option 'leastrequested.weight' should be a valid integer",
    ),
    "a collected option of another type": (
        f"{HEAD}[plugin.binpack]\n[plugin.binpack.binpack.resources]\n'nvidia.com/gpu' = 'x'",
        ":6: plugin 'binpack' (local): option 'binpack.resources.nvidia.com/gpu' should be",
    ),
    "an option twice": (
        f"{HEAD}[plugin.nodeorder]\nleastrequested.weight = 1\n'leastrequested.weight' = 2",
        ":6: option 'leastrequested.weight' of plugin 'nodeorder' is given twice",
    ),
    "an option of an action": (
        f"{HEAD}[action.allocate]\nlimt = 1",
        ":5: action 'allocate' (local) has no option 'limt'; did you mean 'limit'?",
    ),
    "an unknown setting": (
        f"{HEAD}[scheduler]\nperiode = '1s'",
        ":5: [scheduler] has no setting 'periode'; did you mean 'period'?",
    ),
    "a bad duration": (
        f"{HEAD}[scheduler]\nperiod = '1 year'",
        ":5: [scheduler]: setting 'period' should be a duration like '500ms', '1s' or '1m30s', "
        "not '1 year'",
    ),
    "a bad choice": (
        f"{HEAD}[scheduler]\non_plugin_error = 'panic'",
        ":5: [scheduler]: setting 'on_plugin_error' should be 'isolate' or 'raise', not 'panic'",
    ),
    "a zero period": (f"{HEAD}[scheduler]\nperiod = 0", ":5: [scheduler]: setting 'period' should"),
    "an unknown preset": ('preset = "volcan"', ":1: there is no preset 'volcan'; did you mean"),
    "a preset of another type": ("preset = 5", ":1: there is no preset 5"),
}


@pytest.mark.parametrize("text, expected", MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_is_reported_with_its_place(problems, text, expected):
    (line,) = problems(text)
    assert line.startswith("policy.toml")
    assert expected in line


def test_a_file_that_is_not_there(tmp_path, parts):
    with pytest.raises(PolicyError, match="no such file"):
        load_policy(tmp_path / "nowhere.toml", env={}, catalog=parts)


def test_a_file_that_is_no_text(tmp_path, parts):
    (tmp_path / "x.toml").write_bytes(b"\xff\xff")
    with pytest.raises(PolicyError, match="not UTF-8"):
        load_policy(tmp_path / "x.toml", env={}, catalog=parts)


def test_a_broken_plugin_is_one_problem_among_others(site, tmp_path):
    site.install("pumice-broken", "1 / 0", plugins={"broken": "B"})
    path = tmp_path / "p.toml"
    path.write_text('actions = ["nope"]\n[[tiers]]\nplugins = ["broken"]\n')
    with pytest.raises(PolicyError) as caught:
        load_policy(path, env={})
    first, second = caught.value.problems
    assert "p.toml:1: no action named 'nope'" in first
    assert "p.toml:3: plugin 'broken' (pumice-broken 1.0, pumice_broken:B)" in second
    assert not isinstance(caught.value, MissingParts)


def test_a_validator_that_crashes_is_reported_as_a_problem(parts):
    class Crashing(Plugin):
        class Options(Plugin.Options):
            def model_post_init(self, context):
                raise KeyError("oops")

    parts.register_local("plugin", "crashing", Crashing)
    with pytest.raises(PolicyError, match="its Options failed: KeyError: 'oops'"):
        policy_from_dict(
            {"actions": ["allocate"], "tiers": [{"plugins": ["crashing"]}]}, catalog=parts
        )
