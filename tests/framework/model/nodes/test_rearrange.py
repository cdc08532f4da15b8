"""Rows of the node table when nodes come and go."""

from dataclasses import replace

import numpy as np

from tests.framework._build import World
from tests.framework.model.nodes._tables import cluster


def table():
    return cluster(World().nodes("a", "b", "c", gpu=4).running("old", on=["a", "c"])).nodes


def test_rows_move_with_what_they_hold():
    nodes = table()
    held, used = nodes.held[2], nodes.used[2].copy()
    facts = {node.name: node for node in nodes.facts}
    source = nodes.rearrange([facts["c"], replace(facts["a"], name="bb"), facts["b"]])
    assert source.tolist() == [1, -1, 2]
    assert nodes.names == ["b", "bb", "c"]
    assert nodes.row_of == {"b": 0, "bb": 1, "c": 2}
    assert nodes.held[2] is held
    assert not nodes.held[1]
    assert np.array_equal(nodes.used[2], used)
    assert not nodes.allocatable[1].any()
    assert nodes.get("c").row == 2


def test_the_journal_names_the_rows_by_their_new_numbers():
    nodes = table()
    nodes.clear_journal()
    nodes.touch(0)
    nodes.touch(2)
    nodes.rearrange(nodes.facts[1:])
    assert nodes.touched() == {1}


def test_a_table_may_lose_all_rows_and_get_new_ones():
    nodes = table()
    facts = nodes.facts
    nodes.rearrange([])
    assert len(nodes) == 0
    assert nodes.rearrange(facts).tolist() == [-1, -1, -1]
    assert nodes.idle.shape == (3, len(nodes.dimensions))
