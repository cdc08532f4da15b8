"""Reports in the background: the last one about a thing is the one that stays."""

from __future__ import annotations

import asyncio

from pumice_kubernetes.client import Client
from pumice_kubernetes.writer import Writer


async def send(client: Client) -> list[int]:
    """The order in which reports about one thing end, of which the first one is slow."""
    writer = Writer(client)
    done: list[int] = []

    def report(number: int, seconds: float) -> None:
        async def write() -> None:
            await asyncio.sleep(seconds)
            done.append(number)

        writer._put("queue", "red", write)

    worker = asyncio.create_task(writer.run())
    report(1, 0.1)
    await asyncio.sleep(0.01)
    report(2, 0)
    report(3, 0)
    await writer.drained()
    worker.cancel()
    return done


def test_a_report_does_not_overtake_an_earlier_one_about_the_same_thing() -> None:
    assert asyncio.run(send(None)) == [1, 3]  # type: ignore[arg-type] # no request is sent


async def send_beside_binds() -> tuple[int, int]:
    """How many reports are under way while binds are sent, and afterwards."""
    writer, going = Writer(None, workers=4), 0  # type: ignore[arg-type] # no request is sent

    async def write() -> None:
        nonlocal going
        going += 1
        await asyncio.sleep(60)

    writer.calm.clear()
    worker = asyncio.create_task(writer.run())
    for number in range(8):
        writer._put("event", str(number), write)
    await asyncio.sleep(0.05)
    during = going
    writer.calm.set()
    await asyncio.sleep(0.05)
    worker.cancel()
    return during, going


def test_while_binds_are_sent_one_report_at_a_time_is() -> None:
    assert asyncio.run(send_beside_binds()) == (1, 4)
