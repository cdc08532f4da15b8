"""Mixed clusters of the bench: drawn from a seed, decided alike without shortcuts, summed up."""

from __future__ import annotations

import io
import json
from collections import Counter
from dataclasses import replace

import pytest
from rich.console import Console

from pumice.backends.memory import MemoryBackend
from pumice.config import policy_from_dict
from pumice.scheduler import Scheduler
from tests.bench import run
from tests.bench._case import Measured
from tests.bench._clock import Units
from tests.bench._clusters import GPU
from tests.bench._mixed import MixedCase, Peer, drawn_cases, mixed_policy, recorded_cases
from tests.bench._mixed_clusters import GANGS, mixed_cluster
from tests.bench._mixed_table import (
    geometric_mean,
    make_mixed_row,
    print_mixed,
    summary_lines,
)

SHAPES = [case.shape for case in drawn_cases() if case.nodes <= 24]
CASE = MixedCase("k-10-1", "kai", 10, peer=Peer(0.2, 0.1))
DONE = Measured(0.1, 0.01, placed=3, evicted=1)


def facts(inventory):
    return repr([sorted(getattr(inventory, kind).items()) for kind in ("nodes", "groups", "pods")])


def test_the_same_seed_draws_the_same_cluster():
    shape = SHAPES[0]
    assert facts(mixed_cluster(shape)) == facts(mixed_cluster(shape))
    assert facts(mixed_cluster(shape)) != facts(mixed_cluster(replace(shape, seed=99)))


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.name)
def test_a_drawn_cluster_is_mixed_and_nearly_full(shape):
    inventory = mixed_cluster(shape)
    assert len(inventory.nodes) == shape.nodes
    kinds = {node.labels["shape"] for node in inventory.nodes.values()}
    assert 3 <= len(kinds) <= 5
    assert 4 <= len({group.queue for group in inventory.groups.values()}) <= 20
    sizes = Counter(pod.group for pod in inventory.pods.values())
    assert sizes.keys() == inventory.groups.keys()
    assert max(sizes.values()) <= max(GANGS)
    free = {name: node.allocatable.clone() for name, node in inventory.nodes.items()}
    for pod in inventory.pods.values():
        if pod.node_name:
            free[pod.node_name].sub(pod.request)
    assert all(min(value for _, value in left.items()) >= 0 for left in free.values())
    total = sum(node.allocatable.get(GPU) for node in inventory.nodes.values())
    assert sum(left.get(GPU) for left in free.values()) < total / 2
    assert any(not pod.node_name for pod in inventory.pods.values())


@pytest.mark.parametrize(
    "shape", [shape for shape in SHAPES if shape.nodes <= 10], ids=lambda shape: shape.name
)
def test_a_drawn_cluster_is_decided_alike_without_shortcuts(shape):
    policy = policy_from_dict(mixed_policy(shape))
    decided = []
    for plain in ((), ("all",)):
        backend = MemoryBackend(mixed_cluster(shape))
        decisions = Scheduler(backend, policy.without(plain)).run_once()
        decided.append((decisions.task_states, [d.task for d in decisions.evictions]))
    assert decided[0] == decided[1]


def test_the_drawn_clusters_make_work_of_every_kind():
    placed = evicted = 0
    for shape in SHAPES[:3]:
        backend = MemoryBackend(mixed_cluster(shape))
        decisions = Scheduler(backend, policy_from_dict(mixed_policy(shape))).run_once()
        placed += len(decisions.binds) + len(decisions.pipelined)
        evicted += len(decisions.evictions)
    assert placed
    assert evicted


def test_without_shared_material_only_drawn_clusters_are_measured(monkeypatch, tmp_path):
    assert recorded_cases(None) == recorded_cases(tmp_path) == []
    monkeypatch.setattr(run, "shared_dir", lambda: None)
    console = Console(width=132, record=True, file=io.StringIO())
    assert run.mixed_cases(console) == list(drawn_cases())
    assert "skipped, no shared material" in console.export_text()


def test_recorded_clusters_have_the_peer_beside_them(tmp_path):
    rows = {
        "kai/k-7-1.json": {"family": "kai", "nodes": 7, "cpu": 0.5, "unit_cpu_seconds": 0.2},
        "unfinished/k-90-x-3.json": {"family": "kai", "unfinished_after_s": 100},
    }
    folder = tmp_path / "mixed"
    folder.mkdir()
    (folder / "peers.json").write_text(json.dumps({"rows": rows}))
    first, second = recorded_cases(tmp_path)
    assert (first.label, first.nodes, first.peer) == ("k-7-1", 7, Peer(0.5, 0.2))
    assert first.file == folder / "kai" / "k-7-1.json"
    assert (second.nodes, second.peer, second.unfinished) == (90, None, True)


def test_the_peer_is_carried_by_its_own_unit():
    row = make_mixed_row(CASE, DONE, 0.3, 50)
    assert (row["peer"], row["ratio"]) == (pytest.approx(0.6), pytest.approx(6.0))
    assert row["met"] is True
    slower = make_mixed_row(CASE, replace(DONE, cpu=0.7), 0.3, 50)
    assert slower["met"] is False


def test_an_unfinished_cluster_has_a_target_in_seconds():
    case = replace(CASE, peer=None, unfinished=True)
    assert make_mixed_row(case, replace(DONE, cpu=4.9), 0.122, 50)["met"] is True
    assert make_mixed_row(case, replace(DONE, cpu=5.1), 0.122, 50)["met"] is False


def rows_of(*ratios, **changes):
    return [
        make_mixed_row(replace(CASE, label=f"c{number}", **changes), Measured(0.2 / ratio), 0.1, 50)
        for number, ratio in enumerate(ratios)
    ]


def test_the_summary_has_mean_worst_and_slower_per_size():
    assert geometric_mean([2, 8]) == pytest.approx(4)
    rows = rows_of(2, 0.5, 8) + rows_of(3, nodes=300)
    lines = {line[0]: line[1:] for line in summary_lines(rows)}
    assert lines["kai, up to 24 nodes"] == ["3", "2.00", "0.50 c1", "1"]
    assert lines["kai, 300 nodes"] == ["1", "3.00", "3.00 c0", "0"]
    assert lines["kai, 0.1 s or more"] == ["4", "2.21 (not met: 4)", "0.50 c1", "1"]


def test_cheap_clusters_do_not_count_for_the_targets():
    rows = rows_of(0.5, peer=Peer(0.02, 0.1))
    rows[0] |= {"cpu": 0.04, "ratio": 0.5}
    assert not [line for line in summary_lines(rows) if "or more" in line[0]]


def test_the_table_has_every_cluster_and_the_summary():
    console = Console(width=132, record=True, file=io.StringIO())
    unfinished = replace(CASE, label="big", peer=None, unfinished=True)
    print_mixed([*rows_of(2), make_mixed_row(unfinished, DONE, 0.1, 50)], console)
    text = console.export_text()
    assert "c0" in text
    assert "big" in text
    assert "not finished by the peer" in text
    assert "1 within 5 s" in text


def test_only_mixed_or_only_uniform_rows(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(run, "mixed_cases", lambda console: [CASE])
    monkeypatch.setattr(run, "CASES", [])
    monkeypatch.setattr(run, "Units", lambda: Units(lambda: 0.1))
    monkeypatch.setattr(run, "measure_apart", lambda *_: (DONE, 90.0))
    path = tmp_path / "bench.json"
    assert run.main(["-o", str(path), "--mixed"]) == 0
    assert [row["cluster"] for row in json.loads(path.read_text())] == ["k-10-1"]
    with pytest.raises(SystemExit):
        run.main(["-o", str(path), "--uniform"])
