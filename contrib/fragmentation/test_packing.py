from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from pumice import Plugin
from pumice.gpu import GPU, GpuRequest
from pumice_fragmentation.devices import DeviceColumns
from pumice_fragmentation.packing import BestFit, DotProd, GpuClustering, GpuPacking, RandomNode

CPU = 128_000


class Table:
    """A node table of nodes with eight GPUs each, or as many as ``gpus`` says."""

    def __init__(self, *free: list[int], cpu: list[int] | None = None, gpus: int = 8) -> None:
        count = len(free)
        self.dimensions = SimpleNamespace(position={"cpu": 0, GPU: 1})
        self.allocatable = np.array([[CPU, gpus * 1000]] * count)
        whole = [1000 * devices.count(1000) for devices in free]
        self.idle = np.array(list(zip(cpu or [CPU] * count, whole, strict=True)))
        self.facts: list[Any] = [
            SimpleNamespace(labels={"nvidia.com/gpu.memory": "1000"}) for _ in free
        ]
        self.held: list[dict[str, Any]] = [{} for _ in free]
        self._shares = [
            SimpleNamespace(
                memory_per_gpu=1000,
                used={f"g{i}": 1000 - part for i, part in enumerate(devices) if part < 1000},
            )
            for devices in free
        ]
        self.sharing = {row for row, shares in enumerate(self._shares) if shares.used}
        self.all_rows = np.arange(count)
        self.version = 1

    def shares(self, row: int) -> Any:
        return self._shares[row]

    def __len__(self) -> int:
        return len(self.facts)


class View:
    def __init__(self, table: Table) -> None:
        self.table, self.rows, self.idle = table, table.all_rows, table.idle

    def take(self, column: np.ndarray) -> np.ndarray:
        return column

    def __len__(self) -> int:
        return len(self.table)


def task(cpu: int = 0, *, whole: int = 0, share: float = 0, uid: str = "t") -> Any:
    gpu = GpuRequest("regular", whole, 1.0) if whole else GpuRequest()
    if share:
        gpu = GpuRequest("fraction", 1, share)
    return SimpleNamespace(gpu=gpu, vector=np.array([cpu, whole * 1000]), uid=uid)


def scores(cls: type[Plugin], table: Table, asked: Any) -> list[float] | None:
    plugin: Any = cls(SimpleNamespace(nodes=table), cls.Options(), "plugin")  # type: ignore[arg-type]
    if hasattr(plugin, "on_session_open"):
        plugin.on_session_open()
    answer = plugin.batch_node_order(asked, View(table))
    return None if answer is None else answer.tolist()


def test_columns_have_the_free_part_of_each_device() -> None:
    columns = DeviceColumns(Table([1000, 1000, 300], [500]))  # type: ignore[arg-type]
    columns.refresh()
    assert columns.states == [(300, 1000, 1000), (500,)]
    assert columns.total.tolist() == [2300, 500]
    assert columns.free[0].tolist() == [0, 0, 0, 0, 0, 300, 1000, 1000]
    assert columns.free_part(0, "g2") == 300
    assert columns.free_part(0, "") == 1000


def test_memory_counts_as_a_part_of_the_smallest_gpu() -> None:
    columns = DeviceColumns(Table([1000]))  # type: ignore[arg-type]
    asked: Any = SimpleNamespace(gpu=GpuRequest("memory", 1, memory=250))
    assert columns.demand(asked) == (1, 250)


def test_dot_product_prefers_small_products_and_truncates() -> None:
    table = Table([1000] * 8, [1000, 500], cpu=[CPU, CPU // 2])
    # 1 - (1 · 1/2 + 1 · 1/8) / 2 and 1 - (1/2 · 1/2 + 1.5/8 · 1/8) / 2
    assert scores(DotProd, table, task(CPU // 2, whole=1)) == [68.0, 86.0]


def test_best_fit_prefers_what_leaves_least() -> None:
    table = Table([1000] * 8, [1000], cpu=[CPU, CPU // 2])
    assert scores(BestFit, table, task(CPU // 4, whole=1)) == [18.0, 87.0]


@pytest.mark.parametrize(
    "free, asked, score",
    [
        pytest.param([1000] * 8, task(whole=1), 25, id="an idle node of eight"),
        pytest.param([1000] * 7, task(whole=1), 49, id="one whole GPU of a node in use"),
        pytest.param([1000] * 7, task(whole=4), 46, id="four"),
        pytest.param([300, *[1000] * 7], task(share=0.3), 97, id="a used device with 0.3 free"),
        pytest.param([200, *[1000] * 7], task(share=0.3), 49, id="no used device fits"),
    ],
)
def test_packing_fills_what_is_in_use(free: list[int], asked: Any, score: int) -> None:
    assert scores(GpuPacking, Table(free), asked) == [score]


def test_packing_prefers_small_nodes_among_idle_ones() -> None:
    assert scores(GpuPacking, Table([1000, 1000], gpus=2), task(whole=1)) == [31.0]


def test_clustering_puts_equal_kinds_together() -> None:
    table = Table([1000] * 6, [1000] * 6, [1000] * 6, [1000] * 8)
    for row, kinds in enumerate([[task(whole=2)], [task(whole=2), task(whole=1)], [task(whole=1)]]):
        table.held[row] = {str(i): SimpleNamespace(task=held) for i, held in enumerate(kinds)}
    assert scores(GpuClustering, table, task(whole=2)) == [81.0, 56.0, 6.0, 25.0]


@pytest.mark.parametrize("cls", [GpuClustering, GpuPacking])
def test_no_opinion_without_gpus(cls: type[Plugin]) -> None:
    assert scores(cls, Table([1000]), task(1000)) is None


def test_random_choice_is_the_same_for_the_same_task() -> None:
    table = Table(*[[1000]] * 50)
    first, other = task(uid="a"), task(uid="b")
    assert scores(RandomNode, table, first) == scores(RandomNode, table, first)
    assert scores(RandomNode, table, first) != scores(RandomNode, table, other)
