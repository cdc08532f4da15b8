"""Each combination rule on its own, with its edge cases."""

from types import SimpleNamespace

import pytest

from pumice.combine import (
    ABSTAIN,
    PERMIT,
    REJECT,
    RULES,
    SKIP,
    All,
    Any_,
    Compare,
    First,
    FirstError,
    FirstPlugin,
    FirstTierAll,
    Fold,
    Impl,
    Merge,
    Notify,
    NotifyAll,
    PerPlugin,
    Sum,
    SumByKey,
    TieredIntersection,
    UnionOfFirstTier,
    Vote,
)
from pumice.errors import PluginError


class Panel:
    """Plugins with fixed answers, in tiers; records which were called."""

    def __init__(self, rule, *tiers):
        self.asked = []
        self.arguments = []
        self.errors = []
        names = iter("abcdefghij")
        impls = [[self._voter(next(names), answer) for answer in tier] for tier in tiers]
        self.ask = rule.compile("some_point", impls, self.errors.append)

    def _voter(self, name, answer):
        def fn(*args):
            self.asked.append(name)
            self.arguments.append(args)
            if isinstance(answer, Exception):
                raise answer
            return answer(*args) if callable(answer) else answer

        return Impl(name, fn, f"dist-{name} 1.0")


def tasks(letters):
    return None if letters is None else [TASKS[letter] for letter in letters]


TASKS = {letter: SimpleNamespace(uid=letter) for letter in "abcdef"}


def uids(answer):
    return "".join(task.uid for task in answer)


# -- Compare


@pytest.mark.parametrize(
    "tiers, expected, asked",
    [
        pytest.param([[]], 0, "", id="no plugin: the tie-break of the caller decides"),
        pytest.param([[0, None], [0]], 0, "abc", id="all abstain"),
        pytest.param(
            [[0, -3, 5]], -1, "ab", id="the first non-zero decides, the rest is not asked"
        ),
        pytest.param([[0], [7]], 1, "ab", id="tiers only give the order"),
        pytest.param([[-0.5]], -1, "a", id="a fraction is an opinion, too"),
        pytest.param([[True]], 1, "a", id="true puts the right one first"),
    ],
)
def test_compare(tiers, expected, asked):
    panel = Panel(Compare(), *tiers)
    assert panel.ask("l", "r") == expected
    assert "".join(panel.asked) == asked


@pytest.mark.parametrize(
    "odd", [RuntimeError("boom"), "no number", [1]], ids=["raises", "text", "list"]
)
def test_a_comparison_that_fails_abstains_and_is_reported(odd):
    panel = Panel(Compare(), [odd, -1])
    assert panel.ask("l", "r") == -1
    (error,) = panel.errors
    assert (error.plugin, error.point, error.source) == ("a", "some_point", "dist-a 1.0")
    assert error.__cause__ is not None


# -- All, Any


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


# -- Vote


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


# -- TieredIntersection


@pytest.mark.parametrize(
    "tiers, expected, asked",
    [
        pytest.param([[]], "", "", id="no plugin"),
        pytest.param([[None], [None]], "", "ab", id="all abstain"),
        pytest.param([["ab", "bc"]], "b", "ab", id="what both allow"),
        pytest.param([[None, "a"]], "a", "ab", id="an abstention changes nothing"),
        pytest.param([["", "a"], ["a"]], "a", "ac", id="a veto ends its tier, not the decision"),
        pytest.param([["ab", ""], ["b"]], "b", "abc", id="a veto drops what the tier had so far"),
        pytest.param([["a", "b", "c"]], "c", "abc", id="nothing in common: start afresh"),
        pytest.param([["a", "b"], ["c"]], "c", "abc", id="nothing in common at the end of a tier"),
        pytest.param([["a", "b", ""], ["c"]], "c", "abcd", id="afresh, then vetoed"),
        pytest.param([["a"], ["b"]], "a", "a", id="the first deciding tier hides the others"),
        pytest.param([["cab", "abc"]], "cab", "ab", id="in the order of the first voter"),
        pytest.param(
            [["a", "b", "dc", "cd"]], "dc", "abcd", id="who starts afresh gives the order"
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


# -- FirstTierAll (job_starving)


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


# -- First, FirstPlugin, FirstError


def test_first_takes_the_first_answer_that_is_not_none():
    panel = Panel(First(), [None], [0, "later"])
    assert panel.ask("x") == 0
    assert panel.asked == ["a", "b"]
    assert Panel(First(), []).ask("x") is None


def test_first_plugin_is_asked_alone_whatever_it_answers():
    panel = Panel(FirstPlugin(), [], [None, "never"])
    assert panel.ask("x") is None
    assert panel.asked == ["a"]
    assert Panel(FirstPlugin(), []).ask("x") is None


def test_first_error_stops_at_the_first_objection():
    panel = Panel(FirstError(), [None, SKIP], ["no room", "never"])
    assert panel.ask("task") == "no room"
    assert panel.asked == ["a", "b", "c"]


def test_skip_is_no_objection():
    assert Panel(FirstError(), [SKIP, None]).ask("task") is None
    assert Panel(FirstError(), []).ask("task") is None


# -- Sum, SumByKey, Merge, PerPlugin


def test_sum_counts_an_abstention_as_nothing():
    assert Panel(Sum(), [1, None], [2.5]).ask("task", "node") == 3.5
    assert Panel(Sum(), []).ask("task", "node") == 0.0


def test_scores_are_added_up_by_key():
    panel = Panel(SumByKey(), [{"h1": 1.0}, None], [{"h1": 2.0, "h2": 4.0}, {}])
    assert panel.ask("sub-job") == {"h1": 3.0, "h2": 4.0}
    assert Panel(SumByKey(), []).ask("sub-job") == {}


def test_a_later_plugin_overwrites_an_equal_key():
    panel = Panel(Merge(), [{"a": 1, "b": 1}], [{"b": 2}, None])
    assert panel.ask("task") == {"a": 1, "b": 2}
    assert Panel(Merge(), []).ask("task") == {}


def test_answers_are_separate_per_plugin():
    panel = Panel(PerPlugin(), [[1.0], None])
    assert panel.ask("task") == {"a": [1.0], "b": None}
    assert Panel(PerPlugin(), []).ask("task") == {}


# -- Fold


def test_fold_replaces_every_branch_in_order():
    halves = lambda *args: [args[-1][:1], args[-1][1:]]  # noqa: E731
    reversed_ = lambda *args: [args[-1][::-1]]  # noqa: E731
    panel = Panel(Fold(), [halves], [reversed_])
    assert panel.ask("job", [1, 2, 3]) == [[1], [3, 2]]


def test_an_empty_list_removes_a_branch_and_none_leaves_it():
    panel = Panel(
        Fold(),
        [lambda *args: [[1], [2], [3]]],
        [lambda *args: [] if args[-1] == [2] else None],
    )
    assert panel.ask("job", [1, 2, 3]) == [[1], [3]]
    assert Panel(Fold(), []).ask("job", [1, 2]) == [[1, 2]]
    assert Panel(Fold(), [[]], [lambda *args: [["never"]]]).ask("job", [1]) == []


def test_each_branch_sees_the_fixed_arguments():
    panel = Panel(Fold(), [lambda *args: [[1], [2]]], [None])
    panel.ask("job", "sub-group", [1, 2])
    assert panel.arguments == [
        ("job", "sub-group", [1, 2]),
        ("job", "sub-group", [1]),
        ("job", "sub-group", [2]),
    ]


# -- Notify, NotifyAll


def test_notify_calls_all_plugins_and_ignores_answers():
    panel = Panel(Notify(), ["ignored", None], [False])
    assert panel.ask("x") is None
    assert panel.asked == ["a", "b", "c"]


def test_all_plugins_are_called_even_when_one_objects():
    panel = Panel(NotifyAll(), [None, "too much"], ["also no", None])
    assert panel.ask("task") == "too much"
    assert panel.asked == ["a", "b", "c", "d"]
    assert Panel(NotifyAll(), []).ask("task") is None


def test_a_plugin_that_raises_objects_and_the_others_are_still_called():
    panel = Panel(NotifyAll(), [RuntimeError("boom")], [None, "no"])
    objection = panel.ask("task")
    assert isinstance(objection, PluginError)
    assert objection.plugin == "a"
    assert panel.asked == ["a", "b", "c"]
    assert panel.errors == []  # it is the answer, so it is not reported again


def test_an_error_behind_the_first_objection_is_reported():
    panel = Panel(NotifyAll(), ["no", RuntimeError("boom")])
    assert panel.ask("task") == "no"
    assert [error.plugin for error in panel.errors] == ["b"]


# -- UnionOfFirstTier


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


# -- errors

ARGUMENTS = {TieredIntersection: ("preemptor", []), Fold: ("job", [1])}
SWALLOWING = (Compare, NotifyAll)


@pytest.mark.parametrize(
    "rule", [rule for rule in RULES if rule not in SWALLOWING], ids=lambda rule: rule.__name__
)
def test_an_error_names_plugin_point_and_source(rule):
    cause = RuntimeError("boom")
    panel = Panel(rule(), [cause])
    with pytest.raises(
        PluginError, match=r"plugin a \(dist-a 1\.0\) failed in some_point: .*boom"
    ) as e:
        panel.ask(*ARGUMENTS.get(rule, ("x",)))
    assert (e.value.plugin, e.value.point, e.value.source) == ("a", "some_point", "dist-a 1.0")
    assert e.value.__cause__ is cause


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_an_error_that_already_names_a_plugin_is_passed_on(rule):
    inner = PluginError("inner_point", "deep", "dist-deep 2.0", ValueError("x"))
    panel = Panel(rule(), [inner])
    if rule in SWALLOWING:
        answer = panel.ask("x")
        assert [*panel.errors, answer][0] is inner
    else:
        with pytest.raises(PluginError) as e:
            panel.ask(*ARGUMENTS.get(rule, ("x",)))
        assert e.value is inner


@pytest.mark.parametrize(
    "rule, answer",
    [
        (Vote, "yes"),
        (TieredIntersection, [object()]),
        (TieredIntersection, 5),
        (Sum, "1"),
        (SumByKey, [1]),
        (Merge, 3),
        (Fold, 3),
        (UnionOfFirstTier, [object()]),
    ],
)
def test_an_answer_of_the_wrong_type_is_an_error_of_its_plugin(rule, answer):
    panel = Panel(rule(), [answer])
    with pytest.raises(PluginError, match="plugin a"):
        panel.ask(*ARGUMENTS.get(rule, ("x",)))


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_a_rule_documents_its_meaning_and_its_default(rule):
    assert rule().meaning.endswith((".", ";")) or rule().meaning
    assert rule().default
    assert rule().name
