"""Time-based fair share: recent usage, from a source or from the history."""

from types import SimpleNamespace

import pytest

from pumice.errors import PluginError
from pumice.model.gpu.request import GPU
from pumice_builtin_plugins.fairshare.usage import UsageHistory, Window, parse_usage
from tests.plugins._fair import FairWorld, ask

HOUR = 3600.0


@pytest.fixture
def world():
    """Two queues that both want all 16 GPUs."""
    world = FairWorld()
    world.node(gpu=16)
    for queue in "ab":
        world.queue(queue)
        world.job(f"j{queue}", queue, *[ask()] * 16)
    return world


USED = {"a": {GPU: 0.6}, "b": {GPU: 0.1}}


def tree(**gpus):
    return {name: SimpleNamespace(allocated=[0, 0, n * 1000]) for name, n in gpus.items()}


class TestSources:
    def test_without_any_source_weights_alone_count(self, world):
        world.open("fairshare")
        assert world.shares("a", "b") == [8, 8]

    @pytest.mark.parametrize("k,expected", [(0, [8, 8]), (1, [5, 11]), (2, [3, 13])])
    def test_a_table_in_the_facts_shifts_shares_by_k(self, world, k, expected):
        world.inventory.queue_usage = USED
        world.open("fairshare", kValue=k)
        assert world.shares("a", "b") == expected

    def test_a_source_in_the_schedulers_memory_is_asked_for_the_time(self, world):
        asked = []

        class Source:
            def usage(self, now):
                asked.append(now)
                return USED

        world.memory["fairshare.usage"] = Source()
        world.open("fairshare")
        assert world.shares("a", "b") == [5, 11]
        assert asked == [world.now]

    def test_a_table_that_makes_no_sense_names_queue_and_resource(self, world):
        world.inventory.queue_usage = {"a": {GPU: -1}}
        with pytest.raises(PluginError, match=f"queue a: {GPU} is -1"):
            world.open("fairshare")

    def test_what_a_table_leaves_out_is_nothing(self):
        assert parse_usage({"a": {GPU: 0.5}}) == {"a": (0, 0, 0.5)}


class TestHistory:
    def history(self, **window):
        return UsageHistory(Window(**{"size": 10 * HOUR, **window}))

    def test_usage_is_the_part_of_all_capacity_in_the_window(self):
        history = self.history()
        history.record(0, (0, 0, 8000), tree(a=8))
        history.record(HOUR, (0, 0, 8000), tree(a=0, b=4))
        assert history.usage(HOUR) == {"a": {GPU: 0.5}, "b": {GPU: 0.25}}

    def test_samples_outside_the_window_are_forgotten(self):
        history = self.history(size=HOUR)
        history.record(0, (0, 0, 8000), tree(a=8))
        history.record(2 * HOUR, (0, 0, 8000), tree(b=4))
        assert history.usage(2 * HOUR) == {"b": {GPU: 0.5}}

    def test_a_tumbling_window_starts_afresh(self):
        history = self.history(size=10.0, kind="tumbling", start=3.0, resolution=1.0)
        history.record(12, (0, 0, 8000), tree(a=8))
        assert history.usage(12.5) == {"a": {GPU: 1.0}}
        history.record(14, (0, 0, 8000), tree(b=8))
        assert history.usage(14) == {"b": {GPU: 1.0}}

    def test_usage_fades_by_half_lives(self):
        history = self.history(half_life=HOUR)
        history.record(0, (0, 0, 8000), tree(a=8))
        history.record(HOUR, (0, 0, 8000), tree(b=8))
        # an hour ago counts half: 1/2 against 1
        assert history.usage(HOUR)["a"][GPU] == pytest.approx(1 / 3)

    def test_samples_are_taken_no_closer_than_the_resolution(self):
        history = self.history()
        history.record(0, (0, 0, 8000), tree(a=8))
        history.record(30, (0, 0, 8000), tree(b=8))
        assert history.usage(30) == {"a": {GPU: 1.0}}

    def test_a_resource_that_the_cluster_lacks_is_left_out(self):
        history = self.history()
        history.record(0, (1000, 0, 0), {"a": SimpleNamespace(allocated=[500, 0, 0])})
        assert history.usage(0) == {"a": {"cpu": 0.5}}


class TestRemembering:
    def test_what_a_queue_held_in_one_cycle_counts_in_the_next(self, world):
        world.job("held", "a", *[ask(on="n")] * 8)
        options = {"usage.windowSize": "7d"}
        world.open("fairshare", **options)
        assert world.shares("a", "b") == [8, 8]
        world.session.ask.on_session_close()
        world.now += 60
        world.open("fairshare", **options)
        # a used half of the GPUs: weights 1/2 + (1/2 - 1/2) and 1/2 + 1/2
        assert world.shares("a", "b") == [5, 11]

    def test_nothing_is_remembered_unless_a_window_is_set(self, world):
        world.open("fairshare")
        world.session.ask.on_session_close()
        assert world.memory == {}
