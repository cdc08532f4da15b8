"""The public names of Pumice and their documentation, read from the source with ``ast``."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pumice
from pumice.hookspecs import POINTS

ROOT = Path(pumice.__file__).parent

MODULES = (
    "pumice",
    "pumice.combine",
    "pumice.solver",
    "pumice.kube",
    "pumice.gpu",
    "pumice.gang",
    "pumice.manifests",
    "pumice.simulation",
    "pumice.traces",
    "pumice.measures",
    "pumice.testing",
)
"""The documented modules: what they export is public, and nothing else is."""


class Place(NamedTuple):
    """Where a name is defined."""

    module: str
    node: ast.stmt
    doc: str


@cache
def tree(module: str) -> ast.Module:
    path = ROOT.joinpath(*module.split(".")[1:])
    source = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    return ast.parse(source.read_text(encoding="utf-8"), str(source))


def _documented(body: list[ast.stmt]) -> Iterator[tuple[ast.stmt, str]]:
    """Statements with the string below them, which is what documents an attribute."""
    for statement, after in zip(body, [*body[1:], None], strict=True):
        doc = ""
        if isinstance(statement, ast.ClassDef | ast.FunctionDef):
            doc = ast.get_docstring(statement) or ""
        elif (
            isinstance(after, ast.Expr)
            and isinstance(after.value, ast.Constant)
            and isinstance(after.value.value, str)
        ):
            doc = " ".join(after.value.value.split())
        yield statement, doc


def _top_level(body: list[ast.stmt]) -> Iterator[tuple[ast.stmt, str]]:
    for statement, doc in _documented(body):
        if isinstance(statement, ast.If):  # TYPE_CHECKING
            yield from _top_level(statement.body)
        else:
            yield statement, doc


@cache
def find(module: str, name: str) -> Place:
    """Follow imports to the statement that defines a name."""
    found: Place | None = None
    for statement, doc in _top_level(tree(module).body):
        match statement:
            case ast.ClassDef(name=defined) | ast.FunctionDef(name=defined) if defined == name:
                found = Place(module, statement, doc)
            case ast.Assign(targets=[ast.Name(id=defined)]) if defined == name:
                found = Place(module, statement, doc)
            case ast.AnnAssign(target=ast.Name(id=defined)) if defined == name:
                found = Place(module, statement, doc)
            case ast.ImportFrom(module=str() as source, names=names):
                for alias in names:
                    if (alias.asname or alias.name) == name and source.startswith("pumice"):
                        found = find(source, alias.name)
    if found is None:
        raise LookupError(f"{module} does not define {name}")
    return found


def exported(module: str) -> list[str]:
    """The names in ``__all__``, without modules and the version."""
    for statement in tree(module).body:
        match statement:
            case ast.Assign(targets=[ast.Name(id="__all__")]):
                names = ast.literal_eval(statement.value)
                return [n for n in names if n not in ("combine", "__version__")]
    raise LookupError(f"{module} has no __all__")


@dataclass(slots=True)
class Member:
    """A public attribute or method of a class."""

    name: str
    text: str
    """As it is shown: ``name: type`` or ``name(arguments) -> type``."""
    doc: str
    line: int
    is_method: bool = False


@dataclass(slots=True)
class Entry:
    """One exported name."""

    name: str
    modules: list[str]
    place: Place
    members: list[Member] = field(default_factory=list)
    values: list[str] = field(default_factory=list)
    """The members of an enumeration."""
    inherited: list[tuple[str, list[Member]]] = field(default_factory=list)

    @property
    def kind(self) -> str:
        return {ast.ClassDef: "class", ast.FunctionDef: "function"}.get(
            type(self.place.node), "constant"
        )


def shown(node: ast.expr | None) -> str:
    return ast.unparse(node).replace("'", '"') if node is not None else ""


def signature(function: ast.FunctionDef, *, bound: bool = True) -> str:
    """The arguments and the answer, without ``self``."""
    args = _arguments(function.args, bound)
    returns = f" -> {shown(function.returns)}" if function.returns is not None else ""
    text = re.sub(r"(: [^=:]+?)=(?!=)", r"\1 = ", ast.unparse(args))
    return f"({text}){returns}".replace("'", '"')


def _arguments(args: ast.arguments, bound: bool) -> ast.arguments:
    skip = 1 if bound and args.args and args.args[0].arg in ("self", "cls") else 0
    return ast.arguments(
        posonlyargs=args.posonlyargs,
        args=args.args[skip:],
        vararg=args.vararg,
        kwonlyargs=args.kwonlyargs,
        kw_defaults=args.kw_defaults,
        kwarg=args.kwarg,
        defaults=args.defaults,
    )


def _decorators(function: ast.FunctionDef) -> set[str]:
    return {shown(d).split(".")[-1].split("(")[0] for d in function.decorator_list}


def members(cls: ast.ClassDef) -> list[Member]:
    """Public attributes and methods in the order of the source, each once."""
    found: dict[str, Member] = {}
    for statement, doc in _documented(cls.body):
        match statement:
            case ast.AnnAssign(target=ast.Name(id=name)) if _is_public(name):
                _put(found, name, f"{name}: {_type(statement.annotation)}", doc, statement.lineno)
            case ast.Assign(targets=[ast.Name(id=name)]) if _is_public(name):
                _put(found, name, name, doc, statement.lineno)
            case ast.FunctionDef(name="__init__"):
                for member in _assigned(statement):
                    _put(found, member.name, member.text, member.doc, member.line)
            case ast.FunctionDef(name=name) if _is_public(name):
                decorators = _decorators(statement)
                if decorators & {"property", "cached_property"}:
                    text = f"{name}: {shown(statement.returns)}"
                    _put(found, name, text, doc, statement.lineno)
                elif not decorators & {"overload", "setter", "model_validator"}:
                    text = name + signature(statement, bound="staticmethod" not in decorators)
                    _put(found, name, text, doc, statement.lineno, is_method=True)
            case ast.ClassDef(name=name) if _is_public(name):
                _put(found, name, f"class {name}", doc, statement.lineno)
    return list(found.values())


def _put(
    found: dict[str, Member], name: str, text: str, doc: str, line: int, *, is_method: bool = False
) -> None:
    known = found.get(name)
    if known is None:
        found[name] = Member(name, text, doc, line, is_method)
    else:
        known.doc = known.doc or doc
        known.text = known.text if ":" in known.text else text


def _is_public(name: str) -> bool:
    return not name.startswith("_") and name != "model_config"


def _type(annotation: ast.expr) -> str:
    text = shown(annotation)
    return re.sub(r"^ClassVar\[(.*)\]$", r"\1", text)


def _assigned(init: ast.FunctionDef) -> Iterator[Member]:
    """What a constructor sets on ``self``; the type may be that of an argument."""
    arguments = [*init.args.posonlyargs, *init.args.args, *init.args.kwonlyargs]
    types = {argument.arg: argument.annotation for argument in arguments}
    for statement, doc in _documented(init.body):
        annotation: ast.expr | None = None
        targets: list[ast.expr] = []
        match statement:
            case ast.AnnAssign():
                targets, annotation = [statement.target], statement.annotation
            case ast.Assign():
                targets = statement.targets
                if isinstance(statement.value, ast.Name):
                    annotation = types.get(statement.value.id)
        for target in _flat(targets):
            match target:
                case ast.Attribute(value=ast.Name(id="self"), attr=name) if _is_public(name):
                    kind = shown(annotation)
                    if annotation is None and isinstance(statement, ast.Assign):
                        kind = _guess(statement.value)
                    text = f"{name}: {kind}" if kind else name
                    yield Member(name, text, doc, statement.lineno)


def _flat(targets: Iterable[ast.expr]) -> Iterator[ast.expr]:
    for target in targets:
        if isinstance(target, ast.Tuple):
            yield from _flat(target.elts)
        else:
            yield target


def _guess(value: ast.expr) -> str:
    match value:
        case ast.Constant(value=bool() | int() | float() | str() as constant):
            return type(constant).__name__
        case ast.Call(func=ast.Name(id=name)) if name[0].isupper():
            return name
        case ast.Dict() | ast.DictComp():
            return "dict"
        case ast.List() | ast.ListComp():
            return "list"
        case ast.Set() | ast.SetComp():
            return "set"
        case ast.Compare():
            return "bool"
    return ""


def _is_enum(cls: ast.ClassDef) -> bool:
    return any("Enum" in shown(base) for base in cls.bases)


@cache
def entries() -> tuple[Entry, ...]:
    """All exported names, each once, with the modules that export it."""
    found: dict[tuple[str, str], Entry] = {}
    for module in MODULES:
        for name in exported(module):
            place = find(module, name)
            key = (place.module, name)
            if key in found:
                found[key].modules.append(module)
                continue
            entry = found[key] = Entry(name, [module], place)
            if isinstance(place.node, ast.ClassDef):
                _fill(entry, place.node)
    return tuple(found.values())


def _fill(entry: Entry, cls: ast.ClassDef) -> None:
    if _is_enum(cls):
        entry.values = [
            statement.targets[0].id
            for statement in cls.body
            if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name)
        ]
        entry.members = [m for m in members(cls) if m.name not in entry.values]
        return
    entry.members = [member for member in members(cls) if _is_shown(entry, member)]
    for base in cls.bases:
        name = shown(base).split("[")[0]
        try:
            place = find(entry.place.module, name)
        except LookupError:
            continue
        if isinstance(place.node, ast.ClassDef):
            more = members(place.node)
            # An override without a docstring of its own is what the base says it is.
            known = {member.name for member in more if member.doc}
            entry.members = [m for m in entry.members if m.doc or m.name not in known]
            own = {member.name for member in entry.members}
            if more := [m for m in more if m.name not in own]:
                entry.inherited.append((name, more))


def _is_shown(entry: Entry, member: Member) -> bool:
    """Whether the page lists a member: extension points have a page, contract tests a name."""
    if entry.name == "Dispatch":
        return member.name not in POINTS
    return not member.name.startswith("test_")


def without_doc(entry: Entry) -> list[Member]:
    """The members that have no line."""
    return [member for member in entry.members if not member.doc]


def undocumented() -> list[str]:
    """Exported names and public members without a line."""
    missing = []
    for entry in entries():
        if not entry.place.doc:
            missing.append(f"{entry.place.module}:{entry.place.node.lineno} {entry.name}")
        missing += [
            f"{entry.place.module}:{member.line} {entry.name}.{member.name}"
            for member in without_doc(entry)
        ]
    return missing
