"""What the quota plugins have in common."""

import math

from pumice.model.resources import Resource
from pumice_builtin_plugins.quota.dominant_share import dominant_share, totals_of
from pumice_builtin_plugins.quota.min_resources import minimum_rows
from tests.framework._build import World, policy


class TestDominantShare:
    def test_the_largest_fraction_counts(self):
        assert dominant_share([2, 3, 0], totals_of(enumerate([8, 6, 0]))) == 0.5

    def test_without_totals_it_is_0(self):
        assert dominant_share([5], totals_of(enumerate([0]))) == 0.0

    def test_resources_below_the_tolerance_do_not_count(self):
        assert totals_of([(0, 0.09), (1, 0.1), (3, 4)]) == ((1, 0.1), (3, 4))

    def test_an_unlimited_total_is_never_dominant(self):
        assert dominant_share([5, 1], ((0, math.inf), (1, 4))) == 0.25

    def test_more_than_the_total_is_more_than_1(self):
        assert dominant_share([6], ((0, 4),)) == 1.5


def test_minimums_that_are_no_integers_of_the_clusters_resources_have_no_row():
    world = World().node("n", cpu=4)
    for name in ("whole", "part", "foreign", "none", "unlimited"):
        world.job(name)
    session = world.session(policy([]))
    minimums = {
        "whole": Resource(2000, 5),
        "part": Resource(0.5),
        "foreign": Resource(1000, 0, {"example.com/board": 1}),
        "unlimited": Resource(math.inf),
    }
    for name, minimum in minimums.items():
        session.jobs[f"ns/{name}"].min_resources = minimum
    rows = dict(zip(session.jobs, minimum_rows(session).tolist(), strict=True))
    assert rows.pop("ns/whole")[:3] == [2000, 5, 0]
    assert {row[0] for row in rows.values()} == {-1}
