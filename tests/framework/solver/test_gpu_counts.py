"""Whether a job would fit on empty nodes."""

from types import SimpleNamespace

from pumice.model.dimensions import Dimensions
from pumice.model.facts import Node
from pumice.model.gpu.request import GPU, GpuRequest
from pumice.model.nodes import NodeTable
from pumice.model.resources import Resource
from pumice.solver.gpu_counts import fits_empty_cluster


class TestFitsEmptyCluster:
    """A job is refused early only where no placement exists at all."""

    @staticmethod
    def fits(rooms: list[int], needs: list[float]) -> bool:
        sizes = [Resource(scalars={GPU: room * 1000}) for room in rooms]
        nodes = NodeTable(
            [Node(f"n{i}", size, size) for i, size in enumerate(sizes)], Dimensions([GPU])
        )
        requests = [
            GpuRequest("regular", int(n), 1.0) if n >= 1 else GpuRequest("fraction", 1, n)
            for n in needs
        ]
        return fits_empty_cluster(nodes, [SimpleNamespace(gpu=gpu) for gpu in requests])

    def test_a_job_that_fits_only_by_optimal_packing_is_not_refused(self) -> None:
        # First fit decreasing fails here; 3+3+3 and 5+4 fit.
        assert self.fits([9, 9], [5, 4, 3, 3, 3])

    def test_one_more_than_there_are_nodes_is_refused(self) -> None:
        assert not self.fits([8] * 10, [8.0] * 11)
        assert self.fits([8] * 10, [8.0] * 10)

    def test_fractions_are_counted_exactly(self) -> None:
        assert self.fits([1], [0.1] * 10)
        assert not self.fits([1], [0.1] * 11)

    def test_a_job_without_gpus_fits_anywhere(self) -> None:
        assert self.fits([], [])
