"""The web page of a live cluster, beside the loop of cycles."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from pumice.decisions import Decisions
from pumice.errors import PumiceError
from pumice.scheduler import Scheduler


@contextmanager
def live_page(scheduler: Scheduler, address: str, name: str) -> Iterator[Callable[[], Decisions]]:
    """Listen at ``host:port``; yields what runs a cycle and shows it. It answers from the first on.

    :raises PumiceError: the address cannot be used.
    """
    # Imported here: 'pumice run' without a page need not load the server.
    from pumice.cli.serve import VARIABLE, announce
    from pumice.serve.access import Access, choose_token
    from pumice.serve.app import App
    from pumice.serve.history import History
    from pumice.serve.server import Server

    host, _, port = address.rpartition(":")
    host = host.strip("[]") or "127.0.0.1"
    if not port.isdigit() or int(port) > 65535:
        raise PumiceError(
            f"--serve: {address!r} is not host:port", hint="example: --serve 127.0.0.1:8642"
        )
    token = choose_token(host, os.environ.get(VARIABLE))
    history = History(scheduler, live=True)
    with Server(host, int(port)) as server:
        about = {"files": [f"backend {name}"], "warnings": []}
        app = App(history, Access(host, server.port, token), about)
        thread = threading.Thread(target=server.serve_forever, name="pumice-page", daemon=True)

        def run_cycle() -> Decisions:
            history.run_cycle()
            if thread.ident is None:
                server.app = app
                thread.start()
            return history.last_decisions

        announce(host, server.port, token, (), err=True)
        try:
            yield run_cycle
        finally:
            if thread.ident is not None:
                server.shutdown()
