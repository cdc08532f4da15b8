"""Rules that call every plugin: Notify, NotifyAll."""

from pumice.combine import (
    Notify,
    NotifyAll,
)
from pumice.errors import PluginError
from tests.framework.combine._panel import Panel


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
