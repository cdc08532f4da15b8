"""Options and gates of parts."""

import pytest

from pumice.config import policy_from_dict

HEAD = 'actions = ["allocate"]\n[[tiers]]\nplugins = ["nodeorder", "binpack"]\n'


class TestOptions:
    @pytest.mark.parametrize(
        "table",
        [
            "[plugin.nodeorder]\nleastrequested.weight = 3",
            "[plugin.nodeorder]\n'leastrequested.weight' = 3",
            "[plugin.nodeorder.leastrequested]\nweight = '3'",
            "plugin = { nodeorder = { leastrequested = { weight = 3 } } }",
        ],
    )
    def test_nested_and_flat_keys_are_the_same(self, load, table):
        text = f"{table}\n{HEAD}" if table.startswith("plugin =") else f"{HEAD}{table}"
        assert load(text).plugins[0].options.least == 3

    def test_a_table_that_an_option_takes_stays_whole(self, load):
        policy = load(f"{HEAD}[plugin.nodeorder.table]\ncpu = 1\nmemory = 2")
        assert policy.plugins[0].options.table == {"cpu": 1, "memory": 2}

    def test_open_names_are_collected(self, load):
        policy = load(f"{HEAD}[plugin.binpack]\n'binpack.resources.nvidia.com/gpu' = '4'")
        assert policy.plugins[1].options.weights == {"nvidia.com/gpu": 4}

    def test_options_of_a_plugin_in_no_tier_are_a_warning(self, load):
        (warning,) = load(f"{HEAD}[plugin.gang]\nanything = 1").warnings
        assert "policy.toml:4: the options of plugin 'gang' are unused" in warning


class TestGates:
    def entry(self, parts, **gates):
        data = {"actions": ["allocate"], "tiers": [{"plugins": [{"name": "gang", **gates}]}]}
        return policy_from_dict(data, catalog=parts).plugins[0]

    def test_everything_is_answered_by_default(self, parts):
        assert self.entry(parts).answers("preemptable")

    def test_enable_allows_nothing_else(self, parts):
        entry = self.entry(parts, enable=["job_starving"])
        assert entry.answers("job_starving")
        assert not entry.answers("preemptable")

    def test_disable_takes_away(self, parts):
        entry = self.entry(parts, disable=["preemptable"])
        assert entry.answers("job_starving")
        assert not entry.answers("preemptable")

    def test_a_form_counts_as_its_point(self, parts):
        entry = self.entry(parts, enable=["batch_node_order", "predicate"])
        assert entry.answers("node_order")
        assert entry.answers("batch_node_order")
        assert entry.answers("predicate_nodes")
        assert not entry.answers("job_order_key")

    def test_life_cycle_is_never_gated(self, parts):
        assert self.entry(parts, enable=[]).answers("on_session_open")

    def test_voters_stand_in_tiers_and_count_for_the_point_of_their_form(self, load):
        policy = load(
            'actions = ["allocate"]\n'
            '[[tiers]]\nplugins = [{name="gang", disable=["preemptable"]}]\n'
            '[[tiers]]\nplugins = ["nodeorder"]\n'
        )
        names = [[entry.name for entry in tier] for tier in policy.voters("node_order")]
        assert names == [[], ["nodeorder"]]
        assert policy.voters("preemptable") == ((), ())
