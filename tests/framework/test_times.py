"""Times as Kubernetes writes them."""

from pumice._times import timestamp


def test_epoch_seconds_are_written_in_utc():
    assert timestamp(0) == "1970-01-01T00:00:00Z"
    assert timestamp(1769846400.5) == "2026-01-31T08:00:00.500000Z"
