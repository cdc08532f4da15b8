"""KAI clusters of nodes with GPUs."""

from tests.plugins._fair import FairWorld


def cluster(*gpus, gpu_memory=1000):
    """Nodes ``n0``, ``n1`` … with so many GPUs, and a queue ``q``."""
    world = FairWorld()
    for number, gpu in enumerate(gpus):
        world.node(f"n{number}", gpu=gpu, gpu_memory=gpu_memory)
    world.queue("q")
    return world
