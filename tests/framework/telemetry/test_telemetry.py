"""What a backend that asks for it is given after every cycle."""

from pumice import MemoryBackend, Scheduler, load_policy
from pumice.testing import Cluster


class Measured(MemoryBackend):
    """Stores what was measured."""

    seen = None

    def measured(self, telemetry):
        self.seen = telemetry


def inventory():
    cluster = Cluster().nodes("n1", cpu=4).queue("red", weight=3)
    return cluster.job("a", 2, cpu=1, queue="red").inventory


def test_a_backend_that_asks_gets_times_and_queues():
    backend = Measured(inventory())
    Scheduler(backend, load_policy(None, preset="volcano")).run_once()
    seen = backend.seen
    assert {"enqueue", "allocate", "backfill"} <= seen.actions.keys()
    assert "proportion" in seen.plugins or "capacity" in seen.plugins
    assert all(seconds >= 0 for seconds in [*seen.actions.values(), *seen.plugins.values()])
    (red,) = [queue for queue in seen.queues if queue.queue == "red"]
    assert red.weight == 3
    assert red.amounts["allocated"]["cpu"] == 2.0
    assert red.amounts["request"]["cpu"] == 2.0


def test_queues_are_not_counted_for_other_backends():
    session = Scheduler(MemoryBackend(inventory()), load_policy(None, preset="volcano"))
    assert session.run_session().telemetry.queues == []
