"""Volcano's configuration in scenarios: the dialect decides as the imported policy."""

import json
from pathlib import Path

import pytest

from pumice.config import policy_from_dict
from pumice.config.importers.volcano.policy import import_volcano
from pumice.errors import PolicyError
from pumice.scenarios import Runner

OBJECTS = [
    {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}, "status": {
        "allocatable": {"cpu": cpu, "memory": "8Gi", "pods": "10"}}}
    for name, cpu in (("n1", "8"), ("n2", "2"))
] + [
    {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue", "metadata": {"name": "q"},
     "spec": {}, "status": {"state": "Open"}},
    {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "PodGroup",
     "metadata": {"name": "x", "namespace": "ns"}, "spec": {"queue": "q", "minMember": 1},
     "status": {"phase": "Inqueue"}},
    {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x-0", "namespace": "ns",
     "annotations": {"scheduling.k8s.io/group-name": "x"}}, "status": {"phase": "Pending"},
     "spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": "1"}}}]}},
]  # fmt: skip


def outcome(config, node, dialect="volcano"):
    scenario = {
        "dialect": dialect,
        "config": config,
        "objects": OBJECTS,
        "expect": {"binds": {"ns/x-0": node}},
    }
    result = Runner().run_text(json.dumps(scenario).encode(), Path("x.json"), "x")
    assert result.verdict in ("passed", "failed"), result.error
    return result.verdict == "passed"


def upstream(**binpack):
    return {
        "actions": "enqueue, allocate",
        "tiers": [{"plugins": [{"name": "gang"}, {"name": "binpack", **binpack}]}],
        "configurations": [{"name": "allocate", "arguments": {"predicateErrorCacheEnable": True}}],
    }


@pytest.mark.parametrize(
    "binpack, node",
    [
        ({}, "n2"),
        ({"enableNodeOrder": False}, "n1"),
        ({"arguments": {"binpack.weight": 0}}, "n1"),
        ({"arguments": {"binpack.weight": "0"}}, "n2"),
        ({"arguments": {"binpack.weight": 0}, "enable": ["node_order"]}, "n1"),
    ],
)
def test_a_scenario_may_have_upstream_s_own_shape(binpack, node):
    assert outcome(upstream(**binpack), node)


def test_the_imported_policy_decides_as_the_scenario_in_the_dialect():
    config = upstream(enableNodeOrder=False)
    policy, _ = import_volcano(json.dumps(config))
    assert outcome(policy, "n1", dialect="pumice")
    config["tiers"][0]["plugins"][1].pop("enableNodeOrder")
    policy, _ = import_volcano(json.dumps(config))
    assert outcome(policy, "n2", dialect="pumice")


def test_pumice_option_tables_win_over_arguments_and_both_apply():
    config = {
        "actions": ["allocate"],
        "tiers": [
            {
                "plugins": [
                    "gang",
                    {
                        "name": "binpack",
                        "enablePredicate": True,
                        "arguments": {"binpack.weight": 3, "binpack.cpu": 4},
                    },
                ]
            }
        ],
        "plugin": {"binpack": {"binpack.weight": "7"}},
    }
    policy = policy_from_dict(config, dialect="volcano")
    options = policy.plugins[1].options
    assert (options.weight, options.cpu) == (7, 4)


def test_a_misspelled_switch_in_a_scenario_is_an_error_of_the_policy():
    config = {"actions": ["allocate"], "tiers": [{"plugins": [{"name": "gang", "enabledX": 1}]}]}
    with pytest.raises(PolicyError, match="1 problem") as caught:
        policy_from_dict(config, dialect="volcano")
    assert "has no key 'enabledX'" in str(caught.value)
