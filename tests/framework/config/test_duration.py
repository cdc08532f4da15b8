"""Durations are read as people and other schedulers write them."""

import pytest
from pydantic import TypeAdapter, ValidationError

from pumice.config import Duration

READ = TypeAdapter(Duration).validate_python


@pytest.mark.parametrize(
    "text, expected",
    [
        ("1s", 1),
        ("500ms", 0.5),
        ("1m30s", 90),
        ("2h", 7200),
        ("1.5h", 5400),
        (" 10s ", 10),
        ("1h2m3s4ms", 3723.004),
        ("100us", 1e-4),
        ("-3s", -3),
        ("2", 2),
        (0.25, 0.25),
        (3, 3),
    ],
)
def test_durations(text, expected):
    assert READ(text) == pytest.approx(expected)


@pytest.mark.parametrize("text", ["", "s", "1 s", "1x", "1s1", "one", "1s,2s", None, []])
def test_what_is_no_duration(text):
    with pytest.raises(ValidationError):
        READ(text)
