"""Quotas of namespaces."""

from pumice import PERMIT, REJECT


def job(world, **minimum):
    world.job("j", phase="Pending", min_resources={"cpu": 1}, quota_min_resources=minimum)
    plugin = world.open("resourcequota")
    return plugin, world.job_of("j")


def test_without_a_quota_every_job_is_let_in(world):
    plugin, waiting = job(world, cpu=1_000_000)
    assert plugin.job_enqueueable(waiting) == PERMIT


def test_the_minimum_must_fit_beside_what_is_used(world):
    world.quota("small", {"cpu": 4000, "memory": 10}, {"cpu": 1000})
    plugin, waiting = job(world, cpu=3000)
    assert plugin.job_enqueueable(waiting) == PERMIT
    plugin, waiting = job(world, cpu=3001)
    assert plugin.job_enqueueable(waiting) == REJECT
    assert waiting.refusals[-1].message == ("resource quota small insufficient: insufficient cpu")


def test_every_quota_must_hold(world):
    world.quota("large", {"cpu": 9000}, {})
    world.quota("small", {"cpu": 1000}, {})
    plugin, waiting = job(world, cpu=2000)
    assert plugin.job_enqueueable(waiting) == REJECT


def test_names_are_compared_as_they_are_written(world):
    world.quota("requests", {"requests.cpu": 1000}, {})
    plugin, waiting = job(world, cpu=2000)
    assert plugin.job_enqueueable(waiting) == PERMIT
    plugin, waiting = job(world, **{"requests.cpu": 2000})
    assert plugin.job_enqueueable(waiting) == REJECT


def test_jobs_let_in_before_count(world):
    world.quota("small", {"cpu": 4000}, {})
    plugin, waiting = job(world, cpu=2500)
    assert plugin.job_enqueueable(waiting) == PERMIT
    plugin.job_enqueued(waiting)
    assert plugin.job_enqueueable(waiting) == REJECT


def test_a_quota_binds_its_own_namespace_only(world):
    world.quota("small", {"cpu": 1000}, {})
    world.inventory.quotas["ns/small"].namespace = "elsewhere"
    plugin, waiting = job(world, cpu=2000)
    assert plugin.job_enqueueable(waiting) == PERMIT
