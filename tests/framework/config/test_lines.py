"""The line index knows where every key of a TOML text stands."""

from collections.abc import Iterator
from typing import Any

import pytest
import tomli

from pumice.config.lines import index_lines

PLAIN = """\
actions = ["enqueue", "allocate"]

[[tiers]]
plugins = [
    "priority",   # a comment, with ] and "
    { name = "gang", disable = ["preemptable"] },
]

[[tiers]]
plugins = ["drf"]

[plugin.nodeorder]
leastrequested.weight = 2
"mostrequested.weight" = 3
"""


def test_lines_of_a_policy():
    index = index_lines(PLAIN)
    assert index["actions",] == 1
    assert index["actions", 1] == 1
    assert index["tiers", 0] == 3
    assert index["tiers", 0, "plugins", 0] == 5
    assert index["tiers", 0, "plugins", 1] == 6
    assert index["tiers", 0, "plugins", 1, "disable", 0] == 6
    assert index["tiers", 1, "plugins", 0] == 10
    assert index["plugin", "nodeorder"] == 12
    assert index["plugin", "nodeorder", "leastrequested", "weight"] == 13
    assert index["plugin", "nodeorder", "mostrequested.weight"] == 14


NASTY = {
    "policy": PLAIN,
    "strings": (
        "a = '''\nb = 1\n[c]\n'''\n"
        'd = """\n[[e]]\nf = "x" \\""" # no\n"""\n'
        'g = "# not \\" a comment"\n'
        "h = 'C:\\path\\'\n"
        'i = """""two quotes"""""\n'
        "j = ''''one quote''''\n"
        'k = ""\n'
        "l = 1\n"
    ),
    "keys": (
        '"a.b" = 1\n'
        "'c d'.e . \"f\\u0041=]\" = 2\n"
        "[ x . 'y]z' . \"#\" ]\n"
        "bare-key_1 = 3\n"
        "1234 = 4\n"
        "3.14 = 5\n"
        '"" = 6\n'
    ),
    "arrays of tables": (
        "[[a]]\nn = 1\n[a.sub]\nk = 1\n[[a.list]]\nm = 1\n[[a.list]]\nm = 2\n"
        "[[a]]\nn = 2\n[[a.list]]\nm = 3\n[a.list.deep]\nx = 1\n[b]\nc = 1\n"
    ),
    "nested arrays": (
        "a = [\n  [1, 2], # x ]\n  [\n    3,\n    [ 'x', ],\n  ],\n  [],\n]\n"
        "b = [ {c = [ {d = 1},\n {d = 2} ]}, {} ]\nc = {}\n"
    ),
    "scalars": (
        "a = 1979-05-27 07:32:00 # a date\nb = +inf\nc = 1_000\nd = 0xdead\ne = true\n"
        "f = 07:32:00\ng = [1979-05-27 07:32:00,2.0e1 , false]\nh = {i = 1979-05-27, j = nan}\n"
    ),
    "windows line ends": 'a = 1\r\nb = [\r\n  "x",\r\n  "y"\r\n]\r\n[c]\r\nd = 2\r\n',
    "no newline at the end": "[a]\nb = 1 # c",
    "super table after its child": "[a.b]\nc = 1\n[a]\nd = 2\n",
    "empty": "# nothing\n\n",
}


def paths(data: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    items: Any = ()
    if isinstance(data, dict):
        items = data.items()
    elif isinstance(data, list):
        items = enumerate(data)
    for key, value in items:
        yield (*path, key)
        yield from paths(value, (*path, key))


@pytest.mark.parametrize("text", NASTY.values(), ids=NASTY)
def test_every_path_is_in_the_index_and_nothing_else(text):
    assert set(index_lines(text)) == set(paths(tomli.loads(text)))


@pytest.mark.parametrize("text", NASTY.values(), ids=NASTY)
def test_a_key_stands_on_its_line(text):
    lines = text.splitlines()
    for path, line in index_lines(text).items():
        key = path[-1]
        if isinstance(key, str) and key.isalpha():
            assert key in lines[line - 1]


@pytest.mark.parametrize("marker", ["l", "3.14", "m"])
def test_lines_after_nasty_parts_are_right(marker):
    spots = {
        "l": ("strings", ("l",), 14),
        "3.14": ("keys", ("x", "y]z", "#", "3", "14"), 6),
        "m": ("arrays of tables", ("a", 1, "list", 0, "m"), 12),
    }
    name, path, line = spots[marker]
    assert index_lines(NASTY[name])[path] == line


@pytest.mark.parametrize("text", ["a = ", "[a", "a = [1, ", "= 1", "a = {b", '"x', "a = 'x"])
def test_what_is_no_toml_ends_the_index_quietly(text):
    index_lines(f"first = 1\n{text}")
