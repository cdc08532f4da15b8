"""A distribution may declare extension points of its own; others answer them."""

import json

import pytest
from click.testing import CliRunner

from pumice import Action, Plugin, combine, extension_point, hookimpl
from pumice.cli import main
from pumice.config import policy_from_dict
from pumice.discovery import Catalog
from pumice.errors import LoadError, PolicyError
from pumice.hookspecs import POINTS
from pumice.ledger import Ledger
from tests.framework._build import World

TIDE = """
    from pumice import Action, Plugin, combine, extension_point, hookimpl

    class TideSpecs:
        @extension_point(combine=combine.Sum())
        def tide_level(self, node, hour) -> float | None:
            '''How high the water stands at a node.

            Default: 0.
            '''

    class Moon(Plugin):
        '''Pull.'''

        @hookimpl
        def tide_level(self, hour):
            return 2.0 * hour

    class Measure(Action):
        '''Ask the tide.'''

        needs = ("tide_level",)

        def execute(self, session):
            session.state["tide"] = session.ask.tide_level(None, 3)
"""
SUN = """
    from pumice import Plugin, hookimpl

    class Sun(Plugin):
        '''Pull, too.'''

        @hookimpl
        def tide_level(self, node):
            return 0.5
"""


def specs(*lines: str) -> str:
    head = "from pumice import Action, Plugin, combine, extension_point\nclass Specs:\n"
    return head + "\n".join(f"    {line}" for line in lines) + "\n"


@pytest.fixture
def tidal(site, monkeypatch):
    monkeypatch.delenv("COLUMNS", raising=False)
    parts = {"plugins": {"moon": "Moon"}, "actions": {"measure": "Measure"}}
    site.install("pumice-tide", TIDE, version="1.2", hookspecs={"tide": "TideSpecs"}, **parts)
    site.install("pumice-sun", SUN, plugins={"sun": "Sun"})
    return site


def tidal_policy(*plugins, **entry):
    named = [{"name": plugins[0], **entry}, *plugins[1:]] if entry else list(plugins)
    return policy_from_dict({"actions": ["measure"], "tiers": [{"plugins": named}]})


def run(*args: str, status: int = 0):
    result = CliRunner().invoke(main, args, prog_name="pumice")
    assert result.exit_code == status, result.output
    return result


class TestDeclared:
    def test_a_catalog_merges_it_behind_the_frameworks_own(self, tidal):
        points = Catalog().points
        assert list(points) == [*POINTS, "tide_level"]
        assert points["tide_level"].source == "pumice-tide 1.2"
        assert points["tide_level"].group == "tide"
        assert "tide_level" not in POINTS

    def test_plugins_of_any_distribution_answer_and_the_rule_combines(self, tidal):
        policy = tidal_policy("moon", "sun")
        session = World().node("a").session(policy)
        policy.actions[0].cls(None, "measure").execute(session)
        assert session.state["tide"] == 6.5
        assert session.ask.has("tide_level")

    def test_without_implementations_the_default_of_the_rule_counts(self, tidal):
        session = World().node("a").session(tidal_policy("moon", disable=["tide_level"]))
        assert session.ask.tide_level(None, 3) == 0.0
        assert not session.ask.has("tide_level")

    def test_the_policy_check_knows_who_answers(self, tidal):
        policy = tidal_policy("moon", disable=["tide_level"])
        (warning,) = policy.warnings
        assert "measure has no effect: no plugin of the policy answers tide_level" in warning
        with pytest.raises(PolicyError, match="did you mean 'tide_level'"):
            tidal_policy("moon", disable=["tide_levl"])

    def test_a_ledger_records_it(self, tidal):
        events = []
        ledger = Ledger(events.append, ["tide_level"])
        World().node("a").session(tidal_policy("moon", "sun"), ledger=ledger).ask.tide_level("x", 1)
        assert [(e["event"], e["answer"]) for e in events] == [
            ("vote", 2.0), ("vote", 0.5), ("question", 2.5),
        ]  # fmt: skip

    def test_arguments_are_checked_like_the_frameworks(self, tidal):
        bad = SUN.replace("self, node", "self, nod")
        site_ = tidal
        site_.install("pumice-bad", bad, plugins={"bad": "Sun"})
        with pytest.raises(LoadError, match="hook 'tide_level' has no argument 'nod'; did you"):
            Catalog().load("plugin", "bad")

    def test_an_undecorated_method_is_noticed(self, tidal):
        tidal.install("pumice-bad", SUN.replace("@hookimpl", ""), plugins={"bad": "Sun"})
        (warning,) = Catalog().load("plugin", "bad").warnings
        assert "method tide_level is named like an extension point" in warning

    def test_without_the_distribution_the_point_is_unknown(self, site):
        site.install("pumice-sun", SUN, plugins={"sun": "Sun"})
        with pytest.raises(LoadError, match="hook 'tide_level' does not exist"):
            Catalog().load("plugin", "sun")

    def test_an_unknown_point_is_an_error_that_names_it(self, tidal):
        session = World().node("a").session(tidal_policy("moon"))
        with pytest.raises(AttributeError, match="'tide_levl'; did you mean 'tide_level'"):
            session.ask.tide_levl(None, 3)


class TestRegisteredByHand:
    def test_specs_may_come_after_plugins(self, catalog):
        class LateSpecs:
            @extension_point(combine.All())
            def late(self):
                """Whether it is late."""

        class Clock(Plugin):
            """Answers late."""

            @hookimpl
            def late(self):
                return False

        catalog.register_local("plugin", "clock", Clock)
        with pytest.raises(LoadError):
            catalog.load("plugin", "clock")
        catalog.register_local("hookspecs", "late", LateSpecs)
        assert catalog.load("plugin", "clock").points == ("late",)


REFUSED = {
    "no docstring": (
        specs("@extension_point(combine.All())", "def mine(self): ..."),
        "extension point 'mine' has no docstring",
    ),
    "no rule": (
        specs("@extension_point()", "def mine(self): 'Doc.'"),
        "cannot be imported: TypeError",
    ),
    "a rule's class": (
        specs("@extension_point(combine.All)", "def mine(self): 'Doc.'"),
        "needs a rule of pumice.combine, not All; write All()",
    ),
    "no decorator": (
        specs("@extension_point(combine.All())", "def mine(self): 'Doc.'", "def other(self): 1"),
        "method other has no rule",
    ),
    "nothing": (specs("pass"), "declares no extension point"),
    "a name of the framework's": (
        specs("@extension_point(combine.All())", "def job_ready(self, job): 'Doc.'"),
        "extension point 'job_ready' is already declared by pumice-framework",
    ),
    "a reserved name": (
        specs("@extension_point(combine.All())", "def has(self): 'Doc.'"),
        "extension point 'has' has a reserved name",
    ),
    "no self": (
        specs("@extension_point(combine.All())", "def mine(job): 'Doc.'"),
        "must take self",
    ),
    "catch-all": (
        specs("@extension_point(combine.All())", "def mine(self, *jobs): 'Doc.'"),
        "must name its arguments",
    ),
    "a form": (
        specs("@extension_point(combine.All(), form_of='predicate')", "def mine(self): 'Doc.'"),
        "only the framework can declare forms",
    ),
    "a plugin": (
        "from pumice import Plugin\nclass Specs(Plugin): pass",
        "is a subclass of Plugin, not a class of extension points",
    ),
    "no class": ("Specs = 3", "is a int, not a class of extension points"),
}


class TestRefused:
    @pytest.mark.parametrize("source, text", REFUSED.values(), ids=REFUSED)
    def test_the_error_names_the_distribution_and_the_fault(self, site, source, text):
        site.install("pumice-bad", source, version="0.7", hookspecs={"bad": "Specs"})
        catalog = Catalog()
        with pytest.raises(LoadError) as caught:
            catalog.load("hookspecs", "bad")
        assert "hookspecs 'bad' (pumice-bad 0.7, pumice_bad:Specs)" in str(caught.value)
        assert text in str(caught.value)
        assert catalog.points == POINTS
        assert [str(problem) for problem in catalog.problems()] == [str(caught.value)]

    def test_a_broken_declaration_is_reported_and_the_others_work(self, tidal):
        tidal.install("pumice-bad", "import nowhere", hookspecs={"bad": "Specs"})
        assert tidal_policy("moon").plugins[0].points == ("tide_level",)
        out = run("hooks").stdout
        assert "error: hookspecs 'bad' (pumice-bad 1.0, pumice_bad:Specs): cannot be imp" in out
        assert "hint: pumice-bad needs the module 'nowhere'" in out

    def test_a_point_declared_by_two_distributions_is_refused_to_both(self, tidal):
        tidal.install("pumice-ebb", TIDE, hookspecs={"ebb": "TideSpecs"})
        catalog = Catalog()
        assert "tide_level" not in catalog.points
        assert len(catalog.problems()) > 1
        with pytest.raises(LoadError, match=r"is already declared by pumice-tide 1\.2"):
            catalog.load("hookspecs", "ebb")
        with pytest.raises(LoadError, match=r"is already declared by pumice-ebb 1\.0"):
            catalog.load("hookspecs", "tide")

    def test_an_action_that_needs_a_point_that_is_not_there(self, catalog):
        class Wanting(Action):
            needs = ("job_redy",)

            def execute(self, session): ...

        catalog.register_local("action", "wanting", Wanting)
        with pytest.raises(LoadError, match="needs the extension point 'job_redy', which does not"):
            catalog.load("action", "wanting")


class TestHooksCommand:
    def test_it_is_listed_with_its_distribution(self, tidal):
        (line,) = (x for x in run("hooks").stdout.splitlines() if x.startswith("tide_level"))
        assert "pumice-tide 1.2" in line
        assert "moon, sun" in run("hooks", "--wide").stdout
        data = json.loads(run("hooks", "tide_level", "-o", "json").stdout)
        assert (data["distribution"], data["version"]) == ("pumice-tide", "1.2")
        assert data["rule"] == "Sum"

    def test_every_point_comes_with_an_example_that_loads(self, tidal):
        catalog = Catalog()
        for hook in json.loads(run("hooks", "-o", "json").stdout):
            made: dict = {}
            exec(hook["example"], made)
            (cls,) = (x for x in made.values() if isinstance(x, type) and x is not Plugin)
            catalog.register_local("plugin", "example", cls)
            assert catalog.load("plugin", "example").points == (hook["name"],)
        assert "def tide_level(self, node, hour):" in run("hooks", "tide_level").stdout
