"""Where a policy comes from: files, presets, overrides, plain data."""

import pytest

from pumice.config import MissingParts, load_policy, policy_from_dict
from pumice.config.settings import AS_UPSTREAM
from pumice.errors import PolicyError, PumiceError
from tests.framework.config._policies import GOOD, HEAD


class TestOverrides:
    def test_set_wins_over_environment_wins_over_file(self, load):
        env = {
            "PUMICE_PLUGIN__NODEORDER__LEASTREQUESTED__WEIGHT": "6",
            "PUMICE_PLUGIN__NODEORDER__MOSTREQUESTED_WEIGHT": "1.5",
            "PUMICE_SCHEDULER__PERIOD": "2m",
            "PUMICE_SCHEDULER__SCHEDULER_NAMES": "a, b",
            "PUMICE_ACTION__ALLOCATE__LIMIT": "9",
            "PUMICE_SHARED": "not ours",
            "HOME": "/root",
        }
        policy = load(GOOD, "plugin.nodeorder.leastrequested.weight=8", env=env)
        assert policy.plugins[2].options.least == 8
        assert policy.plugins[2].options.most == 1.5
        assert policy.actions[1].options.limit == 9
        assert policy.scheduler.period == 120
        assert policy.scheduler.scheduler_names == ("a", "b")

    def test_a_variable_that_is_no_setting_is_a_warning(self, load):
        (warning,) = load(GOOD, env={"PUMICE_FOO": "1", "PUMICE_SHARED": "x", "HOME": "/"}).warnings
        assert warning.startswith("environment PUMICE_FOO: not a setting; those of a policy are")

    def test_a_value_is_toml_or_else_a_string(self, load):
        settings = [
            "scheduler.default_queue=batch",
            "scheduler.period=250ms",
        ]
        policy = load(GOOD, *settings, 'scheduler.scheduler_names=["x"]')
        assert policy.scheduler.default_queue == "batch"
        assert policy.scheduler.period == 0.25
        assert policy.scheduler.scheduler_names == ("x",)

    def test_actions_may_be_replaced(self, load):
        policy = load(GOOD, 'actions=["allocate"]')
        assert [entry.name for entry in policy.actions] == ["allocate"]

    def test_a_name_with_punctuation(self, parts, load):
        scored = parts.load("plugin", "nodeorder").cls
        parts.register_local("plugin", "network-topology-aware", scored)
        env = {"PUMICE_PLUGIN__NETWORK_TOPOLOGY_AWARE__STRICT": "yes"}
        text = GOOD.replace('"nodeorder"', '"nodeorder", "network-topology-aware"')
        assert load(text, env=env).plugins[3].options.strict is True

    UNKNOWN = {  # noqa: RUF012
        "plugin.nodeorder.stict=1": "plugin 'nodeorder' (local) has no option 'stict'",
        "plugin.nodeordr.strict=1": "no plugin named 'nodeordr' is installed",
        "action.alocate.limit=1": "no action named 'alocate' is installed",
        "action.allocate.limit=many": "option 'limit' should be a valid integer",
        "scheduler.perod=1s": "has no setting 'perod'; did you mean 'period'?",
        "plugins.nodeorder.strict=1": "has no key 'plugins'; did you mean 'plugin'?",
        "plugin.nodeorder=1": "write KEY=VALUE",
        "preset=kai": "the preset cannot be overridden",
        "nonsense": "write KEY=VALUE",
    }

    @pytest.mark.parametrize("setting", UNKNOWN)
    def test_an_unknown_setting_is_named(self, problems, setting):
        (line,) = problems(GOOD, setting)
        assert line.startswith(f"--set {setting}: ")
        assert self.UNKNOWN[setting] in line

    @pytest.mark.parametrize(
        "name, words",
        [
            ("PUMICE_SCHEDULER__PEROD", "has no setting 'perod'"),
            ("PUMICE_PLUGIN__NODEORDR__STRICT", "no plugin named 'nodeordr'"),
            ("PUMICE_PLUGIN__NODEORDER__STRIKT", "has no option 'strikt'; did you mean 'strict'?"),
            ("PUMICE_PLUGN__NODEORDER__STRICT", "has no key 'plugn'; did you mean 'plugin'?"),
            ("PUMICE_PLUGIN__NODEORDER", "should be a table of options"),
        ],
    )
    def test_an_unknown_variable_is_named(self, problems, name, words):
        (line,) = problems(GOOD, env={name: "1"})
        assert line.startswith(f"{name}: ")
        assert words in line

    def test_an_override_for_a_part_that_is_not_listed_is_a_warning(self, load):
        policy = load(GOOD, env={"PUMICE_PLUGIN__BINPACK__BINPACK__WEIGHT": "2"})
        assert "PUMICE_PLUGIN__BINPACK__BINPACK__WEIGHT" in policy.warnings[0]


class TestPresets:
    @pytest.mark.parametrize("name", ["kai", "pumice", "volcano"])
    def test_a_preset_loads_without_warnings(self, name):
        policy = load_policy(preset=name, env={})
        assert policy.origin == f"preset {name}"
        assert policy.warnings == ()
        assert any(entry.cls.allocates for entry in policy.actions)

    def test_the_default_is_pumice(self):
        assert load_policy(env={}).origin == "preset pumice"

    @pytest.mark.parametrize(
        "name, promised", [("kai", False), ("pumice", True), ("volcano", False)]
    )
    def test_only_pumice_promises_something_about_evictions(self, name, promised):
        evictions = load_policy(preset=name, env={}).evictions
        assert {getattr(evictions, promise) for promise in AS_UPSTREAM} == {promised}

    def test_volcano_lets_whole_gangs_be_preempted(self):
        policy = load_policy(preset="volcano", env={})
        (gang,) = (entry for entry in policy.plugins if entry.name == "gang")
        assert not gang.answers("preemptable")

    def test_a_file_replaces_what_it_says_itself(self, load):
        policy = load(
            'preset = "volcano"\nactions = ["allocate"]\n[plugin.nodeorder]\nstrict = true\n'
        )
        assert [entry.name for entry in policy.actions] == ["allocate"]
        assert [entry.name for entry in policy.tiers[1]][-2:] == ["nodeorder", "binpack"]
        assert policy.tiers[1][-2].options.strict is True

    def test_options_merge_key_by_key(self, load, monkeypatch):
        from pumice.config import load as module
        from pumice.config.layers import toml_layer

        base = f"{HEAD}[plugin.nodeorder]\nleastrequested.weight = 4\nmostrequested.weight = 4"
        monkeypatch.setattr(module, "preset_layer", lambda name: toml_layer(f"preset {name}", base))
        policy = load("preset = 'x'\n[plugin.nodeorder]\n'leastrequested.weight' = 9")
        assert (policy.plugins[0].options.least, policy.plugins[0].options.most) == (9, 4)

    def test_a_preset_beside_a_file_is_refused(self, parts, tmp_path):
        with pytest.raises(PumiceError, match="given twice"):
            load_policy(tmp_path / "p.toml", preset="volcano", env={}, catalog=parts)

    def test_an_unknown_preset(self, parts):
        with pytest.raises(PumiceError, match="did you mean 'volcano'"):
            load_policy(preset="volcanoes", env={}, catalog=parts)


class TestDicts:
    def test_places_are_spelled_as_paths(self, parts):
        data = {
            "actions": ["allocate"],
            "tiers": [{"plugins": [{"name": "gang", "enable": ["job_readi"]}]}],
        }
        with pytest.raises(PolicyError) as caught:
            policy_from_dict(data, where="case/007", catalog=parts)
        (line,) = caught.value.problems
        assert line.startswith("case/007: tiers[0].plugins[0].enable[0]: there is no extension")

    def test_only_missing_parts_are_distinguished(self, parts):
        data = {
            "actions": ["allocate", "shuffle"],
            "tiers": [{"plugins": ["gang", "sla"]}, {"plugins": ["tdm"]}],
            "plugin": {"tdm": {"tdm.evict.period": "1m"}},
        }
        with pytest.raises(MissingParts) as caught:
            policy_from_dict(data, catalog=parts)
        assert caught.value.actions == ("shuffle",)
        assert caught.value.plugins == ("sla", "tdm")

    def test_another_mistake_beside_missing_parts_is_a_mistake(self, parts):
        data = {"actions": ["shuffle"], "tiers": [{"plugins": ["gang"]}], "nonsense": 1}
        with pytest.raises(PolicyError) as caught:
            policy_from_dict(data, catalog=parts)
        assert not isinstance(caught.value, MissingParts)
        assert len(caught.value.problems) == 2

    def test_the_environment_does_not_apply_to_plain_data(self, parts, monkeypatch):
        monkeypatch.setenv("PUMICE_SCHEDULER__PERIOD", "9s")
        data = {"actions": ["allocate"], "tiers": [{"plugins": ["gang"]}]}
        assert policy_from_dict(data, catalog=parts).scheduler.period == 1

    def test_data_that_is_no_table_is_refused(self, parts):
        with pytest.raises(PolicyError, match="should be a table"):
            policy_from_dict(["allocate"], catalog=parts)

    def test_volcano_names_are_ours_and_values_may_be_strings(self, parts):
        data = {
            "actions": ["allocate"],
            "tiers": [{"plugins": ["nodeorder"]}],
            "plugin": {"nodeorder": {"leastrequested.weight": "2"}},
        }
        policy = policy_from_dict(data, dialect="volcano", catalog=parts)
        assert policy.plugins[0].options.least == 2

    def test_what_is_missing_of_kais_parts_has_our_names(self, parts):
        data = {"actions": ["allocate"], "tiers": [{"plugins": ["gang", {"name": "elastic"}]}]}
        with pytest.raises(MissingParts) as caught:
            policy_from_dict(data, dialect="kai", catalog=parts)
        assert caught.value.actions == ("fair_allocate",)
        assert caught.value.plugins == ("elastic",)

    def test_an_unknown_dialect(self, parts):
        with pytest.raises(PumiceError, match="did you mean 'volcano'"):
            policy_from_dict({}, dialect="vulcano", catalog=parts)
