"""Regular expressions from manifests."""

import pytest

from pumice.kube import pattern


@pytest.mark.parametrize(
    "text, matches", [("n-[0-9]+$", True), ("^(a+)+$", False), ("(?i)N-1", True), ("", True)]
)
def test_patterns(text, matches):
    assert (pattern(text).search("rack n-12") is not None) is matches


@pytest.mark.parametrize("text", ["^(a+)+$", "^(a|aa)+$", "(.*a){12}$"])
def test_nothing_is_tried_exponentially_often(text):
    """A backtracking engine would not end within the lifetime of the machine."""
    assert pattern(text).search("a" * 5000 + "!") is None


@pytest.mark.parametrize("text", ["(", "(?=a)", "(a)\\1", "a{5000}", "\ud800"])
def test_a_pattern_that_cannot_be_compiled_is_a_value_error(text):
    with pytest.raises(ValueError, match=r"\w"):
        pattern(text)
