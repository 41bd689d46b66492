"""What a Prometheus says about itself: targets, configuration, recording rules, flags. All of it, or a failure."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from functools import lru_cache

from ecotone.telemetry.prometheus import Failure, Source, Trouble
from ecotone.telemetry.samples import MalformedError
from ecotone.telemetry.sources import flags, recording, scraping, targets
from ecotone.telemetry.sources.recording import Recording
from ecotone.telemetry.sources.scraping import Scraping
from ecotone.telemetry.sources.targets import Target

Pages = tuple[list[Target], Scraping, list[Recording]]

_configuration = lru_cache(maxsize=2)(scraping.read_configuration)
"""Reading a large one takes a second, and it is almost always the last one."""


async def read_pages(source: Source) -> Pages | Failure:
    # The configuration first: a pool that is new after it has targets that are not known, and so not believed.
    shown = await source.page(scraping.PATH, {})
    rest = await asyncio.gather(
        source.page(targets.PATH, {"state": "active"}),
        source.page(recording.PATH, {"type": "record"}),
        source.page(flags.PATH, {}),
    )
    bodies: list[bytes] = []
    for each in (shown, *rest):
        if isinstance(each, Failure):
            return each
        bodies.append(each)
    return await asyncio.to_thread(_read, bodies)


def _read(bodies: list[bytes]) -> Pages | Failure:
    configured, scraped, recorded, flagged = bodies
    try:
        found = _configuration(scraping.configuration_text(configured))
        others = (*found.other_ways_in, *flags.open_receivers(flagged))
        return targets.read_targets(scraped), replace(found, other_ways_in=others), recording.read_recordings(recorded)
    except MalformedError as error:
        return Failure(Trouble.MALFORMED, str(error))
