"""Every operation on resources, with its edge cases."""

import math

import pytest

from pumice.model.quantity import show_bytes
from pumice.model.resources import Missing, Resource, component_max, component_min, share

GPU = "nvidia.com/gpu"
INF = math.inf


def res(cpu: float = 0, memory: float = 0, **scalars: float) -> Resource:
    names = {"gpu": GPU, "pods": "pods", "nic": "example.com/nic"}
    return Resource(cpu, memory, {names[name]: value for name, value in scalars.items()})


def test_a_resource_list_is_read_in_the_units_of_each_resource():
    resource = Resource.from_list(
        {"cpu": "1500m", "memory": "1Gi", "pods": "110", GPU: 2, "ephemeral-storage": "1k"}
    )
    assert resource == Resource(1500, 2**30, {"pods": 110, GPU: 2000, "ephemeral-storage": 1_000})


@pytest.mark.parametrize(
    "name, counted",
    [
        ("nvidia.com/gpu", True),
        ("nvidia.com/mig-1g.5gb", True),
        ("example.com/A_b.c", True),
        ("hugepages-2Mi", True),
        ("attachable-volumes-csi-ebs", True),
        ("kubernetes.io/batch-cpu", True),
        ("count/jobs.batch", False),
        ("requests.nvidia.com/gpu", False),
        ("rdma", False),
        ("storage", False),
        ("limits.cpu", False),
        ("Example.com/gpu", False),
        ("example.com/", False),
        ("a/b/c", False),
        ("example.com/" + "x" * 64, False),
    ],
)
def test_only_scalar_resource_names_are_counted(name, counted):
    assert (name in Resource.from_list({name: "1"}).scalars) is counted


@pytest.mark.parametrize("value, words", [("x", "is not a quantity"), ("-1", "is negative")])
@pytest.mark.parametrize("name", ["cpu", "memory", "pods", GPU, "rdma"])
def test_a_bad_amount_is_refused_with_the_name_of_its_resource(name, value, words):
    with pytest.raises(ValueError, match=f"^{name}: .*{words}"):
        Resource.from_list({"cpu": "1", name: value})


def test_get_set_and_clone():
    resource = res(1, 2, gpu=3)
    copy = resource.clone()
    copy.set("cpu", 10)
    copy.set(GPU, 30)
    assert (resource.get("cpu"), resource.get("memory"), resource.get(GPU)) == (1, 2, 3)
    assert (copy.get("cpu"), copy.get(GPU), copy.get("absent")) == (10, 30, 0)
    assert copy != resource
    assert resource != "a resource"


def test_names_are_those_with_an_amount_pods_included():
    assert res(0.1, 0.05, gpu=1, nic=0, pods=1).names() == ["cpu", GPU, "pods"]


@pytest.mark.parametrize(
    "resource, empty",
    [
        (res(), True),
        (res(0.05, 0.05, gpu=0.05), True),
        (res(pods=1), True),
        (res(0.1), False),
        (res(memory=1), False),
        (res(gpu=1), False),
    ],
)
def test_pods_alone_leave_a_resource_empty(resource, empty):
    assert resource.is_empty() is empty


def test_adding_joins_the_scalars():
    total = res(1, 2, gpu=1)
    assert total.add(res(1, 1, nic=5)) is total
    assert total == res(2, 3, gpu=1, nic=5)
    assert total.plus(res(1)) == res(3, 3, gpu=1, nic=5)
    assert total == res(2, 3, gpu=1, nic=5)


def test_subtracting_goes_below_zero_without_complaint():
    left = res(1, 2, gpu=1)
    assert left.sub(res(3, 1, gpu=2, nic=4)) is left
    assert left == res(-2, 1, gpu=-1, nic=-4)


def test_subtracting_from_a_resource_without_scalars_makes_none_up():
    assert res(3, 3).minus(res(1, 1, pods=1)) == res(2, 2)


def test_what_is_left_of_unlimited_is_unlimited():
    assert res(INF, INF, gpu=INF).minus(res(INF, 5, gpu=INF)) == res(INF, INF, gpu=INF)


def test_scaling_touches_every_dimension():
    assert res(2, 4, gpu=6).scaled(0.5) == res(1, 2, gpu=3)
    assert res(INF, 4).scaled(0) == res(0, 0)


def test_set_max_takes_the_larger_and_what_is_missing():
    assert res(1, 5, gpu=1).set_max(res(2, 3, gpu=0, nic=-1)) == res(2, 5, gpu=1, nic=-1)
    assert res(1).set_max(res(0, 0, gpu=3)) == res(1, 0, gpu=3)


ZERO, INFINITY = Missing.ZERO, Missing.INFINITY


@pytest.mark.parametrize(
    "left, right, zero, infinity",
    [
        pytest.param(res(1, 1), res(2, 2, gpu=2), True, False, id="scalar only right"),
        pytest.param(res(1, 1, gpu=1), res(2, 2), False, True, id="scalar only left"),
        pytest.param(res(1, 1), res(0, 0, gpu=2), False, False, id="cpu above"),
        pytest.param(res(1000.05), res(1000), True, True, id="within tolerance"),
        pytest.param(res(1000.1), res(1000), False, False, id="at tolerance"),
        pytest.param(res(1, 1, gpu=0.05), res(1, 1), True, True, id="nearly no scalar"),
        pytest.param(res(1, 1, gpu=2), res(1, 1, gpu=2), True, True, id="equal"),
        pytest.param(res(INF, 1), res(INF, 1), True, True, id="both unlimited"),
        pytest.param(res(1, 1, gpu=5), res(INF, INF, gpu=INF), True, True, id="right unlimited"),
        pytest.param(res(INF), res(5), False, False, id="left unlimited"),
        pytest.param(res(-3, -3, gpu=-1), res(), True, True, id="negative"),
    ],
)
def test_less_equal(left, right, zero, infinity):
    assert left.less_equal(right, ZERO) is zero
    assert left.less_equal(right) is zero
    assert left.less_equal(right, INFINITY) is infinity


@pytest.mark.parametrize(
    "left, right, zero, infinity",
    [
        (res(1, 1), res(2, 2, gpu=2), [], []),
        (res(1, 1, gpu=1), res(2, 2), [GPU], []),
        (res(3, 3, gpu=3, nic=1), res(2, 2, gpu=2, nic=1), ["cpu", "memory", GPU], None),
        (res(INF, 1), res(INF, 0), ["memory"], None),
    ],
)
def test_failing_names_the_dimensions_above(left, right, zero, infinity):
    infinity = zero if infinity is None else infinity
    assert left.failing(right) == zero
    assert left.failing(right, INFINITY) == infinity
    assert left.greater_partly(right) == (bool(zero), zero)
    assert left.greater_partly(right, INFINITY) == (bool(infinity), infinity)


@pytest.mark.parametrize(
    "left, right, zero, infinity",
    [
        (res(1, 1), res(2, 2), True, True),
        (res(1, 2), res(2, 2), False, False),
        (res(1.95, 1), res(2, 2), True, True),
        (res(1, 1), res(2, 2, gpu=2), True, False),
        (res(1, 1, gpu=0), res(2, 2), False, True),
        (res(1, 1, gpu=1), res(2, 2, gpu=2), True, True),
        (res(1, 1, gpu=2), res(2, 2, gpu=2), False, False),
    ],
)
def test_less_is_strict_in_every_dimension(left, right, zero, infinity):
    assert left.less(right) is zero
    assert left.less(right, INFINITY) is infinity


@pytest.mark.parametrize(
    "left, right, zero, infinity",
    [
        (res(1, 3), res(2, 2), True, True),
        (res(2, 2), res(2, 2), False, False),
        (res(3, 3), res(2, 2, gpu=0), True, False),
        (res(3, 3, gpu=5), res(2, 2), False, True),
        (res(3, 3, gpu=1), res(2, 2, gpu=2), True, True),
        (res(3, 3, gpu=2), res(2, 2, gpu=2), False, False),
    ],
)
def test_less_partly_needs_one_dimension(left, right, zero, infinity):
    assert left.less_partly(right) is zero
    assert left.less_partly(right, INFINITY) is infinity


@pytest.mark.parametrize(
    "left, right, zero, infinity",
    [
        (res(2, 3), res(2, 2), True, True),
        (res(2.05, 3), res(2, 2), True, True),
        (res(3, 3), res(2, 2), False, False),
        (res(3, 3), res(2, 2, gpu=0), True, False),
        (res(3, 3, gpu=5), res(2, 2), False, True),
        (res(3, 3, gpu=2), res(2, 2, gpu=2), True, True),
        (res(INF, 3), res(INF, 2), True, True),
    ],
)
def test_less_equal_partly_needs_one_dimension(left, right, zero, infinity):
    assert left.less_equal_partly(right) is zero
    assert left.less_equal_partly(right, INFINITY) is infinity


@pytest.mark.parametrize(
    "left, right, requested, failing",
    [
        pytest.param(res(3, 3), res(2, 2), res(1), ["cpu"], id="only what is asked"),
        pytest.param(res(2.05, 3), res(2, 2), res(1), ["cpu"], id="no tolerance"),
        pytest.param(res(2, 2), res(2, 2), res(1, 1), [], id="equal"),
        pytest.param(res(9, 9, pods=9), res(9, 9), res(pods=1), [], id="pods ignored"),
        pytest.param(res(1, 1, gpu=2), res(1, 1), res(gpu=1), [GPU], id="scalar missing right"),
        pytest.param(res(1, 1, gpu=2), res(1, 1), res(1), [], id="scalar not asked"),
        pytest.param(res(1, 1), res(1, 1, gpu=-1), res(gpu=1), [], id="no scalars left"),
        pytest.param(res(1, 1, nic=0), res(1, 1, gpu=-1), res(gpu=1), [GPU], id="scalars left"),
        pytest.param(res(3, 0.05), None, res(1), ["cpu"], id="nothing to compare with"),
        pytest.param(res(2.05, 3, gpu=1), res(2, 2), None, ["memory", GPU], id="nothing asked"),
        pytest.param(res(INF, 1), res(INF, 1), res(1, 1), [], id="unlimited"),
    ],
)
def test_less_equal_in_the_requested_dimensions(left, right, requested, failing):
    expected = right is not None and not failing
    assert left.less_equal_in(right, requested) == (expected, failing)


@pytest.mark.parametrize(
    "left, right, requested, names, nonzero",
    [
        (res(3, 2.05), res(2, 2), res(1, 1), ["memory"], ["memory"]),
        (res(3, 3), res(2, 2), res(1, 1), [], []),
        (res(0, 3), res(0, 2), res(1, 1), ["cpu"], []),
        (res(3, 3, gpu=1), res(2, 2, gpu=1), res(gpu=1), [GPU], [GPU]),
        (res(3, 3), res(2, 2), res(gpu=1), [GPU], []),
        (res(3, 3, pods=1), res(2, 2, pods=5), res(pods=1), [], []),
        (res(1, 1), res(2, 2), None, [], []),
    ],
)
def test_less_equal_partly_in_the_requested_dimensions(left, right, requested, names, nonzero):
    assert left.less_equal_partly_in(right, requested) == (bool(names), names)
    assert left.less_equal_partly_in_nonzero(right, requested) == (bool(nonzero), nonzero)


@pytest.mark.parametrize(
    "left, right, requested, names, relevant",
    [
        (res(3, 3), res(2, 2), res(1, 1), ["cpu", "memory"], ["cpu", "memory"]),
        (res(2.05, 2), res(2, 2), res(1, 1), ["cpu"], ["cpu"]),
        (res(3, 3), res(0, 2), res(1, 1), ["cpu", "memory"], ["memory"]),
        (res(gpu=1), res(1, 1), res(gpu=1), [GPU], []),
        (res(gpu=1), res(gpu=0), res(gpu=1), [GPU], [GPU]),
        (res(3, 3), res(2, 2), res(memory=1), ["memory"], ["memory"]),
        (res(pods=3), res(pods=1), res(pods=1), [], []),
        (res(3), None, res(1), ["cpu"], []),
        (res(3), res(1), None, [], []),
    ],
)
def test_greater_partly_in_the_requested_dimensions(left, right, requested, names, relevant):
    assert left.greater_partly_in(right, requested) == names
    assert left.greater_partly_relevant(right, requested) == relevant


@pytest.mark.parametrize(
    "left, right, expected",
    [
        (res(1, 1, gpu=1), res(1.05, 1, gpu=1.05), True),
        (res(1, 1), res(1, 1, gpu=5), True),
        (res(1, 1, gpu=5), res(1, 1), False),
        (res(1, 1), res(1.1, 1), False),
        (res(INF, 1), res(INF, 1), True),
    ],
)
def test_equal_looks_only_at_what_the_left_names(left, right, expected):
    assert left.equal(right) is expected


def test_diff_with_missing_scalars_as_zero():
    more, less = res(3, 1, gpu=4, nic=2).diff(res(1, 2, gpu=4, pods=3))
    assert more == res(2, 0, nic=2)
    assert less == res(0, 1, gpu=0, pods=3)


def test_diff_with_missing_scalars_as_infinity():
    more, less = res(3, 1, nic=2).diff(res(1, 2, pods=3), INFINITY)
    assert more == res(2, 0, pods=-1)
    assert less == res(0, 1, nic=-1)


def test_diff_of_unlimited_amounts_is_no_nan():
    more, less = res(INF, 5, gpu=INF).diff(res(INF, INF, gpu=INF))
    assert more == res()
    assert less == res(0, INF, gpu=0)


def test_exceeded_part_is_what_is_above():
    assert res(3, 1, gpu=4).exceeded_part(res(1, 2, gpu=1)) == res(2, 0, gpu=3)


def test_min_dimension_looks_only_at_own_scalars():
    assert res(3, 1, gpu=4, nic=2).min_dimension(res(1, 2, gpu=1, pods=0)) == res(
        1, 1, gpu=1, nic=0
    )
    assert res(3, 1, gpu=4, nic=2).min_dimension(res(1, 2, gpu=1), INFINITY) == res(
        1, 1, gpu=1, nic=2
    )
    assert res(3, 1, gpu=4).min_dimension(res(9, 9)) == res(3, 1, gpu=0)


def test_fit_delta_takes_the_tolerance_off_what_is_asked():
    left = res(10, 10).fit_delta(res(4, 0, gpu=1))
    assert left.cpu == pytest.approx(5.9)
    assert left.memory == 10
    assert left.get(GPU) == pytest.approx(-1.1)


@pytest.mark.parametrize(
    "part, whole, expected",
    [(0, 0, 0), (3, 0, 1), (1, 2, 0.5), (3, 2, 1.5), (0, 5, 0), (5, INF, 0), (INF, INF, 1)],
)
def test_share(part, whole, expected):
    assert share(part, whole) == expected


def test_component_max_drops_what_is_not_positive():
    left = res(1, 5, gpu=3, nic=-1)
    assert component_max(left, res(2, 3, gpu=1, pods=0)) == res(2, 5, gpu=3)
    assert left == res(1, 5, gpu=3, nic=-1)


def test_component_min_needs_scalars_on_both_sides():
    assert component_min(res(1, 5, gpu=3, nic=2), res(2, 3, gpu=1, pods=4)) == res(
        1, 3, gpu=1, nic=0
    )
    assert component_min(res(1, 5, gpu=3), res(2, 3)) == res(1, 3)
    assert component_min(res(1, 5), res(2, 3, gpu=3)) == res(1, 3)


def test_resources_are_printed_for_people():
    resource = Resource.from_list({"cpu": "4", "memory": "8Gi", GPU: "2", "pods": "1"})
    assert resource.describe() == "4 cpu, 8Gi memory, 2 nvidia.com/gpu"
    assert resource.describe(pods=True).endswith(", 1 pods")
    assert res(1500, 20 * 10**9).describe() == "1.5 cpu, 20G memory"
    assert res(INF).describe() == "unlimited cpu"
    assert res(pods=1).describe() == "nothing"
    assert Resource(scalars={"ephemeral-storage": 2**30}).describe() == ("1Gi ephemeral-storage")
    assert repr(res(1, 2, pods=3)) == "Resource(1, 2, {'pods': 3})"


@pytest.mark.parametrize(
    "number, text",
    [
        (500, "500"),
        (1024, "1Ki"),
        (999_999, "976.6Ki"),
        (-(2**30), "-1Gi"),
        (INF, "unlimited"),
        (123_457_000_000_001, "112.3Ti"),
        (1536 * 2**20, "1536Mi"),
    ],
)
def test_bytes_are_printed_for_people(number, text):
    assert show_bytes(number) == text
