"""Leading, term after term: the shape that programs with one acting replica share.

A term begins when the lease is ours and ends when it is lost or the program stops. The work of a term is cancelled then
and has a moment to end; the lease is handed over after it, never before.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from ecotone.kube.lease import Elector
from ecotone.services.running import first

TERM_END_SECONDS = 2.0

Work = Callable[[], Awaitable[None]]


async def lead(elector: Elector | None, work: Work, *, stopping: asyncio.Event) -> None:
    """Runs ``work`` in every term until ``stopping``; without an elector there is one term and it never ends."""
    stopped = asyncio.ensure_future(stopping.wait())
    try:
        while not stopping.is_set():
            if elector is None:
                await _term(work, [stopped])
            else:
                await _elected(elector, work, stopped)
    finally:
        stopped.cancel()


async def _elected(elector: Elector, work: Work, stopped: asyncio.Future[Any]) -> None:
    holding: asyncio.Future[None] | None = None
    try:
        await first(stopped, elector.acquire())
        if not stopped.done():
            holding = asyncio.ensure_future(elector.hold())
            await _term(work, [stopped, holding])
    finally:
        if holding is not None:
            holding.cancel()
            await asyncio.gather(holding, return_exceptions=True)
        await elector.release()


async def _term(work: Work, until: list[asyncio.Future[Any]]) -> None:
    working = asyncio.ensure_future(work())
    try:
        await asyncio.wait([*until, working], return_when=asyncio.FIRST_COMPLETED)
    finally:
        working.cancel()
        await asyncio.wait({working}, timeout=TERM_END_SECONDS)
    if not working.done():
        raise RuntimeError("the work of a term did not end with it")
    if not working.cancelled() and (error := working.exception()) is not None:
        raise error
