"""Options of plugins and actions."""

import pytest

from tests.framework.config._policies import HEAD


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

    @pytest.mark.parametrize("number", [2**63, -(2**63), 10**400, f"'{2**63}'"])
    def test_numbers_that_would_overflow_are_refused(self, problems, number):
        (problem,) = problems(f"{HEAD}[plugin.nodeorder]\nleastrequested.weight = {number}")
        assert problem.startswith("policy.toml:5: plugin 'nodeorder'")
        assert problem.endswith("option 'leastrequested.weight' should be at most 2**53")

    def test_open_names_are_collected(self, load):
        policy = load(f"{HEAD}[plugin.binpack]\n'binpack.resources.nvidia.com/gpu' = '4'")
        assert policy.plugins[1].options.weights == {"nvidia.com/gpu": 4}

    def test_options_of_a_plugin_in_no_tier_are_a_warning(self, load):
        (warning,) = load(f"{HEAD}[plugin.gang]\nanything = 1").warnings
        assert "policy.toml:4: the options of plugin 'gang' are unused" in warning
