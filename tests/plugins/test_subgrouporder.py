"""Pod sets of a job grow evenly."""

import pytest

from pumice.model.facts import SubGroup
from tests.plugins._fair import FairWorld, ask


def pod_sets(**sets):
    """A job with pod sets given as (minimum, running, waiting)."""
    world = FairWorld()
    world.node()
    world.queue("q")
    pods = []
    for name, (_, running, waiting) in sets.items():
        pods += [ask(on="n", sub_group=name)] * running
        pods += [ask(sub_group=name)] * waiting
    world.job("j", "q", *pods)
    world.inventory.groups["ns/j"].sub_groups = [
        SubGroup(name, minimum) for name, (minimum, *_) in sets.items()
    ]
    plugin = world.open("subgrouporder")
    return plugin.session.ask.pod_set_order, world.job_of("j").sub_jobs


@pytest.mark.parametrize(
    "a,b,first",
    [
        ((2, 1, 1), (2, 2, 1), "a"),
        ((4, 4, 1), (4, 3, 1), "b"),
        ((1, 2, 1), (4, 6, 1), "b"),
        ((2, 3, 1), (4, 8, 1), "a"),
    ],
    ids=["below the minimum", "below, though it has more", "smaller part", "of larger sets too"],
)
def test_the_pod_set_with_least_of_its_minimum_goes_first(a, b, first):
    order, sets = pod_sets(a=a, b=b)
    assert (order(sets["a"], sets["b"]) < 0) == (first == "a")
    assert order(sets["b"], sets["a"]) == -order(sets["a"], sets["b"])


@pytest.mark.parametrize(
    "a,b", [((4, 1, 1), (2, 1, 1)), ((1, 2, 1), (2, 4, 1))], ids=["both below", "equal parts"]
)
def test_names_decide_between_equals(a, b):
    order, sets = pod_sets(a=a, b=b)
    assert order(sets["a"], sets["b"]) == 0


def test_a_minimum_of_nothing_is_no_trouble():
    order, sets = pod_sets(a=(1, 1, 0), b=(1, 0, 1))
    sets["b"].min_available = 0
    assert order(sets["a"], sets["b"]) == 0
