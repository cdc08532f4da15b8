"""Reads the text of another scheduler's configuration."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pumice._bounded import TextError, yaml_documents
from pumice.errors import PolicyError


def read_configuration(text: str, where: str, *, may_be_empty: bool = False) -> Mapping[str, Any]:
    """The configuration in YAML text, which may be inside a ConfigMap.

    :raises PolicyError: the text has no configuration.
    """
    try:
        documents = [document for _, document in yaml_documents(text.encode(), timestamps=True)]
        if len(documents) > 1:
            raise TextError("expected a single document in the stream")
    except TextError as error:
        raise PolicyError(where, [error.at(where)]) from None
    data = documents[0] if documents else None
    if isinstance(data, Mapping) and data.get("kind") == "ConfigMap":
        inner = _from_config_map(data, where)
        return read_configuration(inner, where, may_be_empty=may_be_empty)
    if data is None and may_be_empty:
        return {}
    if not isinstance(data, Mapping):
        raise PolicyError(where, [f"{where}: a configuration should be a table of YAML"])
    return data


def _from_config_map(data: Mapping[str, Any], where: str) -> str:
    entries = data.get("data")
    items = entries.items() if isinstance(entries, Mapping) else ()
    texts = {str(key): text for key, text in items if isinstance(text, str)}
    named = {key: text for key, text in texts.items() if key.endswith(".conf")} or texts
    if len(named) != 1:
        listed = " and ".join(named) or "none"
        raise PolicyError(
            where, [f"{where}: data: a ConfigMap should have one configuration, not {listed}"]
        )
    return next(iter(named.values()))
