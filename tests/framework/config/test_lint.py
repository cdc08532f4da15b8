"""Warnings about policies, from what plugins and actions declare."""

import pytest

from pumice import Action, Plugin, hookimpl
from pumice.config import policy_from_dict


class Step(Action):
    def execute(self, session):
        pass


class Admit(Step):
    admits = True


class Place(Step):
    allocates = True


class Evict(Step):
    evicts = True
    needs = ("job_starving",)


class Picky(Step):
    """Warns about its options and its place."""

    class Options(Action.Options):
        limit: int = 0

    @classmethod
    def cautions(cls, entry, policy):
        if entry.options.limit > 9:
            yield f"{entry.name}: a limit of {entry.options.limit} is slow"
        if policy.actions_after(entry):
            yield f"{entry.name} should run last"
        if policy.actions_before(entry) and policy.provides("limits"):
            yield f"{entry.name} has limits already"


class Starving(Plugin):
    provides = frozenset({"limits"})

    @hookimpl
    def job_starving(self, job):
        return True


class Alone(Plugin):
    @classmethod
    def cautions(cls, entry, policy):
        others = [other.name for other in policy.tier_of(entry) if other is not entry]
        return [f"{entry.name} and {other} in one tier" for other in others]


class Failing(Plugin):
    @classmethod
    def cautions(cls, entry, policy):
        raise KeyError("no such thing")


class Before02(Plugin):
    @classmethod
    def caution(cls, options, companions):
        return f"does not suit {', '.join(companions)}" if companions else None


@pytest.fixture
def warnings(catalog):
    """The warnings about a policy of these actions and one tier of these plugins."""
    for cls in (Admit, Place, Evict, Picky):
        catalog.register_local("action", cls.__name__.lower(), cls)
    for cls in (Starving, Alone, Failing, Before02):
        catalog.register_local("plugin", cls.__name__.lower(), cls)

    def warnings(actions, *plugins, **options):
        table = {"actions": actions.split(), "tiers": [{"plugins": list(plugins)}], **options}
        return policy_from_dict(table, where="p", catalog=catalog).warnings

    return warnings


def test_an_evicting_action_before_the_allocating_one(warnings):
    (text,) = warnings("evict place", "starving")
    assert text.startswith("p: actions[0]: evict runs before place, so it evicts for jobs")
    assert warnings("place evict", "starving") == ()


def test_an_admitting_action_after_the_allocating_one(warnings):
    (text,) = warnings("place admit", "starving")
    assert "admit runs after place, so a job that it admits waits for the next cycle" in text
    assert warnings("admit place", "starving") == ()


def test_an_action_whose_extension_point_no_plugin_answers(warnings):
    (text,) = warnings("place evict", "alone")
    assert "evict has no effect: no plugin of the policy answers job_starving" in text


def test_disabling_what_is_not_answered(warnings):
    (text,) = warnings("place", {"name": "starving", "disable": ["job_order"]})
    assert "disabling job_order has no effect: starving does not answer it" in text


def test_an_action_states_its_own_cautions(warnings):
    limit = {"action": {"picky": {"limit": 10}}}
    assert warnings("picky place", "alone", **limit) == (
        "p: actions[0]: picky: a limit of 10 is slow",
        "p: actions[0]: picky should run last",
    )
    assert warnings("place picky", "alone") == ()
    (text,) = warnings("place picky", "starving")
    assert text.endswith("picky has limits already")


def test_a_plugin_states_its_own_cautions(warnings):
    (text,) = warnings("place", "starving", "alone")
    assert text == "p: tiers[0].plugins[1]: alone and starving in one tier"
    assert warnings("place", "alone") == ()


def test_a_check_that_fails_is_a_warning(warnings):
    (text,) = warnings("place", "failing")
    assert "failing could not check the policy: KeyError: 'no such thing'" in text


def test_the_method_of_0_1_is_asked_for_one_more_version(warnings):
    with pytest.warns(DeprecationWarning, match="'caution' is called 'cautions' since") as caught:
        (text,) = warnings("place", "starving", "before02")
    assert text == "p: tiers[0].plugins[1]: before02: does not suit starving"
    assert caught[0].filename == __file__


class TestTiersOfVictims:
    def warnings(self, *tiers, actions=("allocate", "reclaim"), **evictions):
        config = {"actions": list(actions), "tiers": [{"plugins": list(tier)} for tier in tiers]}
        policy = policy_from_dict({**config, "evictions": evictions})
        return [text for text in policy.warnings if "reclaimable" in text]

    def test_a_later_tier_may_name_what_an_earlier_one_refused(self):
        (text,) = self.warnings(["gang"], ["proportion"])
        assert "where gang of an earlier tier allows no victim, reclaimable of proportion" in text

    def test_a_quota_plugin_that_only_votes_is_not_heard(self):
        overruled, unheard = self.warnings(["gang"], ["proportion"], protected=False)
        assert "may name what was refused" in overruled
        assert "reclaimable of proportion is not heard" in unheard

    def test_plugins_that_protect_are_always_heard(self):
        assert (
            self.warnings(
                [{"name": "gang", "disable": ["reclaimable"]}, "conformance"], ["proportion"]
            )
            == []
        )

    def test_one_tier_is_no_trap(self):
        assert self.warnings(["gang", "conformance", "proportion"], protected=False) == []

    def test_without_an_action_that_asks_there_is_nothing_to_warn_of(self):
        assert self.warnings(["gang"], ["proportion"], actions=["allocate"]) == []


def test_an_option_that_has_no_effect():
    table = {"actions": ["allocate", "preempt"], "tiers": [{"plugins": ["gang", "priority"]}]}
    option = {"action": {"preempt": {"topologyAwarePreemptWorkerNum": 4}}}
    added = set(policy_from_dict({**table, **option}, where="p").warnings)
    (text,) = added - set(policy_from_dict(table, where="p").warnings)
    assert text.startswith("p: actions[1]: topologyAwarePreemptWorkerNum of preempt has no effect.")
