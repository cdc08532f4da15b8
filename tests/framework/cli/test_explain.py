"""``pumice explain`` as a user calls it."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from pumice.cli import main

DEMO = Path(__file__).resolve().parents[3] / "docs" / "examples" / "demo"


def explain(*args: str, policy: bool = True):
    given = ["-c", str(DEMO / "policy.toml")] if policy else []
    return CliRunner().invoke(main, ["explain", *args, *given], prog_name="pumice")


def ok(*args: str) -> str:
    result = explain(*args)
    assert result.exit_code == 0, result.output
    return result.stdout


def failed(*args: str) -> str:
    result = explain(*args)
    assert result.exit_code == 2, result.output
    assert "Traceback" not in result.output
    return result.stderr


def test_the_first_line_is_the_verdict():
    first = ok("research/ablation", str(DEMO), "--budget", "0").splitlines()[0]
    assert first == (
        "research/ablation is pending: VictimsProtected: queue research deserves 6 nvidia.com/gpu: "
        "6 in use, 2 more asked for, 2 too much; preempt: the plugins allow no victim where it "
        "would help"
    )


def test_run_prints_the_same_reason():
    args = ["run", str(DEMO), "-c", str(DEMO / "policy.toml"), "-o", "json"]
    result = CliRunner().invoke(main, args, prog_name="pumice")
    jobs = {job["job"]: job for job in json.loads(result.stdout)["cycles"][0]["jobs"]}
    for name in ("research/ablation", "production/train"):
        explained = json.loads(ok(name, str(DEMO), "-o", "json", "--budget", "0"))
        assert (jobs[name]["code"], jobs[name]["reason"]) == (
            explained["code"],
            explained["binding"],
        )


def test_the_shape_of_the_json():
    found = json.loads(ok("ablation", str(DEMO), "-o", "json"))
    assert [*found] == ["job", "verdict", "code", "binding", "levels", "victims", "would_run_if"]
    keys = {"level", "ok", "text", "plugin", "hook", "tier", "where", "numbers"}
    assert all(level.keys() == keys for level in found["levels"])
    keys = {"task", "outcome", "plugin", "hook", "tier", "reason"}
    assert all(victim.keys() == keys for victim in found["victims"])
    (share,) = (level for level in found["levels"] if level["level"] == "share")
    assert share["where"].endswith("policy.toml:13")
    assert {change["kind"] for change in found["would_run_if"]} == {"priority", "victim", "vote"}


def test_a_pod_stands_for_its_job():
    assert ok("research/ablation-1", str(DEMO), "--budget", "0").startswith("research/ablation is")


def test_an_evicted_job():
    text = ok("sweep", str(DEMO), "--eviction")
    assert "reclaim evicts 3 of 6 tasks for production/train" in text
    assert "allowed by conformance (reclaimable, tier 1)" in text
    assert "queue research: before 12 cpu" in " ".join(text.split())
    assert "no task of it was evicted" in ok("train", str(DEMO), "--eviction")


def test_one_task_one_node_one_queue():
    assert "ablation-1 is Pending" in ok(
        "ablation", str(DEMO), "--task", "ablation-1", "--budget", "0"
    )
    assert "node gpu-a does not take research/ablation-0: Insufficient nvidia.com/gpu" in ok(
        "ablation", str(DEMO), "--node", "gpu-a"
    )
    assert "queue research is Open: 1 jobs run, 1 wait" in ok("--queue", "research", str(DEMO))


def test_a_later_cycle():
    assert ok("train", str(DEMO), "--cycles", "2").startswith("production/train runs: Running")


def test_a_code_at_length():
    text = explain("--code", "toolarge", policy=False).stdout
    assert text.startswith("TooLarge: the job is larger than the nodes")
    assert "never, until something is changed" in text
    assert json.loads(explain("--code", "TooLarge", "-o", "json", policy=False).stdout)["never"]


@pytest.mark.parametrize(
    "args, message",
    [
        ((), "give JOB and FILES"),
        (("ablation",), "give FILES"),
        (("ablaton", str(DEMO)), "did you mean research/ablation?"),
        (("nothing/like-it", str(DEMO)), "the files have production/report"),
        (("ablation", str(DEMO), "--node", "gpu-x"), "there is no node 'gpu-x'; did you mean"),
        (("ablation", str(DEMO), "--task", "x"), "it has ablation-0, ablation-1"),
        (("--queue", "reserch", str(DEMO)), "did you mean 'research'?"),
        (("--code", "TooBig"), "there is no reason code 'TooBig'"),
        (("ablation", "no-such-file.yaml"), "no-such-file.yaml"),
    ],
)
def test_wrong_input_names_the_fix(args, message):
    assert message in failed(*args)


def test_a_job_that_takes_no_part(tmp_path):
    file = tmp_path / "group.yaml"
    file.write_text(
        "apiVersion: scheduling.volcano.sh/v1beta1\n"
        "kind: PodGroup\nmetadata: {name: lost, namespace: ns}\nspec: {queue: nowhere}\n"
    )
    text = ok("ns/lost", str(file))
    assert text.startswith("ns/lost can never run as it is: LeftOut: ")
    assert "nowhere" in text


# -- a scenario file instead of manifests

SCENARIO = DEMO.parents[2] / "tests" / "scenarios" / "explain" / "queue_share.yaml"


def test_a_scenario_brings_its_policy():
    result = explain("ns/h", str(SCENARIO), "--budget", "0", policy=False)
    assert result.stdout.startswith("ns/h is pending: QueueShare: queue q deserves 2 cpu")
    assert "config: allocate" in result.stdout


def test_another_policy_replaces_that_of_the_scenario():
    result = explain("ns/h", str(SCENARIO), "--preset", "kai", "--budget", "0", policy=False)
    assert result.stdout.startswith("ns/h runs")


def test_a_scenario_is_explained_alone():
    assert "is explained alone" in failed("ns/h", str(SCENARIO), str(DEMO))


def test_a_file_of_several_scenarios_is_refused():
    file = DEMO.parents[2] / "tests" / "scenarios" / "gangs.toml"
    assert "has 3 scenarios" in failed("ns/h", str(file))


def test_numbers_of_another_moment_say_so():
    found = json.loads(ok("ablation", str(DEMO), "-o", "json", "--budget", "0"))
    (share,) = (level for level in found["levels"] if level["level"] == "share")
    assert "12 in use" in share["text"]
    assert "(when allocate asked; at the end of the cycle queue research" in share["text"]
    assert "6 in use" in found["binding"]
