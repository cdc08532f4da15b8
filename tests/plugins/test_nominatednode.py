"""The node of a pod's nomination."""

import pytest

from tests.plugins._shares import SharedWorld


@pytest.mark.parametrize("nominated, scores", [("n2", [0, 1e6]), ("", [0, 0]), ("gone", [0, 0])])
def test_the_nominated_node_scores_a_million(nominated: str, scores: list[float]) -> None:
    world = SharedWorld()
    world.node("n1")
    world.node("n2")
    world.pod("a", nominated=nominated)
    world.open("nominatednode")
    assert world.scores("a") == scores


def test_tasks_that_differ_in_nothing_else_are_distinguished() -> None:
    world = SharedWorld()
    world.node("n1")
    world.node("n2")
    world.pod("a", nominated="n1")
    world.pod("b", nominated="n2")
    world.open("nominatednode")
    assert world.scores("a") == [1e6, 0]
    assert world.scores("b") == [0, 1e6]
    assert world.scores("b", "n2") == [1e6]
