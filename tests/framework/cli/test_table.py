"""Tables fit the width that they are given."""

import pytest

from pumice.cli._table import Table

WORDS = "a sentence of words that is long enough to be folded twice at least"


def table(*rows: tuple[object, ...]) -> Table:
    made = Table("NAME", "COUNT", "TEXT", right=("COUNT",))
    for row in rows:
        made.add(*row)
    return made


def test_without_a_width_a_row_is_a_line():
    assert list(table(("x", 1, WORDS), ("longer", 20, None)).lines(None)) == [
        "NAME    COUNT  TEXT",
        f"x           1  {WORDS}",
        "longer     20",
    ]


@pytest.mark.parametrize("width", [30, 40, 60])
def test_cells_wrap_between_words(width):
    lines = list(table(("x", 1, WORDS)).lines(width))
    assert max(map(len, lines)) <= width
    assert " ".join(" ".join(lines[1:]).split()) == f"x 1 {WORDS}"


def test_a_word_is_broken_only_where_it_does_not_fit():
    lines = list(table(("x", 1, "w" * 100)).lines(30))
    assert max(map(len, lines)) <= 30
    assert "".join(lines).count("w") == 100


def test_one_line_for_each_row_ends_with_an_ellipsis():
    lines = list(table(("x", 1, WORDS), ("y", 2, "short")).lines(30, one_line=True))
    assert len(lines) == 3
    assert lines[1].startswith("x         1  a sentence")
    assert lines[1].endswith("…")
    assert lines[2] == "y         2  short"


def test_wide_characters_take_two_columns():
    lines = list(table(("作业", 1, "x"), ("ab", 2, "y")).lines(None))
    assert lines[1] == "作业      1  x"
    assert lines[2] == "ab        2  y"


def test_control_characters_of_an_object_do_not_reach_the_terminal():
    lines = list(table(("\x1b[2Jx", 1, "a\nb")).lines(None))
    assert lines[1:] == ["[2Jx      1  a", "             b"]


def test_colours_are_around_the_text_only():
    made = Table("BOUND", "NODE", styles={"BOUND": "green"})
    made.add("x", "n1")
    head, row = made.lines(None, colour=True)
    assert row == "\x1b[32mx\x1b[0m      n1"
    assert "\x1b[32m\x1b[1mBOUND" in head
    assert "\x1b" not in "".join(made.lines(None))
