"""Files with scenarios: which are read, and what is wrong with them."""

import json

import pytest

from pumice.errors import ScenarioError
from pumice.scenarios import find_files, read_file
from tests.framework.scenarios._objects import CLUSTER, POLICY, group, node, pod, queue, scenario


def test_the_cluster_and_the_policy_may_be_files_beside_the_scenario(runner, tmp_path):
    (tmp_path / "nodes").mkdir()
    (tmp_path / "nodes" / "a.json").write_text(json.dumps(node("a")))
    rest = {"apiVersion": "v1", "kind": "List", "items": [queue(), group(), pod("x")]}
    (tmp_path / "rest.json").write_text(json.dumps(rest))
    (tmp_path / "policy.toml").write_text(
        'actions = ["first-fit"]\n[[tiers]]\nplugins = ["whole"]\n'
    )
    scenarios = tmp_path / "cases"
    scenarios.mkdir()
    (scenarios / "one.toml").write_text(
        'config = "../policy.toml"\ncluster = ["../nodes", "../rest.json"]\n'
        'dialect = "volcano"\n[expect.binds]\n"ns/x" = "a"\n'
    )
    (result,) = runner.run_file(scenarios / "one.toml")
    assert (result.verdict, result.mismatches, result.error) == ("passed", (), "")
    assert result.id == str(scenarios / "one.toml")


@pytest.mark.parametrize("suffix", ["json", "yaml", "yml", "toml"])
def test_a_file_holds_one_scenario_or_several(runner, tmp_path, suffix):
    import yaml

    (tmp_path / "rest.json").write_text(json.dumps(CLUSTER))
    one = {"config": POLICY, "cluster": "rest.json", "expect": {"bind_count": 0}}
    several = {"scenarios": [{**one, "id": "first"}, {**one, "expect": {"bind_count": 1}}, {}]}
    if suffix == "toml":
        policy = 'config = {actions = ["first-fit"], tiers = [{plugins = ["whole"]}]}'
        body = f'{policy}\ncluster = "rest.json"\nexpect.bind_count = '
        single = body + "0\n"
        many = f'[[scenarios]]\nid = "first"\n{body}0\n[[scenarios]]\n{body}1\n[[scenarios]]\n'
    else:
        dump = json.dumps if suffix == "json" else yaml.safe_dump
        single, many = dump(one), dump(several)
    (tmp_path / f"one.{suffix}").write_text(single)
    (tmp_path / f"many.{suffix}").write_text(many)
    assert [r.verdict for r in runner.run_file(tmp_path / f"one.{suffix}")] == ["passed"]
    results = list(runner.run_file(tmp_path / f"many.{suffix}"))
    assert [r.verdict for r in results] == ["passed", "failed", "error"]
    assert results[0].id == "first"
    assert results[1].id == f"{tmp_path}/many.{suffix}[1]"
    assert "there is no 'expect'" in results[2].error


def test_a_keyword_selects_by_id_title_or_path(runner, tmp_path):
    cases = [scenario({"bind_count": 0}, id=i, title=t) for i, t in (("A1", "red"), ("B2", "blue"))]
    file = tmp_path / "colours.json"
    file.write_text(json.dumps({"scenarios": cases}))

    def chosen(word):
        return [result.id for result in runner.run_file(file, word)]

    assert chosen("a1") == ["A1"]
    assert chosen("BLUE") == ["B2"]
    assert chosen("colours") == ["A1", "B2"]
    assert chosen("green") == []


def test_in_a_directory_only_scenarios_are_scenarios(tmp_path):
    expecting = json.dumps(scenario({"bind_count": 0}))
    files = {
        "b/case.json": expecting,
        "a/case.yaml": "expect: {bind_count: 0}\n",
        "a/cases.toml": "[[scenarios]]\n",
        "forgotten.json": json.dumps({"config": POLICY, "objects": []}),
        "broken.yaml": "expect: {binds\n",
        "node.json": json.dumps(node("expect")),
        "stream.yaml": "kind: Pod\n---\nkind: Pod\nmetadata: {name: expect}\n",
        "policy.toml": 'actions = ["scenarios"]\n',
        "note.txt": "expect: nothing\n",
        ".hidden/case.json": expecting,
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    scenarios = [str(file.relative_to(tmp_path)) for file in find_files([tmp_path])]
    assert scenarios == [
        "a/case.yaml",
        "a/cases.toml",
        "b/case.json",
        "broken.yaml",
        "forgotten.json",
    ]


@pytest.mark.parametrize(
    "name, text, message",
    [
        ("node.json", json.dumps(node("a")), "not a scenario file"),
        ("list.json", "[]", "not a scenario file"),
        ("half.json", '{"expect": {\n"binds" 3}}', "half.json:2: "),
        ("half.yaml", "expect:\n  binds: {\n", "half.yaml:3: "),
        ("half.toml", "[expect]\nbinds = \n", "half.toml:2:9: "),
        ("more.json", '{"scenarios": [], "config": {}}', "unknown field `config`"),
        ("gone.json", None, "No such file"),
    ],
)
def test_a_file_that_cannot_be_read_is_an_error_with_its_reason(tmp_path, name, text, message):
    file = tmp_path / name
    if text is not None:
        file.write_text(text)
    with pytest.raises(ScenarioError, match=message):
        read_file(file)


def test_a_path_that_is_not_there_is_an_error(tmp_path):
    with pytest.raises(ScenarioError, match="there is no such file"):
        list(find_files([tmp_path / "nowhere"]))
    (tmp_path / "notes.txt").write_text("expect")
    with pytest.raises(ScenarioError, match="not a scenario file"):
        list(find_files([tmp_path / "notes.txt"]))
