"""How nodes count shared GPUs; an undo restores the counts."""

from contextlib import suppress
from itertools import permutations

import pytest
from hypothesis import strategies as st

from pumice.errors import StatementError
from tests.plugins._shares import SharedWorld
from tests.sampling import random_examples

STEPS = st.lists(
    st.tuples(
        st.sampled_from(["evict", "evict", "unevict", "place", "place", "back"]),
        st.integers(0, 5),
        st.sampled_from([0, 1]),
        st.sampled_from(["a", "b", "c"]),
    ),
    max_size=12,
)


def crowded():
    """Two nodes of two GPUs with five tasks of half a GPU on them, and one of a whole one."""
    world = SharedWorld()
    for node in "mn":
        world.node(node, gpu=2)
    for number, (node, group) in enumerate(["ma", "ma", "mb", "na", "nb"]):
        world.pod(f"t{number}", on=node, gpu=0.5, shares=f"{node}-{group}")
    world.pod("t5", gpu=1)
    world.open("nodeavailability")
    return world


def counted(session):
    nodes = session.nodes
    columns = (nodes.idle, nodes.used, nodes.releasing, nodes.pipelined, nodes.future_idle)
    shares = [nodes.shares(row) for row in range(len(nodes))]
    return (
        [column.tolist() for column in columns],
        [(dict(s.used), dict(s.allocated), dict(s.releasing), set(s.marked)) for s in shares],
        [(s.idle_parts(), s.releasing_parts()) for s in shares],
        sorted(nodes.sharing),
    )


def apply_steps(world, statement, steps):
    """Apply those steps that the state allows."""
    marks = [0]
    for step, number, row, group in steps:
        task = world.task(f"t{number}")
        shared = task.gpu.shared
        with suppress(StatementError):
            if step == "evict":
                statement.evict(task, "test")
            elif step == "unevict":
                statement.unevict(task)
            elif step == "place":
                groups = (f"{'mn'[row]}-{group}",) if shared else None
                statement.pipeline(task, row, groups=groups)
            else:
                statement.rollback(marks[number % len(marks)])
                marks = [mark for mark in marks if mark <= statement.checkpoint()]
        marks.append(statement.checkpoint())


@random_examples(30, 100, before=STEPS, steps=STEPS)
def test_undo_restores_the_gpu_counts(before, steps):
    world = crowded()
    with world.session.statement() as committed:
        apply_steps(world, committed, before)
        committed.commit()
    before_steps = counted(world.session)
    with world.session.statement() as statement:
        apply_steps(world, statement, steps)
        statement.rollback(0)
        assert counted(world.session) == before_steps
        apply_steps(world, statement, steps)
    assert counted(world.session) == before_steps


def test_the_sum_of_fractions_does_not_depend_on_their_order():
    sums = []
    for sizes in permutations([0.9, 0.3, 0.6]):
        world = SharedWorld()
        world.node("n", gpu=3)
        for number, size in enumerate(sizes):
            world.pod(f"t{number}", on="n", gpu=size, shares=f"g{number}")
        world.open("nodeavailability")
        sums.append(world.session.nodes.shares(0).idle_parts())
    assert len(set(sums)) == 1
    assert sums[0] == pytest.approx(1.2)
