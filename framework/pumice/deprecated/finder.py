"""Makes the old names of :mod:`pumice.deprecated.moves` importable, each use with a warning.

``import pumice`` registers one finder. It answers for the modules in the tables and for no other,
so a program that uses no old name pays one dictionary lookup for each module that it imports.
"""

from __future__ import annotations

import functools
import sys
import warnings
from collections.abc import Callable, Sequence
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import TYPE_CHECKING, Any

from pumice.deprecated import next_minor
from pumice.deprecated.moves import MOVES, Moves

if TYPE_CHECKING:
    from importlib.abc import Loader
else:
    Loader = object  # importlib.abc takes longer to import than all the rest of ``import pumice``

FACADES = ("pumice.solver", "pumice.kube", "pumice.gpu", "pumice.gang", "pumice.manifests")
"""Public modules besides ``pumice``: a warning names the place that authors import from."""


def install() -> None:
    """Register the finder, once."""
    if not any(isinstance(finder, OldNames) for finder in sys.meta_path):
        sys.meta_path.insert(0, OldNames())


class OldNames:
    """Finds modules under their old names, and adds old names to modules that still exist."""

    def __init__(self, moves: Sequence[Moves] = MOVES) -> None:
        self._moved = {old: (new, m) for m in moves for old, new in m.modules.items()}
        self._changed: dict[str, list[Callable[[ModuleType], None]]] = {}
        for m in moves:
            for old_module in {module for module, _ in m.names} - m.modules.keys():
                self._on_load(old_module, functools.partial(_add_names, m))
            for (module, cls, old), new in m.attributes.items():
                self._on_load(module, functools.partial(_add_attribute, m, cls, old, new))
            for (module, cls, old), new in m.keywords.items():
                self._on_load(module, functools.partial(_add_keyword, m, cls, old, new))

    def _on_load(self, module: str, change: Callable[[ModuleType], None]) -> None:
        self._changed.setdefault(module, []).append(change)

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        moved = self._moved.get(fullname)
        if moved is not None:
            return ModuleSpec(fullname, _MovedLoader(*moved))
        changes = self._changed.get(fullname)
        if changes is None:
            return None
        for finder in sys.meta_path:
            spec = finder.find_spec(fullname, path, target) if finder is not self else None
            if spec is not None:
                if spec.loader is not None:
                    spec.loader = _ChangingLoader(spec.loader, changes)
                return spec
        return None


class MovedModule(ModuleType):
    """A module under its old name: every name that is taken from it comes with a warning."""

    def __init__(self, name: str, new: str, moves: Moves) -> None:
        super().__init__(name, f"Moved to {new}.")
        self.__dict__.update(_new=new, _moves=moves)

    def __getattr__(self, name: str) -> Any:
        if name == "__all__":
            return [n for n in vars(import_module(self._new)) if not n.startswith("_")]
        if name.startswith("__"):
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        return _take(self._moves, self.__name__, name, (self._new, name))


class _MovedLoader(Loader):
    def __init__(self, new: str, moves: Moves) -> None:
        self._new = new
        self._moves = moves

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return MovedModule(spec.name, self._new, self._moves)

    def exec_module(self, module: ModuleType) -> None:
        import_module(self._new)
        # The frames of the import system do not count: 2 is the line with the import.
        _warn(self._moves, f"module {module.__name__!r}", self._new, stack_level=2)


class _ChangingLoader(Loader):
    """Loads a module as its own loader does, then adds its old names."""

    def __init__(self, loader: Loader, changes: Sequence[Callable[[ModuleType], None]]) -> None:
        self._loader = loader
        self._changes = changes

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        # Restored before the module runs: its own loader is what the rest of Python expects there.
        module.__loader__ = self._loader
        if module.__spec__ is not None:
            module.__spec__.loader = self._loader
        self._loader.exec_module(module)
        for change in self._changes:
            change(module)


def _add_names(moves: Moves, module: ModuleType) -> None:
    def __getattr__(name: str) -> Any:  # noqa: N807
        if (module.__name__, name) not in moves.names:
            raise AttributeError(f"module {module.__name__!r} has no attribute {name!r}")
        return _take(moves, module.__name__, name, ("", ""))

    module.__getattr__ = __getattr__  # type: ignore[method-assign]


class _OldAttribute:
    """An attribute of a class under its old name."""

    def __init__(self, moves: Moves, cls: str, old: str, new: str) -> None:
        self._moves = moves
        self._what = f"{cls}.{old}"
        self._now = f"{cls}.{new}"
        self._new = new

    def __get__(self, instance: object, owner: type) -> Any:
        _warn(self._moves, repr(self._what), self._now, stack_level=2)
        return getattr(owner if instance is None else instance, self._new)

    def __set__(self, instance: object, value: object) -> None:
        _warn(self._moves, repr(self._what), self._now, stack_level=2)
        setattr(instance, self._new, value)


def _add_attribute(moves: Moves, cls: str, old: str, new: str, module: ModuleType) -> None:
    setattr(getattr(module, cls), old, _OldAttribute(moves, cls, old, new))


def _add_keyword(moves: Moves, cls: str, old: str, new: str, module: ModuleType) -> None:
    made: Any = getattr(module, cls)
    construct = made.__init__

    @functools.wraps(construct)
    def __init__(self: object, *args: Any, **kwargs: Any) -> None:  # noqa: N807
        if old in kwargs:
            _warn(moves, f"argument {old!r} of {cls}", new, stack_level=2)
            kwargs[new] = kwargs.pop(old)
        construct(self, *args, **kwargs)

    made.__init__ = __init__


def _take(moves: Moves, module: str, name: str, otherwise: tuple[str, str]) -> Any:
    """The object with an old name; warns the caller of the ``__getattr__`` that asks."""
    new_module, new_name = moves.names.get((module, name), otherwise)
    try:
        value = getattr(import_module(new_module), new_name)
    except AttributeError:
        raise AttributeError(f"module {module!r} has no attribute {name!r}") from None
    _warn(moves, f"'{module}.{name}'", public_path(new_module, new_name, value), stack_level=3)
    return value


def public_path(module: str, name: str, value: object) -> str:
    """Where authors import an object from: the facade that has it, or else its module."""
    import pumice

    if pumice._HOME.get(name) == module:
        return f"pumice.{name}"
    for facade in FACADES:
        public = import_module(facade)
        if name in public.__all__ and getattr(public, name) is value:
            return f"{facade}.{name}"
    return f"{module}.{name}"


def _warn(moves: Moves, what: str, now: str, stack_level: int) -> None:
    text = f"{what} is {now!r} since {moves.since}; {next_minor(moves.since)} drops the old name"
    warnings.warn(text, DeprecationWarning, stacklevel=stack_level + 1)
