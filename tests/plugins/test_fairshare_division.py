"""How one resource is divided among queues."""

import random
from fractions import Fraction

import pytest

from pumice_builtin_plugins.fairshare.division import ResourceShare, divide

INF = float("inf")


def shares(total, *claims, k=0, unit=1):
    """Claims as dicts; answers the shares, then what is left."""
    made = [
        ResourceShare(
            deserved=claim.get("quota", 0),
            limit=claim.get("limit", INF),
            over_quota_weight=Fraction(claim.get("weight", 1)),
            request=claim["asks"],
            priority=claim.get("priority", 0),
            usage=Fraction(str(claim.get("usage", 0))),
        )
        for claim in claims
    ]
    left = divide(total, made, Fraction(str(k)), unit)
    return [share.fair_share for share in made], left


def test_the_remaining_unit_goes_to_the_queue_that_lost_most_by_rounding():
    claims = {"quota": 2, "weight": 1, "asks": 10}, {"quota": 2, "weight": 4, "asks": 10}
    assert shares(11, *claims) == ([3, 8], 0)


def test_among_equal_losses_the_older_queue_gets_the_unit():
    claims = {"quota": 2, "weight": 2, "asks": 6}, {"quota": 2, "weight": 2, "asks": 6}
    assert shares(11, *claims) == ([6, 5], 0)


def test_a_limit_caps_the_share_and_leaves_a_rest_that_no_queue_requests():
    claims = {"quota": 2, "limit": 5, "asks": 6}, {"quota": 2, "asks": 6}
    assert shares(12, *claims) == ([5, 6], 1)


def test_beyond_quotas_priority_goes_before_weight():
    claims = (
        {"quota": 2, "weight": 100, "priority": 1, "asks": 6},
        {"quota": 2, "weight": 1, "priority": 2, "asks": 6},
    )
    assert shares(6, *claims) == ([2, 4], 0)


@pytest.mark.parametrize("k,expected", [(0, [8, 8]), (0.5, [6, 10]), (1, [5, 11]), (2, [3, 13])])
def test_recent_usage_shifts_over_quota_shares_by_k(k, expected):
    claims = {"asks": 16, "usage": 0.6}, {"asks": 16, "usage": 0.1}
    assert shares(16, *claims, k=k) == (expected, 0)


def test_usage_never_touches_a_quota():
    claims = {"quota": 4, "asks": 8, "usage": 1}, {"quota": 4, "asks": 8, "usage": 0}
    assert shares(8, *claims, k=5) == ([4, 4], 0)


def test_a_queue_with_excessive_usage_gets_only_what_others_leave():
    heavy = {"asks": 8, "usage": 1}
    assert shares(8, heavy, {"asks": 8}, k=10) == ([0, 8], 0)
    assert shares(8, heavy, {"asks": 4}, k=10) == ([4, 4], 0)


def test_no_queue_gets_more_than_it_requests():
    claims = {"asks": 1}, {"asks": 10}, {"asks": 10}
    assert shares(9, *claims) == ([1, 4, 4], 0)


def test_quotas_are_not_scaled_down_when_they_exceed_the_total():
    claims = {"quota": 8, "asks": 8}, {"quota": 8, "asks": 6}
    assert shares(10, *claims) == ([8, 6], -4)


def test_an_unlimited_quota_is_the_whole_total():
    claims = {"quota": INF, "asks": 20}, {"quota": 1, "asks": 5}
    assert shares(10, *claims) == ([10, 1], -1)


def test_weight_0_gives_no_over_quota_share():
    claims = {"quota": 1, "weight": 0, "asks": 10}, {"weight": 1, "asks": 3}
    assert shares(10, *claims) == ([1, 3], 6)


def test_only_queues_of_weight_0_leave_the_rest_alone():
    assert shares(10, {"weight": 0, "asks": 10}, {"weight": 0, "asks": 1}) == ([0, 0], 10)


def test_what_a_higher_priority_leaves_goes_to_the_next():
    claims = {"priority": 1, "asks": 10}, {"priority": 2, "asks": 4}
    assert shares(10, *claims) == ([6, 4], 0)


def test_gpus_are_handed_out_whole():
    claims = {"asks": 5000}, {"asks": 5000}, {"asks": 5000}
    assert shares(8000, *claims, unit=1000) == ([3000, 3000, 2000], 0)


def test_a_part_of_a_gpu_that_is_left_is_handed_out_too():
    claims = {"quota": 500, "asks": 500}, {"asks": 5000}
    assert shares(2000, *claims, unit=1000) == ([500, 1500], 0)


def test_nothing_to_divide_gives_nothing():
    assert shares(0, {"asks": 5}, {"quota": 0, "asks": 5}) == ([0, 0], 0)


@pytest.mark.parametrize("seed", range(25))
def test_nothing_remains_that_a_queue_may_have(seed):
    rng = random.Random(seed)
    claims = [
        {
            "quota": rng.choice([0, 0, 1, 3, INF]),
            "limit": rng.choice([INF, INF, 2, 5]),
            "weight": rng.choice([1, 2, 3]),
            "asks": rng.randint(0, 9),
            "priority": rng.choice([0, 0, 1]),
        }
        for _ in range(rng.randint(1, 6))
    ]
    total = rng.randint(0, 30)
    given, left = shares(total, *claims)
    wanted = [min(claim["asks"], claim["limit"]) for claim in claims]
    assert sum(given) + left == total
    if left >= 0:
        assert all(share <= want for share, want in zip(given, wanted, strict=True))
        assert left == 0 or given == wanted
