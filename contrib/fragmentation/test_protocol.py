import csv
import json
import os
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

from pumice_fragmentation.command import main
from pumice_fragmentation.fragments import PodShape
from pumice_fragmentation.protocol import POLICIES, run
from pumice_fragmentation.workload import TraceNode, TracePod, arrivals, read_nodes, read_pods

NAMES = {
    "random": "01-Random",
    "dotprod": "02-DotProd",
    "gpuclustering": "03-GpuClustering",
    "gpupacking": "04-GpuPacking",
    "bestfit": "05-BestFit",
    "fgd": "06-FGD",
}


@pytest.fixture(scope="module")
def traces() -> Path:
    named = os.environ.get("PUMICE_SHARED")
    folder = Path(named) if named else Path(__file__).resolve().parents[3] / "shared"
    if not (folder / "traces" / "openb").is_dir():
        pytest.skip("no shared material: set PUMICE_SHARED or put it in ../shared")
    return folder / "traces"


def small_cluster() -> tuple[list[TraceNode], list[TracePod]]:
    nodes = [TraceNode(f"n{i}", 64_000, 1 << 18, 4, "T4" if i % 2 else "A10") for i in range(6)]
    shapes = [
        PodShape(4000, 1000, 1, ""),
        PodShape(2000, 400, 1, ""),
        PodShape(2000, 700, 1, "T4"),
        PodShape(8000, 1000, 2, ""),
        PodShape(1000, 0, 0, ""),
    ]
    return nodes, [TracePod(f"p{i:02}", 1024, shapes[i % 5]) for i in range(40)]


@pytest.mark.parametrize("policy", POLICIES)
def test_a_run_allocates_and_repeats_itself(policy: str) -> None:
    nodes, pods = small_cluster()
    first = run(nodes, pods, policy, 1)
    assert 70 < first.at_100 <= first.at_130 <= 100
    assert run(nodes, pods, policy, 1) == first


def test_arrivals_request_what_they_should() -> None:
    _, pods = small_cluster()
    chance = np.random.default_rng(0)
    more = arrivals(pods, 41_000, chance)
    assert sorted(more[: len(pods)]) == pods
    assert 40_000 < sum(pod.gpu for pod in more) <= 42_000
    fewer = arrivals(pods, 10_000, chance)
    assert 7000 < sum(pod.gpu for pod in fewer) <= 10_000
    assert len(fewer) < len(pods)


def command(*args: object) -> Result:
    return CliRunner().invoke(main, [str(arg) for arg in args])


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    nodes, pods = tmp_path / "nodes.csv", tmp_path / "pods.csv"
    nodes.write_text("sn,cpu_milli,memory_mib,gpu,model\na,64000,262144,2,T4\n")
    pods.write_text("name,cpu_milli,memory_mib,num_gpu,gpu_milli\np,4000,1024,1,500\n")
    return nodes, pods


def test_the_command_prints_json(files: tuple[Path, Path]) -> None:
    result = command(*files, "--policy", "bestfit", "--seeds", "1-3", "-o", "json")
    assert result.exit_code == 0, result.output
    answer = json.loads(result.output)
    assert list(answer) == ["policy", "runs", "alloc_100", "alloc_130", "seconds"]
    assert (answer["policy"], answer["runs"]) == ("bestfit", 3)
    assert set(answer["alloc_100"]) == {"mean", "sd"}
    assert answer["alloc_130"]["mean"] == 100.0


@pytest.mark.parametrize(
    "text, message",
    [
        ("name,cpu_milli,memory_mib,num_gpu\n", "line 1: no column 'gpu_milli'"),
        ("name,cpu_milli,memory_mib,num_gpu,gpu_milli\np,x,1,1,1\n", "line 2: cpu_milli is 'x'"),
        ("name,cpu_milli,memory_mib,num_gpu,gpu_milli\np,1,1,1\n", "line 2: gpu_milli is missing"),
        ("name,cpu_milli,memory_mib,num_gpu,gpu_milli\np,1,1,2,500\n", "only one GPU can be"),
        ("name,cpu_milli,memory_mib,num_gpu,gpu_milli\n", "no rows"),
    ],
)
def test_a_malformed_list_is_refused(files: tuple[Path, Path], text: str, message: str) -> None:
    files[1].write_text(text)
    result = command(*files, "--policy", "fgd")
    assert result.exit_code != 0
    assert f"{files[1]}: " in result.output
    assert message in result.output


def test_wrong_arguments_are_refused(files: tuple[Path, Path], tmp_path: Path) -> None:
    assert "cannot be read" in command(files[0], tmp_path / "no.csv", "--policy", "fgd").output
    assert "'x' is no list of seeds" in command(*files, "--policy", "fgd", "--seeds", "x").output
    assert "is not one of" in command(*files, "--policy", "best").output


def expected(traces: Path, workload: str, policy: str) -> float:
    with (traces / "fgd-expected" / "fgd_expected_summary.csv").open(newline="") as file:
        return next(
            float(row["alloc_pct_at_100"])
            for row in csv.DictReader(file)
            if (row["workload"], row["policy"]) == (workload, NAMES[policy])
        )


def compare(traces: Path, workload: str, policy: str, seeds: range) -> tuple[float, float]:
    nodes = read_nodes(traces / "openb" / "openb_node_list_gpu_node.csv")
    pods = read_pods(traces / "openb" / f"{workload}.csv")
    mean = float(np.mean([run(nodes, pods, policy, seed).at_100 for seed in seeds]))
    return mean, expected(traces, workload, policy)


@pytest.mark.long
@pytest.mark.parametrize("workload", ["openb_pod_list_default", "openb_pod_list_gpushare100"])
@pytest.mark.parametrize("policy", POLICIES)
def test_the_table_of_the_paper(traces: Path, workload: str, policy: str) -> None:
    """Two of the ten seeds: the command ``pumice-fragmentation`` runs all of them."""
    mean, published = compare(traces, workload, policy, range(42, 44))
    assert mean == pytest.approx(published, abs=1.0 if policy == "random" else 0.5)
