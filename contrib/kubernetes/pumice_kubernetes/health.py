"""The pages for the cluster: is it alive, is it ready, what was measured."""

from __future__ import annotations

from collections.abc import Callable

from aiohttp import web

from pumice import PumiceError
from pumice_kubernetes.metrics import Metrics


async def serve(
    listen: str, metrics: Metrics, alive: Callable[[], str], ready: Callable[[], str]
) -> web.AppRunner:
    """Serve ``/healthz``, ``/readyz`` and ``/metrics``.

    ``alive`` and ``ready`` say what is wrong, or nothing. A standby is ready, too.
    """
    host, _, port = listen.rpartition(":")
    if not port.isdigit():
        raise PumiceError(f"listen: {listen!r} is not host:port", hint="example: 0.0.0.0:8080")

    def page(check: Callable[[], str]) -> Callable[[web.Request], object]:
        async def answer(_: web.Request) -> web.Response:
            problem = check()
            return web.Response(text=problem or "ok", status=503 if problem else 200)

        return answer

    async def measured(_: web.Request) -> web.Response:
        kind = "text/plain; version=0.0.4; charset=utf-8"
        return web.Response(body=metrics.text(), headers={"Content-Type": kind})

    app = web.Application()
    app.router.add_get("/healthz", page(alive))  # type: ignore[arg-type]
    app.router.add_get("/readyz", page(ready))  # type: ignore[arg-type]
    app.router.add_get("/metrics", measured)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    try:
        await web.TCPSite(runner, host or "127.0.0.1", int(port)).start()
    except OSError as error:
        raise PumiceError(f"listen: {listen} cannot be used: {error}") from None
    return runner
