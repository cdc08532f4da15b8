"""Rules that count votes or intersect victims, tier by tier."""

import pytest

from pumice.combine import (
    ABSTAIN,
    PERMIT,
    REJECT,
    All,
    Any_,
    FirstTierAll,
    TieredIntersection,
    UnionOfFirstTier,
    Vote,
)
from tests.framework.combine._panel import Panel, tasks, uids


@pytest.mark.parametrize(
    "tiers, expected, asked",
    [
        pytest.param([[]], True, "", id="no plugin"),
        pytest.param([[True, None], [True]], True, "abc", id="all agree or abstain"),
        pytest.param([[None]], True, "a", id="an abstention is no objection"),
        pytest.param([[True, False, True]], False, "ab", id="the first no ends it"),
        pytest.param([[True], [False]], False, "ab", id="a later tier is heard all the same"),
        pytest.param([[0]], False, "a", id="zero is a no"),
    ],
)
def test_all(tiers, expected, asked):
    panel = Panel(All(), *tiers)
    assert panel.ask("x") is expected
    assert "".join(panel.asked) == asked


@pytest.mark.parametrize(
    "tiers, expected, asked",
    [
        pytest.param([[]], False, "", id="no plugin"),
        pytest.param([[False, None]], False, "ab", id="no yes"),
        pytest.param([[False], [True, False]], True, "ab", id="the first yes ends it"),
    ],
)
def test_any(tiers, expected, asked):
    panel = Panel(Any_(), *tiers)
    assert panel.ask("x") is expected
    assert "".join(panel.asked) == asked


@pytest.mark.parametrize(
    "tiers, expected, asked",
    [
        pytest.param([[]], True, "", id="no plugin"),
        pytest.param([[ABSTAIN, None]], True, "ab", id="only abstentions"),
        pytest.param([[PERMIT, ABSTAIN], [REJECT]], True, "ab", id="a permit hides later tiers"),
        pytest.param([[ABSTAIN], [REJECT]], False, "ab", id="an abstaining tier hides nothing"),
        pytest.param([[PERMIT, REJECT]], False, "ab", id="a reject beats its tier's permit"),
        pytest.param([[REJECT, PERMIT]], False, "a", id="a reject ends it at once"),
        pytest.param([[], [PERMIT], [REJECT]], True, "a", id="an empty tier is no tier"),
        pytest.param([[-7]], False, "a", id="any negative rejects"),
        pytest.param([[2], [REJECT]], True, "a", id="any positive permits"),
        pytest.param([[ABSTAIN], [PERMIT, None], [REJECT]], True, "abc", id="tier by tier"),
    ],
)
def test_vote(tiers, expected, asked):
    panel = Panel(Vote(), *tiers)
    assert panel.ask("job") is expected
    assert "".join(panel.asked) == asked


@pytest.mark.parametrize(
    "tiers, expected, asked",
    [
        pytest.param([[]], "", "", id="no plugin"),
        pytest.param([[None], [None]], "", "ab", id="all abstain"),
        pytest.param([["ab", "bc"]], "b", "ab", id="what both allow"),
        pytest.param([[None, "a"]], "a", "ab", id="an abstention changes nothing"),
        pytest.param([["", "a"], ["a"]], "a", "ac", id="a veto ends its tier, not the decision"),
        pytest.param([["ab", ""], ["b"]], "b", "abc", id="a veto drops what the tier had so far"),
        pytest.param([["a", "b", "c"]], "c", "abc", id="nothing in common: start from nothing"),
        pytest.param([["a", "b"], ["c"]], "c", "abc", id="nothing in common at the end of a tier"),
        pytest.param([["a", "b", ""], ["c"]], "c", "abcd", id="from nothing, then vetoed"),
        pytest.param([["a"], ["b"]], "a", "a", id="the first deciding tier hides the others"),
        pytest.param([["cab", "abc"]], "cab", "ab", id="in the order of the first voter"),
        pytest.param(
            [["a", "b", "dc", "cd"]], "dc", "abcd", id="who starts from nothing gives the order"
        ),
        pytest.param([[""], [""]], "", "ab", id="every tier vetoed"),
    ],
)
def test_tiered_intersection(tiers, expected, asked):
    panel = Panel(TieredIntersection(), *[[tasks(answer) for answer in tier] for tier in tiers])
    assert uids(panel.ask("preemptor", tasks("abcdef"))) == expected
    assert "".join(panel.asked) == asked


def test_every_voter_is_given_all_candidates():
    panel = Panel(TieredIntersection(), [tasks("a"), tasks("b")], [tasks("c")])
    candidates = tasks("abc")
    panel.ask("preemptor", candidates)
    assert all(given == ("preemptor", candidates) for given in panel.arguments)


def test_victims_may_come_from_a_generator():
    panel = Panel(
        TieredIntersection(),
        [lambda _, given: (t for t in given if t.uid < "c"), tasks("bc")],
    )
    assert uids(panel.ask("preemptor", tasks("abc"))) == "b"
    empty = Panel(
        TieredIntersection(), [lambda _, candidates: (t for t in ()), tasks("b")], [tasks("c")]
    )
    assert uids(empty.ask("preemptor", tasks("abc"))) == "c"


def test_what_a_plugin_answered_is_not_changed_by_the_next_one():
    mine = tasks("ab")
    panel = Panel(TieredIntersection(), [mine, tasks("b")])
    panel.ask("preemptor", tasks("ab"))
    assert uids(mine) == "ab"


@pytest.mark.parametrize(
    "tiers, expected, asked",
    [
        pytest.param([[]], False, "", id="no plugin: False"),
        pytest.param([[True, False]], False, "ab", id="all of the tier must say yes"),
        pytest.param([[], [True]], True, "a", id="the first tier with a voter decides"),
        pytest.param([[False], [True]], False, "a", id="a no in tier 1 beats tier 2"),
        pytest.param([[True], [False]], True, "a", id="a yes in tier 1 hides tier 2"),
        pytest.param([[None], [True]], True, "ab", id="who abstains is no voter"),
        pytest.param([[None, None]], False, "ab", id="only abstentions"),
        pytest.param([[None, True], [False]], True, "ab", id="one voter makes the tier decide"),
    ],
)
def test_first_tier_all(tiers, expected, asked):
    panel = Panel(FirstTierAll(), *tiers)
    assert panel.ask("job") is expected
    assert "".join(panel.asked) == asked


@pytest.mark.parametrize(
    "tiers, expected, asked",
    [
        pytest.param([[]], "", "", id="no plugin"),
        pytest.param([["ab", "bc"], ["d"]], "abc", "ab", id="the union, each once"),
        pytest.param([["", None], ["d"]], "d", "abc", id="the first tier that names anything"),
        pytest.param([["", ""], [""]], "", "abc", id="no task named"),
    ],
)
def test_union_of_first_tier(tiers, expected, asked):
    panel = Panel(UnionOfFirstTier(), *[[tasks(answer) for answer in tier] for tier in tiers])
    assert uids(panel.ask(tasks("abcdef"))) == expected
    assert "".join(panel.asked) == asked
