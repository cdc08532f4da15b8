"""Discovery finds by name, imports on demand, and reports what is wrong."""

import json
import os
import subprocess
import sys

import pytest

from pumice import API_VERSION, Action, Plugin, combine, extension_point, hookimpl
from pumice.discovery import Catalog, _check
from pumice.errors import LoadError

SPREAD = """
    from pumice import Plugin, hookimpl

    class Spread(Plugin):
        '''Prefer the emptiest node.

        More about it.
        '''

        @hookimpl
        def node_order(self, node):
            return 1.0

        @hookimpl
        def job_order(self, right, left):
            return 0
"""


def body(*lines: str) -> str:
    """A plugin module whose class Broken has these lines."""
    inner = "\n".join(f"    {line}" for line in lines)
    return f"import pluggy\nfrom pumice import Plugin, hookimpl\nclass Broken(Plugin):\n{inner}\n"


def test_names_and_sources_are_known_without_an_import(site):
    site.install("pumice-spread", "raise SystemError", version="0.3", plugins={"spread": "Spread"})
    catalog = Catalog()
    assert catalog.names("plugin") == ["spread"]
    (spread,) = catalog.installed("plugin")
    assert spread.source.label == "pumice-spread 0.3"
    assert spread.source.entry_point == "pumice_spread:Spread"
    assert "pumice_spread" not in sys.modules


def test_a_class_is_loaded_with_its_points_in_the_order_of_the_cycle(site):
    site.install("pumice-spread", SPREAD, plugins={"spread": "Spread"})
    loaded = Catalog().load("plugin", "spread")
    assert loaded.cls.__name__ == "Spread"
    assert loaded.points == ("job_order", "node_order")
    assert loaded.summary == "Prefer the emptiest node."
    assert loaded.source.label == "pumice-spread 1.0"
    assert not loaded.warnings


def test_the_scan_is_fresh_in_every_catalog(site):
    site.install("pumice-one", SPREAD, plugins={"one": "Spread"})
    assert Catalog().names("plugin") == ["one"]
    site.install("pumice-two", SPREAD, plugins={"two": "Spread"})
    assert Catalog().names("plugin") == ["one", "two"]


BROKEN = {
    "import error": (
        "import no_such_module_anywhere",
        ["cannot be imported", "ModuleNotFoundError", "no_such_module_anywhere"],
        "needs the module 'no_such_module_anywhere'",
    ),
    "exception at import": ("1 / 0", ["cannot be imported: ZeroDivisionError"], "--debug"),
    "assertion at import": ("assert False, 'oh'", ["AssertionError: oh"], "--debug"),
    "exit at import": ("raise SystemExit(3)", ["cannot be imported: SystemExit: 3"], "--debug"),
    "no such attribute": ("", ["cannot be imported", "Broken"], "names 'Broken'"),
    "no subclass": ("class Broken: pass", ["is not a subclass of pumice.Plugin"], ""),
    "a function": ("def Broken(): pass", ["is a function, not a subclass of pumice.Plugin"], ""),
    "an instance": (
        "from pumice import Plugin\nBroken = Plugin(None, None, 'x')",
        ["is an instance of Plugin, not the class"],
        "",
    ),
    "an action": (
        "from pumice import Action\nclass Broken(Action): pass",
        ["is an action, not a plugin", "pumice.actions"],
        "",
    ),
    "unknown hook": (
        body("@hookimpl", "def node_ordr(self, node): ..."),
        ["hook 'node_ordr' does not exist; did you mean 'node_order'?", "pumice_broken.py:4"],
        "",
    ),
    "unknown argument": (
        body("@hookimpl", "def node_order(self, task, nod): ..."),
        ["hook 'node_order' has no argument 'nod'; did you mean 'node'?"],
        "",
    ),
    "unknown argument with a default": (
        body("@hookimpl", "def on_session_open(self, session=None): ..."),
        ["hook 'on_session_open' has no argument 'session'; it has none"],
        "",
    ),
    "keyword-only": (
        body("@hookimpl", "def node_order(self, *, node): ..."),
        ["takes 'node' by keyword only"],
        "",
    ),
    "catch-all": (
        body("@hookimpl", "def node_order(self, **kwargs): ..."),
        ["takes **kwargs; name the arguments"],
        "",
    ),
    "no self": (
        body("@hookimpl", "def node_order(task, node): ..."),
        ["must take self as its first argument"],
        "",
    ),
    "static method": (
        body("@staticmethod", "@hookimpl", "def node_order(node): ..."),
        ["must be a plain method, not a staticmethod"],
        "",
    ),
    "coroutine": (
        body("@hookimpl", "async def node_order(self, node): ..."),
        ["cannot be async"],
        "",
    ),
    "tryfirst": (
        body("@pluggy.HookimplMarker('pumice')(tryfirst=True)", "def node_order(self, node): ..."),
        ["marked tryfirst; only the policy's tiers order plugins"],
        "",
    ),
    "trylast": (
        body("@pluggy.HookimplMarker('pumice')(trylast=True)", "def node_order(self, node): ..."),
        ["marked trylast"],
        "",
    ),
    "wrapper": (
        body(
            "@pluggy.HookimplMarker('pumice')(wrapper=True)",
            "def node_order(self, node): return (yield)",
        ),
        ["marked wrapper"],
        "",
    ),
    "hookwrapper": (
        body("@pluggy.HookimplMarker('pumice')(hookwrapper=True)", "def node_order(self): yield"),
        ["marked hookwrapper"],
        "",
    ),
    "order given to hookimpl": (
        body("@hookimpl(tryfirst=True)", "def node_order(self, node): ..."),
        ["unexpected keyword argument 'tryfirst'"],
        "policy's tiers order plugins",
    ),
    "unknown scope": (
        body("@hookimpl(scope='rows')", "def predicate_nodes(self, task, nodes): ..."),
        ["has the unknown scope 'rows'; known: static, row, span, cluster"],
        "",
    ),
    "foreign options": (body("class Options: pass"), ["its Options is not a subclass"], ""),
    "newer api": (body("api_version = '1.99'"), ["written for API 1.99", "upgrade"], ""),
    "another api": (body("api_version = '0.9'"), ["written for API 0.9", "newer release"], ""),
    "no api": (body("api_version = 'one'"), ["its api_version is 'one'"], ""),
}


@pytest.mark.parametrize("source, words, hint", BROKEN.values(), ids=BROKEN)
def test_what_is_wrong_is_reported_with_its_origin(site, source, words, hint):
    site.install("pumice-broken", source, version="2.1", plugins={"broken": "Broken"})
    with pytest.raises(LoadError) as caught:
        Catalog().load("plugin", "broken")
    message = str(caught.value)
    assert message.startswith("plugin 'broken' (pumice-broken 2.1, pumice_broken:Broken): ")
    assert "\n" not in message
    for word in words:
        assert word in message
    assert hint in caught.value.hint


def test_all_problems_of_a_class_are_reported_together(site):
    source = body(
        "@hookimpl", "def node_ordr(self): ...", "@hookimpl", "def job_order(self, lef): ..."
    )
    site.install("pumice-broken", source, plugins={"broken": "Broken"})
    with pytest.raises(LoadError) as caught:
        Catalog().load("plugin", "broken")
    assert "node_ordr" in str(caught.value)
    assert "'lef'" in str(caught.value)


@pytest.mark.parametrize("version", [None, API_VERSION, "1.0"])
def test_a_compatible_api_version_is_accepted(catalog, version):
    catalog.register_local("plugin", "p", type("P", (Plugin,), {"api_version": version}))
    assert catalog.load("plugin", "p").points == ()


def test_an_optional_hook_of_another_release_is_left_alone(site):
    marker = "@pluggy.HookimplMarker('pumice')(optionalhook=True)"
    source = body(marker, "def of_the_future(self, what): ...")
    site.install("pumice-broken", source, plugins={"broken": "Broken"})
    assert Catalog().load("plugin", "broken").points == ()


def test_an_undecorated_method_named_like_a_hook_is_a_warning(catalog):
    class Forgetful(Plugin):
        def job_order(self, left, right):
            return 0

        @hookimpl
        def job_valid(self, job):
            return None

    catalog.register_local("plugin", "forgetful", Forgetful)
    loaded = catalog.load("plugin", "forgetful")
    assert loaded.points == ("job_valid",)
    (warning,) = loaded.warnings
    assert "job_order" in warning
    assert "@hookimpl" in warning


def test_two_distributions_that_claim_a_name_are_both_named(site):
    site.install("pumice-left", SPREAD, version="1.1", plugins={"spread": "Spread"})
    site.install("pumice-right", SPREAD, version="2.2", plugins={"spread": "Spread", "b": "Spread"})
    catalog = Catalog()
    with pytest.raises(LoadError, match=r"pumice-left 1\.1 .* and pumice-right 2\.2"):
        catalog.load("plugin", "spread")
    assert catalog.load("plugin", "b").name == "b"
    assert len(catalog.problems()) == 1


def test_a_broken_distribution_does_not_affect_the_others(site):
    site.install("pumice-broken", "1 / 0", plugins={"aaa": "Broken"})
    site.install("pumice-spread", SPREAD, plugins={"spread": "Spread"})
    catalog = Catalog()
    lines = {line.installed.name: line for line in catalog.listing("plugin")}
    assert "ZeroDivisionError" in str(lines["aaa"].error)
    assert lines["spread"].loaded is not None
    assert [str(error) for error in catalog.problems()] == [str(lines["aaa"].error)]


def test_an_action_needs_execute(catalog):
    class Idle(Action):
        pass

    class Busy(Action):
        def execute(self, session):
            pass

    catalog.register_local("action", "idle", Idle)
    catalog.register_local("action", "busy", Busy)
    assert catalog.load("action", "busy").cls is Busy
    with pytest.raises(LoadError, match="execute"):
        catalog.load("action", "idle")


def test_an_unknown_name_suggests_the_nearest(site):
    site.install("pumice-spread", SPREAD, plugins={"spread": "Spread"})
    catalog = Catalog()
    assert catalog.nearest("plugin", "Spraed") == "spread"
    assert catalog.nearest("plugin", "zzz") is None
    with pytest.raises(LoadError, match="no plugin named 'spred'") as caught:
        catalog.load("plugin", "spred")
    assert "'spread' (pumice-spread 1.0)" in caught.value.hint


def test_a_local_class_hides_an_installed_one(site):
    site.install("pumice-spread", SPREAD, plugins={"spread": "Spread"})
    catalog = Catalog()

    class Mine(Plugin):
        pass

    catalog.register_local("plugin", "spread", Mine)
    assert catalog.load("plugin", "spread").cls is Mine
    assert catalog.load("plugin", "spread").source.label == "local"
    assert catalog.names("plugin") == ["spread"]


def test_loading_a_policy_imports_only_what_it_names(site, tmp_path):
    action = """
        from pumice import Action
        class Go(Action):
            def execute(self, session): pass
    """
    site.install("used-plugin", SPREAD, plugins={"used-one": "Spread"})
    site.install("idle-plugin", SPREAD, plugins={"idle-one": "Spread"})
    site.install("used-action", action, actions={"used-go": "Go"})
    site.install("idle-action", action, actions={"idle-go": "Go"})
    policy = tmp_path / "policy.toml"
    policy.write_text('actions = ["used-go"]\n[[tiers]]\nplugins = ["used-one"]\n')
    probe = f"""
import json, sys
from pumice.config import load_policy
load_policy({str(policy)!r}, env={{}})
print(json.dumps(sorted(sys.modules)))
"""
    paths = [str(site.folder), *sys.path]
    done = subprocess.run(
        [sys.executable, "-c", probe],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(path for path in paths if path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    modules = json.loads(done.stdout)
    assert {"used_plugin", "used_action"} <= set(modules)
    # What declares extension points is always imported: others may implement or ask them.
    unnamed = [m for m in modules if m.startswith(("idle_", "pumice_")) and m != "pumice_drain"]
    assert not unnamed
    assert "rich" not in modules
    assert "click" not in modules


def test_a_class_is_checked_once_for_all_catalogs_with_the_same_hookspecs(monkeypatch):
    checked = []
    real = _check._check_hooks

    def check_hooks(name, *rest):
        checked.append(name)
        real(name, *rest)

    monkeypatch.setattr(_check, "_check_hooks", check_hooks)

    class Own(Plugin):
        pass

    class Others:
        @extension_point(combine.All())
        def own_point(self):
            """A point of this test."""

    for specs in (None, None, Others):
        catalog = Catalog()
        if specs:
            catalog.register_local("hookspecs", "others", specs)
        catalog.register_local("plugin", "own", Own)
        catalog.load("plugin", "own")
    assert checked == ["own", "own"]
