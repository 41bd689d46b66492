"""Whether a running program believes what is measured: asked at the start and every minute, and acted upon.

Measured keys are believed while the admission policy stands that keeps them for the monitor, or where somebody said so
(`--trust-annotations`). When that changes, every object is read again: what was believed is forgotten, or the reverse.
"""

from __future__ import annotations

import asyncio
import logging

from ecotone.kube.backoff import Backoff
from ecotone.kube.client import ApiClient
from ecotone.kube.reading.figures import told, why_not_believed
from ecotone.model.errors import OutsideError

log = logging.getLogger(__name__)

LOOK_SECONDS = 60.0


class Belief:
    def __init__(self, client: ApiClient, *, trusted: bool) -> None:
        self._client = client
        self._trusted = trusted
        self.why_not: str | None = None if trusted else "nobody has looked for its admission policy yet"

    @property
    def holds(self) -> bool:
        return self.why_not is None

    async def settle(self) -> None:
        """Returns with the first answer, however long the API server takes."""
        backoff = Backoff()
        while not self._trusted:
            try:
                await self._look()
            except OutsideError as error:
                delay = backoff.next()
                log.warning("admission policies: %s; again in %.1f s", error, delay)
                await asyncio.sleep(delay)
            else:
                return

    async def changed(self) -> None:
        """Returns when the answer is another one than before; what cannot be asked just now stays as it was."""
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            if self._trusted:
                continue
            before = self.holds
            try:
                await self._look()
            except OutsideError as error:
                log.warning("admission policies: %s", error)
            if self.holds != before:
                return

    async def _look(self) -> None:
        before, self.why_not = self.why_not, await why_not_believed(self._client)
        if self.why_not is None and before is not None:
            log.info("measured keys are believed: the admission policy stands")
        elif self.why_not is not None and self.why_not != before:
            log.warning("%s", told(self.why_not))
