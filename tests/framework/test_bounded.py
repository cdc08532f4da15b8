"""Texts beyond the bounds are refused with their place, before anything is built."""

import time

import pytest

from pumice import _bounded
from pumice._bounded import TextError, load_toml, text_of, utf8, yaml_documents
from pumice.config import load_policy
from pumice.errors import ManifestError, PolicyError, ScenarioError
from pumice.manifests import load
from pumice.scenarios import read_file

DEEP = 100_000
BOMB = "\n".join(
    ["a0: &a0 [x,x,x,x,x,x,x,x,x]"]
    + [f"a{n}: &a{n} [{','.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 7)]
)
MERGES = "\n".join(
    ["a0: &a0 {x: 1, y: 2}"]
    + [f"a{n}: &a{n} {{<<: [{','.join([f'*a{n - 1}'] * 9)}]}}" for n in range(1, 8)]
)
YAML = {
    "brackets": ("[" * DEEP, r":1: nested too deeply: more than 100"),
    "braces": ("{a: " * DEEP, r":1: nested too deeply"),
    "dashes": ("- " * DEEP, r":1: nested too deeply"),
    "closed": ("a: 1\nb: " + "[" * DEEP + "]" * DEEP, r":2: nested too deeply"),
    "aliases": (BOMB, r":\d: aliases stand for more than 100,000 values"),
    "merges": (MERGES, r":\d: aliases stand for more than 100,000 values"),
    "itself": ("a: &a\n  - *a", r":2: alias \*a is inside of what it stands for"),
    "documents": ("---\n" * (DEEP + 5), r":100001: more than 100,000 documents"),
    "tag": ("a: !!timestamp x", r":1: a value is not of the type that its tag names"),
}
TOML = {
    "brackets": ("a = " + "[" * DEEP, r":1: nested too deeply: more than 100"),
    "braces": ("a = " + "{a = " * DEEP, r":1: nested too deeply"),
    "key": ("b = 1\n" + ".".join(["a"] * 20_000) + " = 1", r":2: a key has too many parts"),
    "header": ("[" + ".".join(["'a'"] * 20_000) + "]", r":1: a key has too many parts"),
}


def write(path, content):
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


@pytest.mark.parametrize("text, message", YAML.values(), ids=YAML)
def test_yaml_manifests_and_scenarios(tmp_path, text, message):
    path = write(tmp_path / "x.yaml", text)
    start = time.process_time()
    with pytest.raises(ManifestError, match=r"x\.yaml" + message):
        load([path])
    if "timestamp" not in text:
        with pytest.raises(ScenarioError, match=r"x\.yaml" + message):
            read_file(path)
    assert time.process_time() - start < 5


@pytest.mark.parametrize("text, message", TOML.values(), ids=TOML)
def test_toml_policies_and_scenarios(tmp_path, text, message):
    path = write(tmp_path / "x.toml", text)
    with pytest.raises(PolicyError, match=r"x\.toml" + message):
        load_policy(path, env={})
    with pytest.raises(ScenarioError, match=r"x\.toml" + message):
        read_file(path)


def test_nested_values_of_overrides_stay_text():
    with pytest.raises(PolicyError, match="--set"):
        load_policy(preset="volcano", overrides=["scheduler.seed=" + "[" * DEEP], env={})


@pytest.mark.parametrize("text", ["[" * DEEP, '{"a":' * DEEP])
def test_json_manifests_and_scenarios(tmp_path, text):
    path = write(tmp_path / "x.json", text)
    with pytest.raises(ManifestError, match=r"x\.json: nested too deeply"):
        load([path])
    with pytest.raises(ScenarioError, match=r"x\.json: nested too deeply"):
        read_file(path)


def test_sizes(monkeypatch):
    monkeypatch.setattr(_bounded, "MAX_YAML_BYTES", 1 << 20)
    monkeypatch.setattr(_bounded, "MAX_TOML_BYTES", 1 << 20)
    with pytest.raises(TextError, match="larger than 1 MiB"):
        list(yaml_documents(b"#" * (1 << 21)))
    with pytest.raises(TextError, match="larger than 1 MiB"):
        load_toml("#" * (1 << 21))


def test_within_the_bounds():
    depth = _bounded.MAX_DEPTH - 1
    ((line, document),) = yaml_documents(
        b"\na: &x [1, 2]\nb: *x\nc: " + b"[" * depth + b"]" * depth
    )
    assert line == 2
    assert document["a"] is document["b"]
    assert load_toml("a = [1.5, 2.5] # [[[\nb.c.'d.e' = '[[['")["b"] == {"c": {"d.e": "[[["}}
    assert load_toml("a = [" + "1.5, " * 1000 + "]")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32"])
def test_byte_order_marks_are_read(encoding):
    assert text_of("grün".encode(encoding)) == "grün"


@pytest.mark.parametrize(
    "data, message",
    [
        ("kind".encode("utf-16-le"), "looks like UTF-16 without a byte order mark"),
        ("kind".encode("utf-16-be"), "looks like UTF-16 without a byte order mark"),
        (b"\xff\xfea", "not utf-16"),
    ],
)
def test_other_encodings_are_refused_by_name(data, message, tmp_path):
    with pytest.raises(TextError, match=message):
        utf8(data)
    with pytest.raises(ManifestError, match=r"x\.yaml: " + message):
        load([write(tmp_path / "x.yaml", data)])
    with pytest.raises(PolicyError, match=r"x\.toml: " + message):
        load_policy(write(tmp_path / "x.toml", data), env={})


def test_a_byte_that_is_not_utf8_has_its_line(tmp_path):
    with pytest.raises(PolicyError, match=r"x\.toml:2: not UTF-8 text"):
        load_policy(write(tmp_path / "x.toml", b"a = 1\nb = '\xff'"), env={})
