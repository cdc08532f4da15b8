"""Regular expressions from manifests, matched in linear time."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import re2

_OPTIONS = re2.Options()
_OPTIONS.log_errors = False


@lru_cache(maxsize=1024)
def pattern(text: str) -> Any:
    """The compiled expression, with the methods ``search``, ``match`` and ``fullmatch``.

    The syntax is RE2's, which is that of Go and so of Kubernetes, Volcano, KAI and CEL: there are
    no backreferences and no lookarounds, and no expression takes exponential time.

    :raises ValueError: it is not a regular expression of that syntax.
    """
    try:
        return re2.compile(text, _OPTIONS)
    except re2.error as error:
        reason = error.args[0] if error.args else error
        raise ValueError(
            reason.decode(errors="replace") if isinstance(reason, bytes) else str(reason)
        ) from None
    except UnicodeEncodeError:
        raise ValueError("it contains half of a surrogate pair") from None
