"""Large JSON lists are read in blocks, with the result of reading them as a whole."""

import json

import pytest

from pumice.errors import ManifestError
from pumice.manifests import json_files, load
from pumice.manifests.files import documents
from pumice.manifests.json_files import list_frame


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    monkeypatch.setattr(json_files, "BLOCK", 64)


def node(name, **labels):
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels}}


def pod(name):
    owners = [{"apiVersion": "v1", "kind": "Job", "name": n} for n in ("x", "y")]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "ownerReferences": owners},
        "spec": {"containers": [{"name": "a"}, {"name": "b"}]},
    }


NODES = [node(f"n{number}", text='}, {"apiVersion"') for number in range(9)]
LISTING = {"apiVersion": "v1", "items": NODES, "kind": "List", "metadata": {"resourceVersion": ""}}


def dump(path, content, **style):
    path.write_text(content if isinstance(content, str) else json.dumps(content, **style))
    return path


def is_split(path):
    return list_frame(path) is not None


@pytest.mark.parametrize("style", [{"indent": 4}, {"indent": 1}, {"separators": (",", ":")}])
def test_a_large_list_gives_its_objects_and_their_places(tmp_path, style):
    path = dump(tmp_path / "x.json", LISTING, **style)
    assert is_split(path)
    assert list(load([path]).nodes) == [f"n{number}" for number in range(9)]
    places = [where for where, _ in documents([path], in_blocks=True)]
    assert places == [f"{path} items[{number}]" for number in range(9)]


@pytest.mark.parametrize("order", ["first", "last"])
def test_a_typed_list_gives_its_kind_to_the_items(tmp_path, order):
    items = [{"metadata": {"name": f"n{number}"}} for number in range(9)]
    listing = {"apiVersion": "v1", "kind": "NodeList", "items": items}
    if order == "last":
        listing = {"apiVersion": "v1", "items": items, "kind": "NodeList"}
    path = dump(tmp_path / "x.json", listing, indent=4)
    assert is_split(path)
    assert len(load([path]).nodes) == 9


@pytest.mark.parametrize("style", [{"indent": 4}, {}, {"separators": (",", ":")}])
def test_objects_that_look_like_items_inside_of_items_do_no_harm(tmp_path, style):
    """Owners begin as items do: the list is cut in wrong places and read again as a whole."""
    path = dump(tmp_path / "x.json", {**LISTING, "items": [pod("a"), pod("b")]}, **style)
    inventory = load([path])
    assert [p.name for p in inventory.pods.values()] == ["a", "b"]
    assert not inventory.problems


def test_a_malformed_object_costs_itself(tmp_path):
    items = [*NODES, {"apiVersion": "v1", "kind": "Node", "metadata": 5}]
    inventory = load([dump(tmp_path / "x.json", {**LISTING, "items": items}, indent=4)])
    assert len(inventory.nodes) == 9
    assert [problem.where.rpartition(" ")[2] for problem in inventory.problems] == ["items[9]"]


@pytest.mark.parametrize("kind", ["Node", "Secret"])
def test_a_syntax_error_has_its_line(tmp_path, kind):
    text = json.dumps({**LISTING, "items": [*NODES, node("late")]}, indent=4)
    lines = text.replace('"Node"', f'"{kind}"').splitlines()
    (number,) = (n for n, line in enumerate(lines) if "late" in line)
    lines[number] += ",,"
    path = dump(tmp_path / "x.json", "\n".join(lines))
    assert is_split(path)
    with pytest.raises(ManifestError, match=rf"x\.json:{number + 1}: "):
        load([path])


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.replace('"kind": "List"', '"kind": "List", "kind": "List"'),
        lambda text: text + "]",
        lambda text: text.replace('"items"', '"kind": "List", "items"', 1),
        lambda text: text.replace('"resourceVersion": ""', '"resourceVersion": []'),
    ],
)
def test_other_texts_are_read_as_a_whole(tmp_path, change):
    assert not is_split(dump(tmp_path / "x.json", change(json.dumps(LISTING))))


def test_an_object_may_be_larger_than_a_block(tmp_path):
    items = [node("big", text="x" * 5000), *NODES]
    path = dump(tmp_path / "x.json", {**LISTING, "items": items}, indent=4)
    assert next(iter(load([path]).nodes)) == "big"
