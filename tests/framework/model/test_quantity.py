"""Kubernetes quantities: exact, rounded up, or refused."""

import contextlib
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pumice.model.quantity import milli, units


@pytest.mark.parametrize(
    "text, thousandths, whole",
    [
        ("100m", 100, 1),
        ("1.5", 1500, 2),
        ("2", 2000, 2),
        ("2k", 2_000_000, 2000),
        ("1e3", 1_000_000, 1000),
        ("1E3", 1_000_000, 1000),
        ("1e-2", 10, 1),
        ("4Gi", 4 * 2**30 * 1000, 4 * 2**30),
        ("0.5Ki", 512_000, 512),
        ("1n", 1, 1),
        ("1001u", 2, 1),
        (".5", 500, 1),
        ("5.", 5000, 5),
        ("+1", 1000, 1),
        (" 1 ", 1000, 1),
        ("-1.5", -1500, -2),
        ("0e999999999", 0, 0),
        ("1e-999999999", 1, 1),
        (3, 3000, 3),
        (0.1, 100, 1),
        (1e16, 10**19, 10**16),
    ],
)
def test_a_quantity_is_read_exactly_and_rounded_up(text, thousandths, whole):
    assert units(text) == whole
    if thousandths < 2**63:
        assert milli(text) == thousandths


def test_an_exa_suffix_is_no_exponent():
    assert units("2E") == 2 * 10**18
    assert units("2e1") == 20


@pytest.mark.parametrize(
    "text",
    [
        *["", "abc", "1.2.3", "1 Gi", "4GB", "1e", "٣", "--1", "0x1", "9" * 70, "inf", "1_000"],
        *[None, True, [], {}, math.nan, math.inf],
    ],
)
def test_what_is_no_quantity_is_refused(text):
    with pytest.raises(ValueError, match="is not a quantity"):
        milli(text)


@pytest.mark.parametrize("text", ["1e30", "1e999999999", "9223372036854775808", 2**80, "8Ei"])
def test_a_quantity_beyond_64_bits_is_refused(text):
    with pytest.raises(ValueError, match="too large"):
        units(text)


@given(st.text(max_size=12) | st.from_regex(r"[0-9.eE+-]{1,8}[KMGTPEinumk]{0,2}"))
def test_any_text_is_a_quantity_or_a_value_error(text):
    with contextlib.suppress(ValueError):
        assert abs(units(text)) <= abs(milli(text))


@given(st.integers(-(2**50), 2**50))
def test_whole_numbers_pass_unchanged(number):
    assert units(str(number)) == units(number) == number
    assert milli(f"{number}m") == number
