"""The method of a new plugin, generated from the spec of its extension point."""

from __future__ import annotations

import ast
import inspect
import re
import sys
import textwrap
import tomllib
from collections.abc import Iterable
from importlib.resources import files

import pumice
from pumice.hookspecs import ExtensionPoint

_WIDTH = 100
_INDENT = "    "
_WORD = re.compile(r"[A-Za-z_]\w*")


def policy(points: Iterable[ExtensionPoint]) -> tuple[list[str], list[str]]:
    """Actions that ask the first of these points that few actions ask, and plugins beside it."""
    policies = special_policies()
    chosen = next((policies[p.name] for p in points if p.name in policies), policies[""])
    return chosen["actions"], chosen["plugins"]


def special_policies() -> dict[str, dict[str, list[str]]]:
    """The policy of each point that the usual one (of the empty name) does not ask."""
    text = files("pumice").joinpath("templates", "policies.toml").read_text(encoding="utf-8")
    return {point: table for table in tomllib.loads(text)["policy"] for point in table["points"]}


def signature(point: ExtensionPoint) -> str:
    """The ``def`` line of a method, with types, wrapped like a formatter does."""
    arguments, answer = _parts(point)
    head = f"{_INDENT}def {point.name}("
    line = f"{head}{', '.join(['self', *arguments])}) -> {answer}:"
    if len(line) <= _WIDTH:
        return line
    inner = f"{_INDENT * 2}{', '.join(['self', *arguments])}"
    if len(inner) > _WIDTH:
        inner = "\n".join(f"{_INDENT * 2}{argument}," for argument in ["self", *arguments])
    return f"{head}\n{inner}\n{_INDENT}) -> {answer}:"


def docstring(point: ExtensionPoint) -> str:
    """The summary of the point as the method's docstring."""
    line = f'{_INDENT * 2}"""{point.summary}"""'
    if len(line) <= _WIDTH:
        return line
    opening = f'{_INDENT * 2}"""'
    wrapped = textwrap.wrap(
        point.summary, _WIDTH - 3, initial_indent=opening, subsequent_indent=_INDENT * 2
    )
    return "\n".join([*wrapped, f'{_INDENT * 2}"""'])


def method(point: ExtensionPoint) -> str:
    """A method that answers a point and has no opinion."""
    parts = (f"{_INDENT}@hookimpl", signature(point), docstring(point), no_opinion(point))
    return "\n".join(part for part in parts if part)


def no_opinion(point: ExtensionPoint) -> str:
    """The statement that returns no opinion; empty where no answer is expected."""
    return "" if _parts(point)[1] == "None" else f"{_INDENT * 2}return None"


def imports(points: Iterable[ExtensionPoint], specs: Iterable[type]) -> str:
    """Import statements for a plugin and for the types in the signatures."""
    modules: dict[str, set[str]] = {"pumice": {"Plugin", "hookimpl"}}
    whole = set()
    for point, spec in zip(points, specs, strict=True):
        arguments, answer = _parts(point)
        origins = _origins(spec)
        for word in _WORD.findall(" ".join([*(a.partition(":")[2] for a in arguments), answer])):
            module, name = origins.get(word, ("", ""))
            if word in pumice.__all__ and module.startswith("pumice."):
                modules["pumice"].add(word)
            elif module and name:
                modules.setdefault(module, set()).add(word)
            elif module:
                whole.add(f"import {module} as {word}" if module != word else f"import {module}")
    return _sorted_imports(modules, whole)


def _sorted_imports(modules: dict[str, set[str]], whole: Iterable[str]) -> str:
    blocks: list[list[str]] = [[], sorted(whole)]
    for module, names in sorted(modules.items()):
        standard = module.partition(".")[0] in sys.stdlib_module_names
        blocks[0 if standard else 1].append(f"from {module} import {', '.join(sorted(names))}")
    return "\n\n".join("\n".join(block) for block in blocks if block)


def _parts(point: ExtensionPoint) -> tuple[list[str], str]:
    """The arguments and the return type of a point as text, without private types."""
    function = ast.parse(f"def {point.signature}: ...").body[0]
    assert isinstance(function, ast.FunctionDef)
    arguments = [ast.unparse(argument) for argument in function.args.args]
    answer = ast.unparse(function.returns) if function.returns is not None else "None"
    public = [part for part in answer.split(" | ") if not part.startswith("_")]
    return arguments, " | ".join(public)


def _origins(spec: type) -> dict[str, tuple[str, str]]:
    """The imports in the module of a spec class: name → (module, name) or (module, "")."""
    module = inspect.getmodule(spec)
    if module is None:
        return {}
    origins: dict[str, tuple[str, str]] = {}
    for node in ast.walk(ast.parse(inspect.getsource(module))):
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            for alias in node.names:
                origins[alias.asname or alias.name] = (node.module, alias.name)
        elif isinstance(node, ast.Import):
            for alias in node.names:
                origins[alias.asname or alias.name] = (alias.name, "")
    return origins
