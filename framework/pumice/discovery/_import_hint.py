"""Hints for import errors."""

from __future__ import annotations

from pumice.discovery._scan import Kind
from pumice.discovery._source import Source


def import_hint(kind: Kind, source: Source, error: BaseException) -> str:
    """How to fix an entry point that cannot be imported."""
    module, _, attribute = source.entry_point.partition(":")
    if isinstance(error, ModuleNotFoundError) and error.name:
        if f"{module}.".startswith(f"{error.name}."):
            return f"the entry point names a module that does not exist: {module}"
        return f"{source.distribution} needs the module {error.name!r}: install it"
    if isinstance(error, AttributeError) and error.name == attribute.partition(".")[0]:
        return f"the entry point names {attribute!r}, which {module} does not have"
    if isinstance(error, TypeError) and "hookimpl() got an unexpected keyword" in str(error):
        return "@hookimpl takes only scope; the policy's tiers order plugins"
    if isinstance(error, TypeError) and "extension_point() missing" in str(error):
        return "give the combination rule, as in @extension_point(combine=pumice.combine.First())"
    return (
        f"run again with --debug to see where, or uninstall {source.distribution} "
        f"if the {kind} is not needed"
    )
