"""Warnings about policies that have surprising effects."""

import pytest


class TestAdvice:
    @pytest.fixture
    def warnings(self, load):
        def warnings(actions, *plugins):
            return load(
                f"actions = {actions}\n[[tiers]]\nplugins = [{', '.join(plugins)}]"
            ).warnings

        return warnings

    def test_evicting_before_allocate(self, warnings):
        (text,) = warnings(["preempt", "allocate"], '{name="gang",disable=["preemptable"]}')
        assert "policy.toml:1: preempt runs before allocate" in text

    def test_evicting_though_no_plugin_answers_starving(self, warnings):
        (text,) = warnings(["allocate", "reclaim"], '"priority"')
        assert "reclaim has no effect: no plugin of the policy answers job_starving" in text

    def test_gang_votes_on_victims_of_preempt(self, warnings):
        (text,) = warnings(["allocate", "preempt"], '"gang"')
        assert "policy.toml:3: gang answers preemptable" in text
        assert "drf" not in text

    def test_gang_and_drf_must_agree_on_victims(self, warnings):
        (text,) = warnings(["allocate", "preempt"], '"gang"', '"drf"')
        assert "drf must agree" in text

    def test_gang_is_fine_without_preempt(self, warnings):
        assert warnings(["allocate", "reclaim"], '"gang"', '"drf"') == ()

    def test_backfill_before_allocate(self, warnings):
        (text,) = warnings(["backfill", "allocate"], '"priority"')
        assert "backfill runs before allocate" in text

    def test_enqueue_after_allocate(self, warnings):
        (text,) = warnings(["allocate", "enqueue"], '"priority"')
        assert "enqueue runs after allocate" in text

    def test_disabling_what_is_not_answered(self, warnings):
        (text,) = warnings(["allocate"], '{name="gang",disable=["job_order"]}')
        assert "disabling job_order has no effect: gang does not answer it" in text
