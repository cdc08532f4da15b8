"""A small cluster with its node table."""

from pumice.model.cluster import build_cluster
from tests.framework._build import NOW, World

COLUMNS = ("idle", "used", "releasing", "pipelined", "future_idle")


def cluster(world=None):
    world = world or World().node("b", cpu=4, gpu=2).node("a").job("j", tasks=3)
    return build_cluster(world.inventory, now=NOW)


def table_and_tasks():
    built = cluster()
    return built.nodes, list(built.tasks.values())
