"""Manifest files of every form, and what is said of those that cannot be read."""

import io
import json
import sys
from pathlib import Path
from textwrap import dedent

import pytest
from msgspec import Raw
from msgspec import json as fast_json

from pumice.errors import ManifestError, PumiceError
from pumice.manifests import load, read_paths


def node(name: str) -> dict:
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}}


def names(paths) -> list[str]:
    return [
        (fast_json.decode(item) if isinstance(item, Raw) else item)["metadata"]["name"]
        for _, item in read_paths(paths)
    ]


def write(path: Path, content: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    if isinstance(content, bytes):
        path.write_bytes(content)
    else:
        path.write_text(content if isinstance(content, str) else json.dumps(content, indent=1))
    return path


def test_a_json_object_is_one_item(tmp_path):
    file = write(tmp_path / "node.json", node("a"))
    assert names([file]) == ["a"]
    assert names([str(file)]) == ["a"]


def test_a_list_is_taken_apart_with_the_place_of_every_item(tmp_path):
    listing = {"apiVersion": "v1", "kind": "List", "items": [node("a"), node("b")]}
    file = write(tmp_path / "dump.json", listing)
    assert [where for where, _ in read_paths([file])] == [f"{file} items[0]", f"{file} items[1]"]


def test_lists_in_lists_are_taken_apart_too(tmp_path):
    inner = {"apiVersion": "v1", "kind": "List", "items": [node("a"), node("b")]}
    outer = {"kind": "List", "apiVersion": "v1", "items": [inner, node("c")]}
    assert names([write(tmp_path / "x.json", outer)]) == ["a", "b", "c"]


@pytest.mark.parametrize("suffix", ["json", "yaml"])
def test_the_items_of_a_typed_list_have_its_kind(tmp_path, suffix):
    listing = {
        "kind": "NodeList",
        "apiVersion": "v1",
        "items": [{"metadata": {"name": "a"}}, node("b"), {}],
    }
    inventory = load([write(tmp_path / f"x.{suffix}", listing)])
    assert list(inventory.nodes) == ["a", "b"]
    assert [p.message for p in inventory.problems] == ["has no metadata.name"]
    assert inventory.problems[0].object == "Node (unnamed)"


@pytest.mark.parametrize("items", [[], None])
def test_an_empty_list_has_no_items(tmp_path, items):
    listing = {"apiVersion": "v1", "kind": "List", "items": items}
    assert names([write(tmp_path / "x.json", listing)]) == []
    assert names([write(tmp_path / "x.yaml", listing)]) == []


def test_a_list_without_a_list_of_items_is_a_problem(tmp_path):
    for name in ("x.json", "x.yaml"):
        file = write(tmp_path / name, {"apiVersion": "v1", "kind": "List", "items": "none"})
        assert [p.message for p in load([file]).problems] == ["items: expected a list"]


def test_a_json_array_is_a_list(tmp_path):
    assert names([write(tmp_path / "x.json", [node("a"), node("b")])]) == ["a", "b"]


def test_yaml_has_many_documents_and_their_lines(tmp_path):
    file = write(
        tmp_path / "x.yaml",
        dedent(
            """\
            # the first is empty
            ---
            ---
            apiVersion: v1
            kind: Node
            metadata: {name: a, creationTimestamp: 2024-01-01T00:00:00Z}
            ---
            apiVersion: v1
            kind: List
            items:
            - {apiVersion: v1, kind: Node, metadata: {name: b}}
            """
        ),
    )
    assert [where for where, _ in read_paths([file])] == [f"{file}:4", f"{file}:8 items[0]"]
    inventory = load([file])
    assert inventory.nodes["a"].created == 1704067200.0
    assert list(inventory.nodes) == ["a", "b"]
    assert not inventory.problems


def test_yaml_may_open_with_a_brace(tmp_path):
    text = "{apiVersion: v1, kind: Node, metadata: {name: a}}"
    assert names([write(tmp_path / "x.yml", text)]) == ["a"]


def test_a_yaml_list_that_holds_itself_is_refused(tmp_path):
    file = write(tmp_path / "x.yaml", "&a\napiVersion: v1\nkind: List\nitems: [*a]\n")
    with pytest.raises(ManifestError, match=r"x\.yaml:4: alias \*a is inside of what"):
        load([file])


def test_directories_are_read_in_order_and_only_their_manifests(tmp_path):
    write(tmp_path / "b.json", node("b"))
    write(tmp_path / "a/z.yaml", "apiVersion: v1\nkind: Node\nmetadata: {name: az}\n")
    write(tmp_path / "a/y.yml", "apiVersion: v1\nkind: Node\nmetadata: {name: ay}\n")
    write(tmp_path / "policy.toml", "this is [ no manifest")
    write(tmp_path / "notes.txt", "nor is this")
    write(tmp_path / ".git/x.json", "{")
    assert names([tmp_path]) == ["ay", "az", "b"]


def test_a_dash_is_the_standard_input(monkeypatch):
    data = io.TextIOWrapper(io.BytesIO(json.dumps(node("a")).encode()))
    monkeypatch.setattr(sys, "stdin", data)
    ((where, _),) = read_paths(["-"])
    assert where == "standard input"


def test_a_file_of_another_name_is_read_by_its_content(tmp_path):
    assert names([write(tmp_path / "dump", node("a"))]) == ["a"]
    assert names([write(tmp_path / "dump2", "kind: Node\nmetadata: {name: b}\n")]) == ["b"]


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_byte_order_marks_do_no_harm(tmp_path, encoding):
    file = write(tmp_path / "x.json", json.dumps(node("a")).encode(encoding))
    assert names([file]) == ["a"]


def test_an_empty_file_has_nothing(tmp_path):
    assert names([write(tmp_path / "x.json", " \n"), write(tmp_path / "y.yaml", "")]) == []


@pytest.mark.parametrize(
    "name, content, message",
    [
        ("x.json", '{\n "kind": "Node",\n "a" 1\n}', r"x\.json:3: expected ':'"),
        ("x.json", '{\n "kind": "No', r"x\.json:2: Input data was truncated"),
        ("x.json", '{"kind": "Node"}\n{"kind": "Node"}', r"x\.json:2: trailing characters"),
        ("x.json", "kind: Node", r"x\.json:1: invalid character"),
        ("x.json", '{"kind": ' + "[" * 100_000, r"x\.json: nested too deeply"),
        ("x.json", b'{"kind": "\xff"}', r"x\.json: not UTF-8"),
        ("x.yaml", "a: 1\nb: [1, 2\nc: 3\n", r"x\.yaml:\d: "),
        ("x.yaml", "kind: Node\n---\na: !!python/object:os.system {}\n", r"x\.yaml:3: could not"),
        ("x.yaml", b"a: \xff", r"x\.yaml:1: "),
        ("x.yaml", "a: " + "[" * 3000, r"x\.yaml:\d: "),
    ],
)
def test_a_file_that_cannot_be_parsed_is_an_error_with_its_line(tmp_path, name, content, message):
    file = write(tmp_path / name, content)
    with pytest.raises(ManifestError, match=message):
        list(read_paths([file]))


def test_a_file_that_cannot_be_read_is_an_error(tmp_path):
    with pytest.raises(ManifestError, match=r"gone\.json: No such file"):
        list(read_paths([tmp_path / "gone.json"]))
    with pytest.raises(PumiceError, match="no manifests") as caught:
        list(read_paths([tmp_path]))
    assert ".yaml" in caught.value.hint
