"""A browser for the tests of the page: the system's Chromium through Playwright."""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from pumice.serve.access import Access
from pumice.serve.app import App
from pumice.serve.history import History
from pumice.serve.server import Server

NAMES = ("chromium", "chromium-browser", "google-chrome")


def executable() -> str:
    """The browser; skips the test where there is none, unless one is required."""
    found = next(filter(None, map(shutil.which, NAMES)), None)
    if found is None:
        text = f"no browser here: none of {', '.join(NAMES)} is installed (apt install chromium)"
        if os.environ.get("PUMICE_REQUIRE_BROWSER"):
            pytest.fail(f"{text}, but PUMICE_REQUIRE_BROWSER is set")
        pytest.skip(text)
    return found


@contextmanager
def serving(history: History, token: str = "") -> Iterator[str]:
    """The address of a server of these cycles."""
    with Server("127.0.0.1", 0) as server:
        access = Access("127.0.0.1", server.port, token)
        server.app = App(history, access, {"files": ["demo"], "warnings": []})
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.port}/"
        finally:
            server.shutdown()
            thread.join()
