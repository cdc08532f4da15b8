"""The metrics: what a cycle leaves in them, and that every name is documented."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from _control_plane import ControlPlane, Kubelet, wait_for
from _objects import node
from _process import PumiceProcess
from test_cluster import gang, running

from pumice import CycleTelemetry, Decisions, JobState, QueueUsage
from pumice_kubernetes.metric_names import CYCLE, all_names
from pumice_kubernetes.metrics import Metrics

PAGE = Path(__file__).resolve().parents[3] / "docs" / "kubernetes.md"


def lines(metrics: Metrics) -> set[str]:
    return set(metrics.text().decode().splitlines())


def test_jobs_are_counted_by_phase_and_by_reason_code() -> None:
    metrics = Metrics()
    waiting = [JobState(f"x/{n}", "red", "Pending", 0, 2, "why", code="NoRoom") for n in "ab"]
    metrics.take(Decisions(jobs=[*waiting, JobState("x/c", "red", "Running", 2, 0, "")]))
    assert lines(metrics) >= {
        'pumice_jobs{phase="Pending",queue="red"} 2.0',
        'pumice_pending_jobs{code="NoRoom",queue="red"} 2.0',
        'pumice_pending_tasks{queue="red"} 4.0',
        "volcano_unschedule_job_count 2.0",
    }
    metrics.take(Decisions())
    assert not [line for line in lines(metrics) if line.startswith("pumice_pending_jobs{")]


def test_times_have_the_names_of_both_families() -> None:
    metrics = Metrics()
    metrics.took(CYCLE, 0.25)
    metrics.measured(CycleTelemetry(actions={"allocate": 0.5}, plugins={"gang": 0.002}))
    assert lines(metrics) >= {
        "pumice_cycle_seconds_sum 0.25",
        "volcano_e2e_scheduling_latency_milliseconds_sum 250.0",
        "kai_e2e_scheduling_latency_milliseconds 250.0",
        'pumice_action_seconds_sum{action="allocate"} 0.5',
        'kai_action_scheduling_latency_milliseconds{action="allocate"} 500.0',
        'pumice_plugin_seconds_sum{plugin="gang"} 0.002',
        'kai_plugin_scheduling_latency_milliseconds{OnSession="OnSessionOpen",plugin="gang"} 2.0',
    }


def test_queues_have_amounts_in_the_units_of_each_name() -> None:
    metrics = Metrics()
    amounts = {
        "allocated": {"cpu": 1.5, "memory": 2e9},
        "request": {"cpu": 4.0},
        "deserved": {"cpu": 3.0, "nvidia.com/gpu": 2.0},
        "fair_share": {"memory": 2e9},
        "limit": {},
    }
    metrics.measured(CycleTelemetry(queues=[QueueUsage("red", 3, 0.5, amounts)]))
    assert lines(metrics) >= {
        'pumice_queue_resource{amount="request",queue="red",resource="cpu"} 4.0',
        'volcano_queue_allocated_milli_cpu{queue_name="red"} 1500.0',
        'kai_queue_allocated_cpu_cores{queue_name="red"} 1.5',
        'kai_queue_deserved_gpus{queue_name="red"} 2.0',
        'kai_queue_fair_share_memory_gb{queue_name="red"} 2.0',
        'volcano_queue_weight{queue_name="red"} 3.0',
        'volcano_queue_share{queue_name="red"} 0.5',
        'pumice_queue_share{queue="red"} 0.5',
    }
    metrics.measured(CycleTelemetry())
    assert 'queue="red"' not in metrics.text().decode()


def test_every_metric_is_documented_and_no_other() -> None:
    table = PAGE.read_text().partition("## Metrics")[2].partition("\n## ")[0]
    documented = {
        word.partition("{")[0]
        for word in table.split("`")[1::2]
        if word.startswith(("pumice_", "volcano_", "kai_"))
    }
    assert documented == set(all_names())


@pytest.mark.kubernetes
@pytest.mark.long
@pytest.mark.xdist_group("kubernetes")
def test_the_page_of_a_running_scheduler(
    cluster: ControlPlane, create: Any, kubelet: Kubelet, tmp_path: Path
) -> None:
    create(node("n1", "8"), *(p for i in range(8) for p in gang(f"r{i}", 1, 1, "red")))
    command = ("run", "-o", "jsonl", "--set", "scheduler.period=0.1")
    process = PumiceProcess(cluster.kubeconfig(tmp_path / "kubeconfig"), "idle=1", command=command)
    try:
        wait_for(lambda: running(cluster, "r") == 8, 60)
        create(*gang("b", 4, 4, "blue"))
        wait_for(lambda: running(cluster, "b-") == 4, 60)
        evicted = 'action="solve_reclaim",reason="other_queue",result="evicted"'
        wait_for(lambda: process.metric(f"pumice_evictions_total{{{evicted}}}") == 4)
        wait_for(lambda: process.metric('kai_queue_allocated_cpu_cores{queue_name="blue"}') == 4)
        assert process.metric('pumice_action_seconds_count{action="solve_reclaim"}') > 0
        assert process.metric('volcano_queue_weight{queue_name="red"}') > 0
        assert "pumice_plugin_seconds_sum" in process.page("metrics")
    finally:
        process.stop()
