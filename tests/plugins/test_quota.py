"""What the quota plugins have in common."""

import math

from pumice_builtin_plugins.quota.dominant_share import dominant_share, totals_of


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
