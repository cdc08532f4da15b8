"""Rows by falling score, the first ones tested one by one."""

import math

import numpy as np
import pytest

from pumice import best_rows_first
from pumice.session.nodes.best_rows import FEW_TRIES

OUT = -math.inf


def rows_of(scores, *args, **options):
    return list(best_rows_first(np.array(scores, float), *args, **options))


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("one_by_one", [0, 1, FEW_TRIES, 50])
def test_rows_come_in_the_order_of_a_stable_sort(seed, one_by_one):
    rng = np.random.default_rng(seed)
    scores = rng.integers(0, 4, 12).astype(float)
    given = scores.copy()
    rows = np.sort(rng.choice(100, 12, replace=False))
    expected = rows[np.argsort(-scores, kind="stable")].tolist()
    assert list(best_rows_first(scores, rows, one_by_one=one_by_one)) == expected
    assert scores.tolist() == given.tolist()


@pytest.mark.parametrize("one_by_one", [0, FEW_TRIES])
def test_minus_infinity_is_left_out_and_nan_comes_last(one_by_one):
    scores = [math.nan, OUT, 3, 7, math.nan, -1e300]
    assert rows_of(scores, one_by_one=one_by_one) == [3, 2, 5, 0, 4]


@pytest.mark.parametrize("scores", [[], [OUT], [OUT] * 9])
def test_no_rows_give_no_rows(scores):
    assert rows_of(scores) == []


def test_the_first_rows_are_tested_one_by_one_and_the_others_in_one_call():
    asked, together = [], []

    def accepts(row):
        asked.append(row)
        return row == 1

    def accepts_many(rows):
        together.append(rows.tolist())
        return rows != 3

    scores = [9, 8, 7, 6, OUT, 4]
    accepted = rows_of(scores, one_by_one=2, accepts=accepts, accepts_many=accepts_many)
    assert (asked, together) == ([0, 1], [[2, 3, 5]])
    assert accepted == [1, 2, 5]


def test_the_other_rows_are_not_tested_when_an_early_one_passes():
    rows = best_rows_first(np.arange(9.0), accepts_many=pytest.fail)
    assert next(rows) == 8
