"""An old name of an extension point or an argument works on and tells the new one."""

import warnings

import pytest
from click.testing import CliRunner

import pumice
from pumice import Action, Plugin, deprecated, hookimpl
from pumice.cli import main
from pumice.config import policy_from_dict
from pumice.deprecated import RENAMED, Renamed
from pumice.errors import LoadError
from tests.framework._build import World, task

POINT = Renamed("node_score", "node_order", "0.2")
ARGUMENT = Renamed("host", "node", "0.2", point="node_order")


class Old(Plugin):
    """Written for the version before."""

    @hookimpl(scope="row")
    def node_score(self, host):
        return 7.0 if host.name == "b" else 0.0


class Both(Plugin):
    """Written for two versions."""

    @hookimpl
    def node_score(self, host):
        raise AssertionError

    @hookimpl
    def node_order(self, node):
        return 1.0


class Asking(Action):
    """Ask by the old name."""

    needs = ("node_score",)

    def execute(self, session):
        node = session.nodes.handle(1)
        session.state["score"] = session.ask.node_score(task(session, "j-t-0"), node)


@pytest.fixture
def renamed(monkeypatch):
    monkeypatch.setattr(deprecated, "RENAMED", (POINT, ARGUMENT))


@pytest.fixture
def old(catalog, renamed):
    catalog.register_local("plugin", "old", Old)
    catalog.register_local("plugin", "both", Both)
    catalog.register_local("action", "asking", Asking)
    return catalog


def policy(catalog, plugin="old", **entry):
    named = {"name": plugin, **entry}
    return policy_from_dict(
        {"actions": ["asking"], "tiers": [{"plugins": [named]}]}, catalog=catalog
    )


def test_no_rename_outlives_its_minor_version():
    version = tuple(int(part) for part in pumice.__version__.split(".")[:2])
    gone = [r for r in RENAMED if tuple(int(part) for part in r.gone_in.split(".")) <= version]
    assert not gone, "remove them from pumice.deprecated, and tell it in the changelog"


def test_the_text_names_both_names_and_the_end():
    assert str(POINT) == (
        "hook 'node_score' is called 'node_order' since 0.2; 0.3 drops the old name"
    )
    assert str(ARGUMENT).startswith("argument 'host' of 'node_order' is called 'node' since 0.2")


def test_a_plugin_under_old_names_loads_with_warnings_at_its_own_lines(old):
    with pytest.warns(DeprecationWarning, match="is called") as caught:
        loaded = old.load("plugin", "old")
    assert [str(warning.message) for warning in caught] == [str(POINT), str(ARGUMENT)]
    assert {warning.filename for warning in caught} == {__file__}
    assert loaded.points == ("node_order",)
    assert loaded.cls.__name__ == "Old"
    assert issubclass(loaded.cls, Old)
    assert loaded.summary == "Written for the version before."
    assert not loaded.warnings
    assert [note.partition(" (")[0] for note in loaded.deprecations] == [str(POINT), str(ARGUMENT)]


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_it_decides_as_before(old):
    world = World().node("a").node("b").job("j", tasks=1, cpu=1)
    session = world.session(policy(old), verify=True)
    assert session.queries.scores(task(session, "j-t-0")).tolist() == [0.0, 7.0]


def test_an_action_may_ask_and_need_by_the_old_name(old):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        chosen = policy(old)
        session = World().node("a").node("b").job("j", tasks=1, cpu=1).session(chosen)
    assert not chosen.warnings
    with pytest.warns(DeprecationWarning, match="'node_order' since") as caught:
        Asking(Asking.Options(), "asking").execute(session)
    assert caught[0].filename == __file__
    assert session.state["score"] == 7.0
    assert session.ask.has("node_score")


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_policy_may_name_the_old_point(old):
    chosen = policy(old, disable=["node_score"])
    assert chosen.plugins[0].disable == {"node_order"}
    assert any(f"tiers[0].plugins[0].disable[0]: {POINT}" in w for w in chosen.warnings)


def test_both_names_are_for_two_versions_and_say_nothing(old):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        loaded = old.load("plugin", "both")
    assert loaded.cls is Both
    assert loaded.points == ("node_order",)
    assert not loaded.deprecations


def test_without_the_rename_the_old_name_is_an_error(catalog):
    catalog.register_local("plugin", "old", Old)
    with pytest.raises(LoadError, match="hook 'node_score' does not exist"):
        catalog.load("plugin", "old")


def test_the_hooks_command_leads_to_the_new_name(renamed):
    result = CliRunner().invoke(main, ["hooks", "node_score"])
    assert result.exit_code == 0
    assert result.stdout.startswith("node_order(")
    assert str(POINT) in result.stderr
