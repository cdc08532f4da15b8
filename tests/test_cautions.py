"""What the built-in plugins and actions warn about when a policy is loaded."""

import pytest

from pumice import policy_from_dict


@pytest.fixture
def warnings():
    def warnings(actions, *plugins, **options):
        table = {"actions": actions.split(), "tiers": [{"plugins": list(plugins)}], **options}
        return policy_from_dict(table, where="p").warnings

    return warnings


def test_evicting_before_allocate(warnings):
    (text,) = warnings("reclaim allocate", "gang")
    assert "reclaim runs before allocate, so it evicts for jobs that idle nodes" in text
    assert warnings("allocate reclaim", "gang") == ()


def test_evicting_before_fair_allocate(warnings):
    (text,) = warnings("consolidate fair_allocate", "priority")
    assert "consolidate runs before fair_allocate" in text
    assert warnings("fair_allocate consolidate allocate", "priority") == ()


def test_backfill_before_allocate(warnings):
    (text,) = warnings("backfill allocate", "priority")
    assert "p: actions[0]: backfill runs before allocate, so its tasks take nodes" in text
    assert warnings("allocate backfill", "priority") == ()
    assert warnings("backfill", "priority") == ()


def test_enqueue_after_allocate(warnings):
    (text,) = warnings("allocate enqueue", "priority")
    assert "enqueue runs after allocate" in text


def test_gang_votes_on_victims_of_preempt(warnings):
    (text,) = warnings("allocate preempt", "gang")
    assert "p: tiers[0].plugins[0]: gang answers preemptable, so preempt evicts only" in text
    assert "must agree" not in text


def test_gang_and_drf_must_agree_on_victims(warnings):
    (text,) = warnings("allocate preempt", "gang", "drf")
    assert "minimum and drf must agree: a job" in text


def test_gang_is_fine_without_preempt(warnings):
    assert warnings("allocate reclaim", "gang", "drf") == ()


def test_drf_orders_queues_beside_another_plugin(warnings):
    tree = {"plugin": {"drf": {"hierarchy": True}}}
    (text,) = warnings("allocate", "drf", "proportion", **tree)
    assert "with hierarchy, drf and proportion order the queues of one tier in two ways" in text
    assert warnings("allocate", "drf", "proportion") == ()
    tiers = [{"plugins": ["drf"]}, {"plugins": ["proportion"]}]
    assert policy_from_dict({"actions": ["allocate"], "tiers": tiers, **tree}).warnings == ()
