"""Policies written with another scheduler's names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pumice._nearest import did_you_mean
from pumice.config.importers.kai.translate import translate_kai
from pumice.config.importers.volcano.policy import translate_volcano
from pumice.discovery import Catalog
from pumice.errors import PumiceError

DIALECTS = ("pumice", "volcano", "kai")


def translate(
    config: Mapping[str, Any],
    dialect: str = "pumice",
    *,
    where: str = "policy",
    catalog: Catalog | None = None,
) -> dict[str, Any]:
    """The configuration with Pumice's names.

    Volcano's names are the same; a part in the format of Volcano's own file is imported. Option
    values may be strings: each is converted to the type of its option.
    """
    if dialect not in DIALECTS:
        raise PumiceError(
            f"{where}: there is no dialect {dialect!r}{did_you_mean(dialect, DIALECTS)}",
            hint=f"dialects: {', '.join(DIALECTS)}",
        )
    if dialect == "kai":
        return translate_kai(config, where=where)
    if dialect == "volcano":
        return translate_volcano(config, where=where, catalog=catalog)
    return dict(config)
