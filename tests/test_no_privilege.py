"""The built-ins have no privilege: they import what every author may, and the framework knows none
of them by name."""

import ast
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from pumice.cli import _stub
from pumice.hookspecs import POINTS, SPECS

ROOT = Path(__file__).resolve().parent.parent
FRAMEWORK = ROOT / "framework" / "pumice"
PUBLIC = {
    "pumice",
    "pumice.combine",
    "pumice.gang",
    "pumice.gpu",
    "pumice.kube",
    "pumice.manifests",
    "pumice.solver",
    "pumice.testing",
}
SOURCES = sorted(
    path
    for folder in ("builtin_plugins", "builtin_actions", "contrib")
    for path in (ROOT / folder).rglob("*.py")
    # Tests of a contribution may run the command.
    if not path.name.startswith("test_") and ".venv" not in path.parts
)

EXCEPTIONS = {
    "config/importers/": "translates the configuration of Volcano or KAI, which names its plugins",
    "scenarios/params.py": "KAI's parameters in scenario files, by KAI's names",
    "session/domains.py": "`allocate` is a purpose for which hypernodes are asked for",
    "session/operations.py": "`allocate` is an operation of a statement",
    "testing/outcome.py": "`allocate` is an event of the ledger",
    "testing/schedule.py": "the actions that the test kit runs where a test names none",
}
"""Where the framework may name a built-in, and why. Presets are TOML files and are not read."""
WORDS = {
    "gang": "a level of an explanation",
    "priority": "an attribute of tasks, jobs and queues",
    "snapshot": "the method of a backend",
    "topology": "a field of KAI's topology constraint",
}
"""Names of built-ins that are words of the model as well: a string does not say which is meant."""


def entry_points() -> set[str]:
    names: set[str] = set()
    for folder in ("builtin_plugins", "builtin_actions"):
        project = tomllib.loads((ROOT / folder / "pyproject.toml").read_text())["project"]
        for group in ("pumice.plugins", "pumice.actions"):
            names |= project["entry-points"].get(group, {}).keys()
    return names


def imports(tree: ast.AST) -> Iterator[tuple[int, str, str]]:
    """(line, module, name) of every import; the name is empty for ``import module``."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name, "") for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield from ((node.lineno, node.module or "", alias.name) for alias in node.names)


def is_public(module: str, name: str) -> bool:
    """Whether an import takes something of a documented module, or the module itself."""
    if module != "pumice" and not module.startswith("pumice."):
        return True
    return module in PUBLIC and not (name.startswith("_") and name != "__version__")


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_builtins_and_contributions_import_documented_modules_only(path):
    tree = ast.parse(path.read_text(encoding="utf-8"))
    private = [
        f"{path.name}:{line} {module} {name}".rstrip()
        for line, module, name in imports(tree)
        if not is_public(module, name)
    ]
    assert not private, "put what is missing into the facade, or do without"


def test_what_they_import_is_exported():
    """Not only from a documented module: by its ``__all__``."""
    import importlib

    missing = []
    for path in SOURCES:
        for _, module, name in imports(ast.parse(path.read_text(encoding="utf-8"))):
            if module in PUBLIC and name:
                loaded = importlib.import_module(module)
                known = {*loaded.__all__, *(p.rpartition(".")[2] for p in PUBLIC)}
                if name not in known:
                    missing.append(f"{path.name}: {module}.{name}")
    assert not missing


def strings(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """String literals in code, without docstrings."""
    texts = {
        id(statement.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
        for statement in node.body
        if isinstance(statement, ast.Expr)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in texts:
            yield node.lineno, node.value


def named_builtins() -> list[tuple[str, int, str]]:
    """(file, line, name) of every string in the framework that is the name of a built-in."""
    names = entry_points() - WORDS.keys()
    return [
        (str(path.relative_to(FRAMEWORK)), line, text)
        for path in sorted(FRAMEWORK.rglob("*.py"))
        for line, text in strings(ast.parse(path.read_text(encoding="utf-8")))
        if text in names
    ]


def test_the_framework_names_no_builtin():
    found = [hit for hit in named_builtins() if not hit[0].startswith(tuple(EXCEPTIONS))]
    assert not found


def test_the_exceptions_are_needed():
    found = {where for where, _, _ in named_builtins()}
    unused = [e for e in EXCEPTIONS if not any(where.startswith(e) for where in found)]
    assert not unused
    assert WORDS.keys() <= entry_points()


def asked_by_name(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """(line, name) where code asks for one plugin or action by its name: ``session.plugins["x"]``,
    ``"x" in session.plugins``, ``session.plugins.get("x")``, ``session.runs("x")``,
    ``entry.name == "x"``."""
    for node in ast.walk(tree):
        given: list[ast.expr] = []
        if isinstance(node, ast.Subscript) and attribute(node.value) == "plugins":
            given = [node.slice]
        elif isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            if any(attribute(side) in {"plugins", "name"} for side in sides):
                given = sides
        elif isinstance(node, ast.Call) and (
            attribute(node.func) == "runs"
            or (isinstance(node.func, ast.Attribute) and attribute(node.func.value) == "plugins")
        ):
            given = node.args
        yield from (
            (node.lineno, part.value)
            for part in given
            if isinstance(part, ast.Constant) and part.value in entry_points()
        )


def attribute(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else ""


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_part_asks_for_another_by_name(path):
    """What a plugin needs of another is an extension point, ``provides``, or a class attribute."""
    assert not list(asked_by_name(ast.parse(path.read_text(encoding="utf-8"))))


@pytest.mark.parametrize(
    "code",
    [
        'session.plugins["gang"]',
        '"gang" in self.session.plugins',
        'session.plugins.get("gang")',
        'session.runs("allocate")',
        '[e for e in policy.actions if e.name == "allocate"]',
    ],
)
def test_asking_by_name_is_noticed(code):
    assert list(asked_by_name(ast.parse(code)))


@pytest.mark.parametrize("point", POINTS)
def test_what_pumice_new_writes_imports_documented_modules_only(point):
    spec = next(spec for spec in SPECS if hasattr(spec, point))
    tree = ast.parse(_stub.imports([POINTS[point]], [spec]))
    assert all(is_public(module, name) for _, module, name in imports(tree))
