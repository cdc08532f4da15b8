import pytest

from pumice import Pod, Resource
from pumice_fragmentation.fgd import allowed_models
from pumice_fragmentation.fragments import Fragmentation, PodShape, TypicalPod, typical_pods

ONE = PodShape(4000, 1000, 1, "")
HALF = PodShape(2000, 500, 1, "")
CPU_ONLY = PodShape(1000, 0, 0, "")


def test_typical_pods_make_up_most_of_the_pods() -> None:
    typical = typical_pods([ONE] * 60 + [HALF] * 36 + [CPU_ONLY] * 4)
    assert typical == (TypicalPod(ONE, 60 / 96), TypicalPod(HALF, 36 / 96))


def test_equal_counts_are_ordered_by_the_larger_request() -> None:
    assert [pod.shape for pod in typical_pods([HALF, ONE, CPU_ONLY])] == [ONE, HALF, CPU_ONLY]


@pytest.mark.parametrize(
    "shape, cpu, free, fragments",
    [
        pytest.param(ONE, 8000, (300, 1000), 300, id="the part that is too small"),
        pytest.param(ONE, 8000, (300, 600), 900, id="no device fits"),
        pytest.param(ONE, 2000, (300, 1000), 1300, id="too little CPU"),
        pytest.param(HALF, 8000, (300, 600), 300, id="a share"),
        pytest.param(CPU_ONLY, 8000, (300, 600), 900, id="a pod without GPUs uses none"),
        pytest.param(ONE._replace(models="T4"), 8000, (1000,), 1000, id="another model"),
        pytest.param(ONE._replace(models="T4|A10"), 8000, (1000,), 0, id="one of its models"),
        pytest.param(ONE, 8000, (), 0, id="nothing is free"),
    ],
)
def test_fragments(shape: PodShape, cpu: int, free: tuple[int, ...], fragments: float) -> None:
    measure = Fragmentation([TypicalPod(shape, 1.0)])
    assert measure.of("A10", measure.cpu_level(cpu), free) == fragments


def test_fragments_are_weighted_by_how_often_pods_occur() -> None:
    measure = Fragmentation([TypicalPod(ONE, 0.75), TypicalPod(HALF, 0.25)])
    assert measure.of("", measure.cpu_level(8000), (600, 1000)) == 0.75 * 600


def test_models_come_from_selector_or_affinity() -> None:
    pod = Pod("u", "n", "ns", Resource(), node_selector={"model": "T4"})
    assert allowed_models(pod, "model") == "T4"
    terms = [{"matchExpressions": [{"key": "model", "operator": "In", "values": ["A", "B"]}]}]
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
    pod = Pod("u", "n", "ns", Resource(), affinity={"nodeAffinity": required})
    assert allowed_models(pod, "model") == "A|B"
    assert allowed_models(pod, "other") == ""
