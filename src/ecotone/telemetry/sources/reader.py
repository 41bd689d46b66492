"""Families read from a Prometheus with the question answered whose each series is.

Before anything is asked, the Prometheus tells what it scrapes, how, and which series it writes itself. Questions then name
the targets of those who may speak about a family, and their answers come grouped by target. What nobody can be named
for is left out and its reason told; what somebody says who may not say it is left out and counted.

Where an installation trusts its Prometheus, nobody is asked who he is.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from ecotone.telemetry.families import (
    SPEAKER_NAMESPACE,
    SPEAKER_NODE,
    SPEAKER_WORKLOAD,
    Answers,
    Family,
    Readings,
    combine,
)
from ecotone.telemetry.prometheus import Failure, Source, Trouble
from ecotone.telemetry.refs import Place
from ecotone.telemetry.samples import Sample
from ecotone.telemetry.sources.ledger import Attribution, Ledger
from ecotone.telemetry.sources.matching import matchers
from ecotone.telemetry.sources.pages import read_pages
from ecotone.telemetry.sources.speakers import Inhabitants, Role, Speaker, Trust

log = logging.getLogger(__name__)

SHORTEST_AGE = 2.0
"""Seconds for which what a Prometheus says about itself is used again."""
SHARE = 20
"""It is asked again after at least so many times as long as the answer took."""
REASONS_REMEMBERED = 1000
PLACED = ("namespace", "pod", "workload")
HINT = "; see --reporter and --trust-prometheus"


class Tally:
    """What was left out, for metrics."""

    def refused(self, why: str, count: int) -> None:
        """``why``: unknown, ambiguous or not-theirs."""

    def impossible(self, metric: str, count: int) -> None: ...


class Reader:
    def __init__(
        self,
        source: Source,
        inhabitants: Inhabitants,
        trust: Trust,
        *,
        place: Callable[[str, str], Place | None] = lambda _namespace, _pod: None,
        tally: Tally | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """``place``: a pod's workload and node, for labels that are believed."""
        self.source = source
        self._inhabitants = inhabitants
        self._trust = trust
        self._place = place
        self._tally = tally or Tally()
        self._clock = clock
        self._ledger = Ledger()
        self._failure: Failure | None = None
        self._taken_at = float("-inf")
        self._again_at = float("-inf")
        self._looking = asyncio.Lock()
        self._logged: set[str] = set()

    async def moment(self) -> float:
        """The time to ask about: now, or when the Prometheus last said what it scrapes."""
        if self._trust.everything:
            return self._clock()
        async with self._looking:
            if self._clock() >= self._again_at:
                await self._look()
        return self._taken_at

    async def _look(self) -> None:
        before = self._clock()
        pages = await read_pages(self.source)
        self._taken_at = before
        if isinstance(pages, Failure):
            self._failure = _untold(pages)
            if self._failure.trouble is Trouble.UNTRUSTED:
                self._warn(self._failure.message)
        else:
            self._failure = None
            targets, scraping, recordings = pages
            self._ledger.take(
                targets, scraping, recordings, inhabitants=self._inhabitants, trust=self._trust, at=before
            )
        now = self._clock()
        self._again_at = now + max(SHORTEST_AGE, SHARE * (now - before))

    async def read(self, family: Family, *, window: float, at: float, asker: str = "") -> Readings | Failure:
        """Asks all questions at once; one failure is the answer of all. ``at`` is a `moment`."""
        narrowed = self._narrowed(family, since=at - window)
        if not isinstance(narrowed, Family):
            return narrowed
        identity = self._identity(family)
        questions = (
            narrowed.value(window, identity=identity),
            narrowed.count(window, identity=identity),
            narrowed.newest(identity=identity),
            narrowed.sparser(window, identity=identity),
            narrowed.impossible(window, identity=identity),
        )
        answered: list[list[Sample]] = []
        for each in await asyncio.gather(*(self.source.query(one, at=at, asker=asker) for one in questions)):
            if isinstance(each, Failure):
                return each
            answered.append(each)
        self._tally.impossible(family.metric, int(sum(each.value for each in answered[4])))
        sorting = _Sorting(self, family, since=at - window)
        answers = Answers(
            sorting.folded(answered[0], family.by, sum),
            sorting.folded(answered[1], family.judged_by, max),
            sorting.folded(answered[2], family.judged_by, min),
            sorting.folded(answered[3], family.judged_by, min),
        )
        self._tell(sorting)
        found = combine(family, answers, window=window, at=at)
        return replace(found, refused=dict(sorting.refused))

    async def values(self, family: Family, *, window: float, at: float, asker: str = "") -> Sequence[Sample] | Failure:
        """Only the values, whatever the window holds."""
        narrowed = self._narrowed(family, since=at - window)
        if not isinstance(narrowed, Family):
            return [] if isinstance(narrowed, Readings) else narrowed
        asked = narrowed.value(window, identity=self._identity(family))
        answer = await self.source.query(asked, at=at, asker=asker)
        if isinstance(answer, Failure):
            return answer
        sorting = _Sorting(self, family, since=at - window)
        found = sorting.folded(answer, family.by, sum)
        self._tell(sorting)
        return found

    async def present(self, family: Family, *, at: float, asker: str = "") -> bool | Failure:
        """True if somebody who may says anything about it."""
        narrowed = self._narrowed(family, since=at - SHORTEST_AGE)
        if isinstance(narrowed, Readings):
            return False
        if isinstance(narrowed, Failure):
            return narrowed
        answer = await self.source.query(narrowed.present(identity=self._identity(family)), at=at, asker=asker)
        if isinstance(answer, Failure):
            return answer
        return bool(_Sorting(self, family, since=at - SHORTEST_AGE).folded(answer, family.by, sum))

    def _identity(self, family: Family) -> tuple[str, ...]:
        if self._trust.everything:
            return PLACED if family.placed else ()
        return self._ledger.identity

    def _narrowed(self, family: Family, *, since: float) -> Family | Readings | Failure:
        if self._trust.everything:
            return family
        if self._failure is not None:
            return self._failure
        writers = self._ledger.speaking(family.voices, since=since)
        if not writers:
            missing = family.voices.name
            return Readings([], refused={f"no target is known that is {missing}": 1} if missing else {})
        return family.narrowed(matchers(writers))

    def attribute(self, family: Family, labels: Mapping[str, str], *, since: float) -> Attribution:
        if self._trust.everything:
            return Attribution(Speaker(Role.BELIEVED))
        return self._ledger.attribute(family.metric, labels, since=since)

    def said(self, family: Family, labels: Mapping[str, str], speaker: Speaker) -> dict[str, str]:
        """The labels, and who exposed them under the names that `Family.by` uses."""
        if speaker.role is not Role.BELIEVED:
            namespace, workload = speaker.workload
            node = speaker.node
        elif family.placed:
            place = self._place(labels.get("namespace", ""), labels.get("pod", ""))
            namespace, node = labels.get("namespace", ""), "" if place is None else place.node
            workload = labels.get("workload") or ("" if place is None else place.workload.name)
        else:
            return dict(labels)
        return {**labels, SPEAKER_NAMESPACE: namespace, SPEAKER_WORKLOAD: workload, SPEAKER_NODE: node}

    def _tell(self, sorting: _Sorting) -> None:
        for why, count in sorting.counts.items():
            self._tally.refused(why, count)
        for why in sorting.refused:
            self._warn(why)

    def _warn(self, why: str) -> None:
        """Once."""
        if why not in self._logged:
            if len(self._logged) >= REASONS_REMEMBERED:
                self._logged.clear()
            self._logged.add(why)
            log.warning("series are left out: %s", why)


class _Sorting:
    """One family's answers, sorted by who gave them."""

    def __init__(self, reader: Reader, family: Family, *, since: float) -> None:
        self._reader = reader
        self._family = family
        self._since = since
        self._identity = reader._identity(family)
        self._known: dict[tuple[str, ...], Attribution] = {}
        self.refused: Counter[str] = Counter()
        self.counts: Counter[str] = Counter()

    def folded(
        self, samples: Sequence[Sample], by: tuple[str, ...], together: Callable[[Sequence[float]], float]
    ) -> list[Sample]:
        """The samples of those who may give them, one for each group."""
        groups: dict[tuple[str, ...], list[float]] = {}
        for sample in samples:
            said = self._said(sample.labels)
            if said is not None:
                groups.setdefault(tuple([said.get(name, "") for name in by]), []).append(sample.value)
        return [Sample(dict(zip(by, key, strict=True)), together(values), 0.0) for key, values in groups.items()]

    def _said(self, labels: Mapping[str, str]) -> dict[str, str] | None:
        key = tuple([labels.get(name, "") for name in self._identity])
        whose = self._known.get(key)
        if whose is None:
            whose = self._known[key] = self._reader.attribute(self._family, labels, since=self._since)
        if whose.speaker is None:
            self.counts["ambiguous" if whose.why else "unknown"] += 1
            if whose.why:
                self.refused[whose.why] += 1
            return None
        if not self._family.admits(labels, whose.speaker):
            self.counts["not-theirs"] += 1
            return None
        return self._reader.said(self._family, labels, whose.speaker)


def _untold(failure: Failure) -> Failure:
    if failure.trouble in (Trouble.REFUSED, Trouble.MALFORMED):
        message = f"Prometheus does not say whose its series are ({failure.message}){HINT}"
        return Failure(Trouble.UNTRUSTED, message)
    return failure
