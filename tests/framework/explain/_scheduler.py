"""Schedulers for the tests of explanations."""

from pumice.backends.memory import MemoryBackend
from pumice.scheduler import Scheduler


def scheduler_of(world, policy):
    return Scheduler(MemoryBackend(world.inventory, now=world.now), policy)
