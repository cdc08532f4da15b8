"""What all combination rules share: errors of plugins and documentation."""

import pytest

from pumice.combine import (
    RULES,
    Compare,
    Fold,
    Merge,
    NotifyAll,
    Sum,
    SumByKey,
    TieredIntersection,
    UnionOfFirstTier,
    Vote,
)
from pumice.errors import PluginError
from tests.framework.combine._panel import Panel

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
