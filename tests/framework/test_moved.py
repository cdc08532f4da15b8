"""What could be imported in 0.1 can be imported until 0.3, with a warning that names its place."""

import ast
import inspect
import json
import subprocess
import sys
import textwrap
import warnings
from importlib import import_module
from pathlib import Path

import pytest

import pumice
from pumice.deprecated import next_minor
from pumice.deprecated.finder import OldNames
from pumice.deprecated.moves import MOVES

ROOT = Path(__file__).resolve().parents[2]
BEFORE = json.loads(Path(__file__).with_name("importable_0_1.json").read_text())
"""Module → name → public attributes (of the classes whose attributes are public) in 0.1."""

MODULES = [(m, old, new) for m in MOVES for old, new in m.modules.items()]
NAMES = [(m, *old, *new) for m in MOVES for old, new in m.names.items()]
ATTRIBUTES = [(m, *old, new) for m in MOVES for old, new in m.attributes.items()]
REMOVED = {old for m in MOVES for old in m.removed}
KEYWORDS = [(m, *old, new) for m in MOVES for old, new in m.keywords.items()]


def old_module(name: str):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        return import_module(name)


def has_attribute(cls: type, name: str) -> bool:
    """Whether instances have an attribute: of the class, annotated, or assigned by a method."""
    for base in cls.__mro__[:-1]:
        if name in base.__dict__ or name in inspect.get_annotations(base):
            return True
        tree = ast.parse(textwrap.dedent(inspect.getsource(base)))
        if any(
            isinstance(node, ast.Attribute)
            and isinstance(node.ctx, ast.Store)
            and node.attr == name
            and isinstance(node.value, ast.Name)
            and node.value.id == "self"
            for node in ast.walk(tree)
        ):
            return True
    return False


@pytest.mark.parametrize("module", BEFORE)
def test_whatever_0_1_had_can_be_imported(module):
    found = old_module(module)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        missing = [name for name in BEFORE[module] if not hasattr(found, name)]
        missing += [
            f"{name}.{attribute}"
            for name, attributes in BEFORE[module].items()
            for attribute in attributes
            if name not in missing
            and (module, f"{name}.{attribute}") not in REMOVED
            and not has_attribute(getattr(found, name), attribute)
        ]
    missing = [name for name in missing if (module, name) not in REMOVED]
    assert not missing, "put what it is called now into pumice/deprecated/moves.py"


@pytest.mark.parametrize("moves, old, new", MODULES, ids=[old for _, old, _ in MODULES])
def test_a_moved_module_has_the_names_of_the_new_one(moves, old, new, recwarn):
    sys.modules.pop(old, None)
    import_module(old)
    first = recwarn.pop(DeprecationWarning)
    gone = next_minor(moves.since)
    assert str(first.message) == (
        f"module {old!r} is {new!r} since {moves.since}; {gone} drops the old name"
    )
    assert not (ROOT / "framework" / Path(*old.split("."))).with_suffix(".py").exists()
    new_module = import_module(new)
    name = next(n for n in vars(new_module) if not n.startswith("_") and n != "annotations")
    assert getattr(old_module(old), name) is getattr(new_module, name)


def test_the_warning_is_at_the_line_that_imports(tmp_path, recwarn):
    sys.modules.pop("pumice.session.chunks", None)
    plugin = tmp_path / "plugin.py"
    plugin.write_text("\nfrom pumice.session.chunks import (\n    Chunks,\n)\n")
    exec(compile(plugin.read_text(), str(plugin), "exec"), {})
    warned = {(Path(w.filename).name, w.lineno, str(w.message)) for w in recwarn}
    end = "since 0.2; 0.3 drops the old name"
    assert warned == {
        ("plugin.py", 2, f"module 'pumice.session.chunks' is 'pumice.solver.task_batches' {end}"),
        ("plugin.py", 2, f"'pumice.session.chunks.Chunks' is 'pumice.solver.TaskBatches' {end}"),
    }


def test_a_second_importer_is_warned_too():
    old_module("pumice.labels")
    with pytest.warns(DeprecationWarning, match=r"is 'pumice.kube.matches_selector'") as caught:
        from pumice.labels import matches_selector  # noqa: F401
    assert {w.filename for w in caught} == {__file__}


def test_the_stars_of_a_moved_module_are_those_of_the_new_one():
    taken: dict = {}
    with pytest.warns(DeprecationWarning, match="drops the old name"):
        exec("from pumice.labels import *", taken)
    assert taken["matches_selector"] is import_module("pumice.kube").matches_selector


@pytest.mark.parametrize(
    "moves, module, name, new_module, new_name",
    NAMES,
    ids=[f"{module}.{name}" for _, module, name, _, _ in NAMES],
)
def test_a_renamed_name_gives_the_new_one(moves, module, name, new_module, new_name):
    old = old_module(module)
    with pytest.warns(DeprecationWarning, match=rf"'{module}\.{name}' is 'pumice\.") as caught:
        value = getattr(old, name)
    assert value is getattr(import_module(new_module), new_name)
    assert caught[0].filename == __file__


@pytest.mark.parametrize(
    "moves, module, cls, old, new", ATTRIBUTES, ids=[f"{c}.{a}" for _, _, c, a, _ in ATTRIBUTES]
)
def test_a_renamed_attribute_gives_and_sets_the_new_one(moves, module, cls, old, new):
    owner = getattr(import_module(module), cls)
    assert has_attribute(owner, new)
    stand_in = type("StandIn", (), {old: owner.__dict__[old], new: 1})()
    text = f"'{cls}.{old}' is '{cls}.{new}' since"
    with pytest.warns(DeprecationWarning, match=text) as got:
        assert getattr(stand_in, old) == 1
    with pytest.warns(DeprecationWarning, match=text) as was_set:
        setattr(stand_in, old, 2)
    assert getattr(stand_in, new) == 2
    assert [w.filename for w in (*got, *was_set)] == [__file__, __file__]


@pytest.mark.parametrize("moves, module, cls, old, new", KEYWORDS)
def test_a_renamed_keyword_exists_under_the_new_name(moves, module, cls, old, new):
    made = getattr(import_module(module), cls)
    names = inspect.signature(made).parameters
    assert new in names
    assert old not in names
    needed = [
        p for p in names.values() if p.default is p.empty and p.kind is p.POSITIONAL_OR_KEYWORD
    ]
    with (
        pytest.warns(DeprecationWarning, match=f"argument '{old}' of {cls} is '{new}'"),
        pytest.raises(TypeError, match=r"missing|positional"),
    ):
        made(*[None] * (len(needed) + len(names) + 1), **{old: True})


def test_a_name_that_never_was_is_an_attribute_error():
    with pytest.raises(AttributeError, match=r"'pumice.labels' has no attribute 'nonsense'"):
        _ = old_module("pumice.labels").nonsense
    with pytest.raises(AttributeError, match=r"'pumice.solver' has no attribute 'nonsense'"):
        _ = import_module("pumice.solver").nonsense
    with pytest.raises(ModuleNotFoundError):
        import_module("pumice.session.nonsense")


def test_no_move_outlives_its_minor_version():
    version = tuple(int(part) for part in pumice.__version__.split(".")[:2])
    gone = [
        moves.since
        for moves in MOVES
        if tuple(int(part) for part in next_minor(moves.since).split(".")) <= version
    ]
    assert not gone, "remove them from pumice.deprecated.moves, and say so in the changelog"


def test_the_finder_is_registered_once_and_answers_for_the_tables_only():
    finders = [finder for finder in sys.meta_path if isinstance(finder, OldNames)]
    assert len(finders) == 1
    assert finders[0].find_spec("json") is None
    assert finders[0].find_spec("pumice.scheduler") is None


def test_importing_pumice_imports_nothing_heavy():
    code = "import sys, pumice; print({'numpy', 'pluggy', 'pydantic'} & sys.modules.keys())"
    shown = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout
    assert shown.strip() == "set()"


def test_pages_and_templates_use_no_old_attribute():
    texts = [
        path
        for folder in ("docs", "framework/pumice/templates")
        for path in (ROOT / folder).rglob("*")
        if path.suffix in (".md", ".tmpl") and path.name != "changelog.md"
    ]
    assert texts
    used = [
        f"{path.name}: {cls.lower()}.{old}"
        for path in texts
        for _, _, cls, old, _ in ATTRIBUTES
        if f"{cls.lower()}.{old}" in path.read_text(encoding="utf-8")
    ]
    assert not used


@pytest.mark.parametrize("preset", ["pumice", "volcano", "kai"])
def test_the_repository_uses_no_old_name(preset):
    """All modules of the framework and the built-ins, and a cycle with every preset."""
    code = f"""
import pkgutil, warnings
warnings.filterwarnings("error", category=DeprecationWarning, message=".*drops the old name")
import pumice, pumice_builtin_plugins, pumice_builtin_actions
for package in (pumice, pumice_builtin_plugins, pumice_builtin_actions):
    for module in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
        __import__(module.name)
from pumice.cli import main
main(["run", "docs/examples/demo", "--preset", "{preset}", "--check", "-o", "json"])
"""
    ran = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    assert json.loads(ran.stdout)["cycles"]
