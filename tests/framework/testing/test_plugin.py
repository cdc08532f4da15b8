"""The pytest plugin: scenario files are tests."""

from pathlib import Path

import pytest

from tests.framework.testing._isolated import isolated


def test_the_pytest_plugin_imports_next_to_nothing():
    heavy = ["numpy", "pydantic", "loguru", "hypothesis", "yaml", "stevedore", "pumice.plugin"]
    output = isolated(
        f"""
        import pumice.testing.plugin, sys
        print([name for name in {heavy} if name in sys.modules])
        """
    )
    assert output.strip() == "[]"


pytest_plugins = ["pytester"]

NODE = """{apiVersion: v1, kind: Node, metadata: {name: n1},
    status: {allocatable: {cpu: "2", memory: 4Gi, pods: "10"}}}"""


SCENARIO = f"""
title: TITLE
config: {{actions: [allocate], tiers: [{{plugins: [PLUGIN]}}]}}
objects:
  - {NODE}
  - {{apiVersion: scheduling.volcano.sh/v1beta1, kind: PodGroup, status: {{phase: Inqueue}},
      metadata: {{name: g, namespace: ns}}, spec: {{minMember: 1}}}}
  - {{apiVersion: v1, kind: Pod, metadata: {{name: p, namespace: ns,
      annotations: {{scheduling.k8s.io/group-name: g}}}},
      spec: {{containers: [{{name: c, resources: {{requests: {{cpu: "1"}}}}}}]}}}}
expect: {{binds: {{ns/p: NODE}}}}
"""


class TestScenarioFiles:
    @pytest.fixture
    def write(self, pytester: pytest.Pytester):
        def write(name: str, title: str = "it fits", node: str = "n1", plugin: str = "gang"):
            text = SCENARIO.replace("TITLE", title).replace("PLUGIN", plugin)
            Path(pytester.path, name).write_text(text.replace("ns/p: NODE", f"ns/p: {node}"))

        return write

    @pytest.fixture
    def run(self, pytester: pytest.Pytester):
        return lambda *words: pytester.runpytest_inprocess("-p", "no:cacheprovider", *words)

    def test_scenario_files_are_tests(self, write, run):
        write("good.scenario.yaml")
        write("bad.scenario.yaml", title="it flies", node="sky")
        write("none.scenario.yaml", plugin="not_there")
        write("other.yaml", node="sky")
        result = run("-rs")
        result.assert_outcomes(passed=1, failed=1, skipped=1)
        result.stdout.fnmatch_lines(["*not installed: plugin not_there*"])
        result.stdout.fnmatch_lines(["*bad.scenario.yaml: it flies", "*sky*"])
        assert "Traceback" not in result.stdout.str()

    def test_a_file_with_several_scenarios_is_several_tests(self, pytester, run):
        lines = SCENARIO.replace("PLUGIN", "gang").replace("ns/p: NODE", "ns/p: n1").strip()
        body = lines.replace("\n", "\n    ")
        text = f"scenarios:\n  - id: first\n    {body}\n  - {body}\n"
        Path(pytester.path, "two.scenario.yaml").write_text(text)
        result = run("-v")
        result.assert_outcomes(passed=2)
        result.stdout.fnmatch_lines(["*two.scenario.yaml::first *", "*::TITLE?1? *"])

    def test_a_file_that_cannot_be_read_is_an_error(self, pytester, run):
        Path(pytester.path, "torn.scenario.json").write_text('{"expect": ')
        result = run()
        result.assert_outcomes(errors=1)
        assert "torn.scenario.json: Input data was truncated" in result.stdout.str()
