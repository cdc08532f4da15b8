"""Random small clusters, drawn by hypothesis or by a seeded generator."""

from pumice.testing.random_clusters import seeded_cluster as seeded_world
from pumice.testing.strategies import clusters as worlds

__all__ = ["seeded_world", "worlds"]
