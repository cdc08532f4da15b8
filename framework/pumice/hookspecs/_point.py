"""How a method of a spec class is declared an extension point."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import pluggy

from pumice.combine import Rule

PROJECT = "pumice"
_hookspec = pluggy.HookspecMarker(PROJECT)
_F = TypeVar("_F", bound=Callable[..., Any])
_ATTRIBUTE = "pumice_extension_point"


@dataclass(slots=True, frozen=True)
class ExtensionPoint:
    """One extension point, or another form (vector, key) of one."""

    name: str
    """The name of the hook."""
    args: tuple[str, ...]
    """The names of its arguments, in order."""
    rule: Rule
    """How answers combine."""
    group: str
    """The subject under which it is listed."""
    doc: str
    """Its contract, the spec method's docstring."""
    signature: str
    """Name, arguments and answer as text."""
    form_of: str = ""
    """The point that this is the vector or key form of; it counts as that point."""
    gated: bool = True
    """Whether ``enable`` and ``disable`` of a policy entry apply to it."""
    answer: str = ""
    """The type of an answer, the annotation of the spec method."""
    guards: bool = True
    """Whether an answer can refuse something, so that a plugin that could not be opened counts as
    refusing; False: it is left out."""
    asked: bool = True
    """False for points that no action calls any more: they are declared for completeness."""
    distribution: str = "pumice-framework"
    """The distribution that declares it; empty for one registered in a program."""
    version: str = ""
    """The version of that distribution, where it is not the framework."""

    @property
    def base(self) -> str:
        """The point that this one counts as."""
        return self.form_of or self.name

    @property
    def source(self) -> str:
        """Distribution and version, for people."""
        return f"{self.distribution} {self.version}".strip() or "local"

    @property
    def summary(self) -> str:
        """The first sentence of ``doc``."""
        return " ".join(self.doc.partition("\n\n")[0].split())


def extension_point(
    combine: Rule,
    *,
    form_of: str = "",
    gated: bool = True,
    guards: bool | None = None,
    asked: bool = True,
) -> Callable[[_F], _F]:
    """Declare a method of a spec class as an extension point combined by ``combine``.

    The class is named by an entry point of the group ``pumice.hookspecs``. A method's docstring
    is its contract: when it is called, what the answer means, what the default is. Answers are
    checked by the method's annotation. ``guards`` is whether an answer can refuse something (see
    :attr:`ExtensionPoint.guards`); None: as the rule says.
    """

    def mark(function: _F) -> _F:
        setattr(function, _ATTRIBUTE, (combine, form_of, gated, guards, asked))
        return _hookspec(function)

    return mark


def is_point(function: object) -> bool:
    """Whether a member of a spec class was declared an extension point."""
    return hasattr(function, _ATTRIBUTE)


def read_points(
    spec: type, distribution: str = "pumice-framework", version: str = ""
) -> list[ExtensionPoint]:
    """The extension points that a spec class declares, in the order they stand there."""
    points = []
    for name, function in vars(spec).items():
        if not is_point(function):
            continue
        combine, form_of, gated, guards, asked = getattr(function, _ATTRIBUTE)
        signature = inspect.signature(function)
        parameters = [p for p in signature.parameters.values() if p.name != "self"]
        points.append(
            ExtensionPoint(
                name=name,
                args=tuple(p.name for p in parameters),
                rule=combine,
                group=spec.__name__.removesuffix("Specs").lower(),
                doc=inspect.getdoc(function) or "",
                signature=f"{name}{signature.replace(parameters=parameters)}".replace("'", ""),
                form_of=form_of,
                gated=gated,
                answer=str(signature.return_annotation).strip("'"),
                guards=combine.refuses if guards is None else guards,
                asked=asked,
                distribution=distribution,
                version=version,
            )
        )
    return points
