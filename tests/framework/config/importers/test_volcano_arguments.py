"""``pumice config import``: Volcano's arguments of plugins and actions as options."""

import pytest
import tomli

from pumice.config import policy_from_dict
from pumice.config.importers._toml import write_toml
from tests.framework.config.importers._volcano import imported, texts


@pytest.mark.parametrize(
    "plugin, key, value, taken",
    [
        ("nodeorder", "leastrequested.weight", 3, 3),
        ("binpack", "binpack.resources.nvidia.com/gpu", 2, 2),
        ("binpack", "binpack.resources", "nvidia.com/gpu", "nvidia.com/gpu"),
        ("overcommit", "overcommit-factor", 2, 2),
        ("overcommit", "overcommit-factor", 1.5, 1.5),
        ("predicates", "predicate.PodAffinityEnable", False, False),
        ("predicates", "predicate.PodAffinityEnable", "F", False),
        ("predicates", "predicate.PodAffinityEnable", "1", True),
        ("sla", "sla-waiting-time", "1h2m", "1h2m"),
        ("tdm", "tdm.revocable-zone.z1", "10:00-21:00", "10:00-21:00"),
        ("capacity", "capacity.DynamicResourceAllocationEnable", "true", True),
        ("deviceshare", "deviceshare.SchedulePolicy", "binpack", "binpack"),
        ("extender", "extender.managedResources", [{"name": "a/b"}], [{"name": "a/b"}]),
    ],
)
def test_arguments_become_options_under_the_same_name(plugin, key, value, taken):
    policy, notes = imported(plugin, arguments={key: value})
    assert (policy["plugin"], notes) == ({plugin: {key: taken}}, [])
    assert type(policy["plugin"][plugin][key]) is type(taken)
    policy_from_dict(policy)
    text = write_toml(policy, "")
    assert tomli.loads(text)["plugin"] == policy["plugin"]


@pytest.mark.parametrize(
    "plugin, key, value, wanted",
    [
        ("nodeorder", "leastrequested.weight", "3", "a whole number, without quotes"),
        ("nodeorder", "leastrequested.weight", 3.0, "a whole number, without quotes"),
        ("nodeorder", "leastrequested.weight", True, "a whole number, without quotes"),
        ("binpack", "binpack.resources.nvidia.com/gpu", "2", "a whole number, without quotes"),
        ("binpack", "binpack.resources", 7, "a string, in quotes"),
        ("overcommit", "overcommit-factor", "2", "a number, without quotes"),
        ("predicates", "predicate.PodAffinityEnable", "no", "true or false"),
        ("predicates", "predicate.PodAffinityEnable", 1, "true or false"),
        ("sla", "sla-waiting-time", "soon", "a duration like '1m30s'"),
        ("sla", "sla-waiting-time", 60, "a duration like '1m30s'"),
        ("nodeorder", "leastrequested.weight", None, "a whole number, without quotes"),
    ],
)
def test_what_volcano_ignores_is_left_out(plugin, key, value, wanted):
    policy, notes = imported(plugin, arguments={key: value})
    assert "plugin" not in policy
    assert texts(notes) == [
        f"tiers[0].plugins[0].arguments.{key}: {value!r} should be {wanted}, "
        "so Volcano uses its default"
    ]


def test_an_unknown_argument_is_reported_with_the_nearest_name():
    policy, notes = imported("nodeorder", arguments={"leastrequest.weight": 3})
    assert "plugin" not in policy
    assert texts(notes)[0].endswith(
        "Volcano does not know it; did you mean 'leastrequested.weight'?"
    )


def test_options_of_actions():
    policy, notes = imported(
        "priority",
        actions="allocate, preempt",
        rest="""
configurations:
- name: preempt
  arguments: {enableTopologyAwarePreemption: true, minCandidateNodesAbsolute: "2"}
- name: preempt
  arguments: {maxCandidateNodesAbsolute: 7}
- name: allocate
  arguments: {enablePredicateErrorCache: false}
- name: reclaim
  arguments: {predicateErrorCacheEnable: false}
""",
    )
    assert policy["action"] == {
        "preempt": {"enableTopologyAwarePreemption": True},
        "allocate": {"predicateErrorCacheEnable": False},
    }
    passed_over, second, respelt, idle = texts(notes)
    assert passed_over.startswith("configurations[0].arguments.minCandidateNodesAbsolute: '2' ")
    assert second == "configurations[1]: Volcano uses only the first configuration of preempt"
    assert respelt == (
        "configurations[2].arguments.enablePredicateErrorCache: Volcano reads only "
        "predicateErrorCacheEnable; here it is taken as that"
    )
    assert (
        idle
        == "configurations[3]: the action 'reclaim' does not run, so its options have no effect"
    )
    assert policy_from_dict(policy).warnings == ()


def test_gang_actions_use_the_error_cache_of_allocate():
    policy, notes = imported(
        "priority",
        actions="allocate, gangpreempt, gangreclaim",
        rest="""
configurations:
- name: allocate
  arguments: {predicateErrorCacheEnable: false}
- name: gangreclaim
  arguments: {predicateErrorCacheEnable: true, maxDomains: 2}
""",
    )
    assert policy["action"] == {
        "allocate": {"predicateErrorCacheEnable": False},
        "gangpreempt": {"predicateErrorCacheEnable": False},
        "gangreclaim": {"predicateErrorCacheEnable": False, "maxDomains": 2},
    }
    assert texts(notes) == [
        "configurations: Volcano does not know predicateErrorCacheEnable of gangreclaim: "
        "set that of allocate"
    ]
    assert policy_from_dict(policy).warnings == ()
