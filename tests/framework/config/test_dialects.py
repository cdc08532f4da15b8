"""Policies in the names of other schedulers, and the KAI parameters outside of them."""

from typing import Any

import pytest

from pumice.config import load_policy, policy_from_dict, translate
from pumice.config.importers.kai.translate import UPSTREAM_FLAWS
from pumice.config.settings import AS_UPSTREAM
from pumice.errors import PolicyError, PumiceError
from pumice.scenarios.params import with_params

GPU_MEMORY = {"upstreamGpuMemory": True}


def kai(**config: Any) -> dict[str, Any]:
    return translate(config, "kai")


def plugins(policy: dict[str, Any]) -> list[Any]:
    (tier,) = policy["tiers"]
    return tier["plugins"]


class TestKai:
    def test_actions_get_our_names(self) -> None:
        named = ["allocate", "consolidation", "reclaim", "preempt", "stalegangeviction"]
        assert kai(actions=named)["actions"] == [
            "fair_allocate",
            "consolidate",
            "solve_reclaim",
            "solve_preempt",
            "evict_stale_gangs",
        ]

    def test_actions_may_be_one_text_with_commas(self) -> None:
        assert kai(actions=" reclaim, allocate ,")["actions"] == ["solve_reclaim", "fair_allocate"]

    def test_all_tiers_become_one_in_order(self) -> None:
        tiers = [{"plugins": ["proportion", "elastic"]}, {"plugins": ["predicates"]}]
        assert plugins(kai(tiers=tiers)) == ["fairshare", "elastic", "kai_predicates"]

    def test_priority_orders_jobs_and_nothing_else(self) -> None:
        entry = {"name": "priority", "enable": ["job_order"]}
        assert plugins(kai(tiers=[{"plugins": ["priority"]}])) == [entry]

    def test_the_switches_of_a_plugin_have_no_effect(self) -> None:
        entry = {"name": "proportion", "disableQueueOrder": True, "disablePredicate": True}
        assert plugins(kai(tiers=[{"plugins": [entry]}])) == ["fairshare"]

    def test_gates_of_an_entry_stay(self) -> None:
        entry = {"name": "proportion", "disable": ["queue_order"]}
        translated = {"name": "fairshare", "disable": ["queue_order"]}
        assert plugins(kai(tiers=[{"plugins": [entry]}])) == [translated]

    def test_arguments_become_options_and_a_table_of_options_wins(self) -> None:
        entry = {"name": "proportion", "arguments": {"kValue": "0.5", "a": "1"}}
        policy = kai(tiers=[{"plugins": [entry]}], plugin={"proportion": {"a": "2"}})
        assert policy["plugin"] == {"fairshare": {"kValue": "0.5", "a": "2", **GPU_MEMORY}}

    def test_tables_of_options_are_renamed(self) -> None:
        policy = kai(
            actions=["allocate", "stalegangeviction"],
            plugin={"predicates": {"x": 1}, "minruntime": {"y": 2}},
            action={"stalegangeviction": {"defaultStalenessGracePeriod": "5m"}},
        )
        assert policy["plugin"] == {
            "kai_predicates": {"x": 1},
            "minruntime": {"y": 2},
            "fairshare": GPU_MEMORY,
        }
        assert policy["action"] == {"evict_stale_gangs": {"defaultStalenessGracePeriod": "5m"}}

    def test_searches_account_as_upstream_by_default(self) -> None:
        given = {"reclaim": {"upstreamStaleReleases": False}}
        assert kai(actions=["reclaim", "preempt"], action=given)["action"] == {
            "solve_reclaim": dict.fromkeys(UPSTREAM_FLAWS, True) | given["reclaim"],
            "solve_preempt": dict.fromkeys(UPSTREAM_FLAWS, True),
        }

    def test_depths_of_queues_become_options_of_actions(self) -> None:
        depths = {"allocate": 10, "stalegangeviction": 3}
        policy = kai(actions=["allocate"], queueDepthPerAction=depths)
        assert policy["action"] == {
            "fair_allocate": {"queueDepth": 10},
            "evict_stale_gangs": {"queueDepth": 3},
        }
        assert "queueDepthPerAction" not in policy

    def test_the_window_of_usage_is_the_fair_shares_option(self) -> None:
        usage = {"clientType": "prometheus", "usageParams": {"windowSize": "1d", "other": 1}}
        options = kai(usageDBConfig=usage)["plugin"]["fairshare"]
        assert options == {"usage.windowSize": "1d", **GPU_MEMORY}

    def test_what_is_empty_stands_for_the_default(self) -> None:
        policy = kai(actions="", tiers=[])
        assert len(policy["actions"]) == 5
        assert len(plugins(policy)) == 18

    def test_the_default_is_the_preset(self) -> None:
        own, preset = policy_from_dict({}, dialect="kai"), load_policy(preset="kai", env={})
        assert [entry.name for entry in own.actions] == [entry.name for entry in preset.actions]
        assert [(e.name, e.enable, e.options) for e in own.plugins] == [
            (e.name, e.enable, e.options) for e in preset.plugins
        ]
        assert [entry.options for entry in own.actions] == [e.options for e in preset.actions]

    def test_other_names_stay_as_they_are(self) -> None:
        policy = kai(actions=["mine"], tiers=[{"plugins": ["ours"]}], scheduler={"period": 2})
        assert policy["actions"] == ["mine"]
        assert plugins(policy) == ["ours"]
        assert policy["scheduler"] == {"period": 2}

    @pytest.mark.parametrize(
        "config, message",
        [
            ({"actions": {"allocate": 1}}, "actions should be a list of names"),
            ({"tiers": "predicates"}, "tiers should be a list of tables"),
            ({"tiers": [["predicates"]]}, "tiers[0] should be a table with a list 'plugins'"),
            ({"plugin": ["proportion"]}, "plugin should be a table"),
            ({"plugin": {"proportion": 3}}, "plugin: proportion should be a table"),
            ({"queueDepthPerAction": 10}, "queueDepthPerAction should be a table"),
            (
                {"tiers": [{"plugins": [{"name": "proportion", "arguments": ["k"]}]}]},
                "arguments of plugin fairshare should be a table",
            ),
        ],
    )
    def test_what_is_no_policy_is_reported(self, config: dict[str, Any], message: str) -> None:
        with pytest.raises(PolicyError) as caught:
            translate(config, "kai", where="here")
        assert message in str(caught.value)
        assert "here" in str(caught.value)

    def test_an_entry_that_is_no_table_is_left_to_the_policy_check(self) -> None:
        with pytest.raises(PolicyError, match="a plugin should be a name or a table"):
            policy_from_dict({"tiers": [{"plugins": [7]}]}, dialect="kai")

    def test_an_action_that_is_no_name_is_left_to_the_policy_check(self) -> None:
        with pytest.raises(PolicyError, match="an action should be a name"):
            policy_from_dict({"actions": [["allocate"]]}, dialect="kai")


def test_volcanos_names_are_ours() -> None:
    config = {"actions": ["allocate"], "tiers": [{"plugins": ["predicates"]}]}
    assert translate(config, "volcano") == {**config, "evictions": AS_UPSTREAM}


@pytest.mark.parametrize("dialect", ["volcano", "kai"])
@pytest.mark.parametrize(
    "given",
    [
        pytest.param({"evictions": {"atomic": True}}, id="stated"),
        pytest.param({"preset": "pumice"}, id="a preset states it"),
    ],
)
def test_evictions_are_upstreams_unless_stated_otherwise(
    dialect: str, given: dict[str, Any]
) -> None:
    config = {"actions": ["allocate"], "tiers": [{"plugins": ["predicates"]}]}
    assert translate(config, dialect)["evictions"] == AS_UPSTREAM
    assert translate({**config, **given}, dialect).get("evictions") == given.get("evictions")


@pytest.mark.parametrize(
    "given, translated",
    [
        ({"hierarchy": True}, {"hierarchy": True, "upstreamShares": True}),
        ({"hierarchy": True, "upstreamShares": False}, None),
        ({"ancestorReclaimLevel": 1}, None),
    ],
)
def test_a_queue_tree_of_volcano_compares_shares_at_open_unless_stated_otherwise(
    given: dict[str, Any], translated: dict[str, Any] | None
) -> None:
    config = {"tiers": [{"plugins": ["capacity"]}], "plugin": {"capacity": given}}
    assert translate(config, "volcano")["plugin"] == {"capacity": translated or given}
    assert config["plugin"] == {"capacity": given}


def test_an_unknown_dialect_is_reported_with_the_nearest() -> None:
    with pytest.raises(PumiceError, match="did you mean 'kai'"):
        translate({}, "kay")


class TestParams:
    def test_what_is_not_given_is_off_or_zero(self) -> None:
        config = {"actions": ["consolidation", "reclaim", "preempt", "stalegangeviction"]}
        assert with_params(config, {})["action"] == {
            "consolidation": {
                "useSchedulingSignatures": False,
                "maxNumberConsolidationPreemptees": 0,
            },
            "reclaim": {"useSchedulingSignatures": False, "allowConsolidatingReclaim": False},
            "preempt": {"useSchedulingSignatures": False},
            "stalegangeviction": {"defaultStalenessGracePeriod": "0s"},
        }

    def test_what_is_given_counts(self) -> None:
        given = {
            "useSchedulingSignatures": True,
            "maxNumberConsolidationPreemptees": -1,
            "globalDefaultStalenessGracePeriod": "1m0s",
            "schedulerName": "kai-scheduler",
        }
        actions = with_params({"actions": "consolidation, stalegangeviction"}, given)["action"]
        assert actions == {
            "consolidation": {
                "useSchedulingSignatures": True,
                "maxNumberConsolidationPreemptees": -1,
            },
            "stalegangeviction": {"defaultStalenessGracePeriod": "1m0s"},
        }

    def test_only_parts_that_are_listed_get_options(self) -> None:
        config = {"actions": ["allocate"], "tiers": [{"plugins": ["predicates", {"name": "gang"}]}]}
        result = with_params(config, {"restrictSchedulingNodes": True})
        assert "action" not in result
        assert result["plugin"] == {"predicates": {"restrictNodeScheduling": True}}

    def test_the_policys_own_options_stay(self) -> None:
        own = {"consolidation": {"maxNumberConsolidationPreemptees": 4}}
        config = {"actions": ["consolidation"], "action": own}
        result = with_params(config, {"maxNumberConsolidationPreemptees": -1})
        assert result["action"]["consolidation"]["maxNumberConsolidationPreemptees"] == 4
        assert own == {"consolidation": {"maxNumberConsolidationPreemptees": 4}}
