"""Who may have written a series, as far as its labels tell.

A series tells its target by its labels alone. A writer is a candidate for it if nothing that is certain about the
writer's series contradicts those labels. A series is somebody's only if all its candidates are the same somebody: whoever
can give his series another target's labels (relabelling, `honor_labels`, a recording rule) makes it nobody's.

Writers are remembered, since their samples stay in the window after they are gone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from ecotone.telemetry.sources.recording import Recording
from ecotone.telemetry.sources.scraping import Fixed, Pool, Scraping
from ecotone.telemetry.sources.speakers import Inhabitants, Role, Speaker, Trust, Voices, speaker_of
from ecotone.telemetry.sources.targets import Target
from ecotone.telemetry.window import LONGEST

REMEMBERED = LONGEST + 60
WRITERS_LIMIT = 1_000_000
IDENTITY = ("job", "instance", "namespace", "pod", "node")
"""Labels by which series are told apart besides those that a configuration makes certain."""


@dataclass(slots=True)
class Writer:
    speaker: Speaker | None
    fixed: Fixed
    why: str = ""
    """Why nobody knows who it is."""
    suspicious: bool = False
    """True if it may take labels that are not its own."""
    seen: float = 0.0

    def may_be(self, labels: Mapping[str, str]) -> bool:
        for name, value in self.fixed.labels.items():
            there = labels.get(name, "")
            if there != value and (there or not self.fixed.may_drop):
                return False
        return True


@dataclass(frozen=True, slots=True)
class Attribution:
    speaker: Speaker | None
    why: str = ""
    """Why it is nobody's; nothing if no target is known that may have written it."""


Key = tuple[str, str, frozenset[tuple[str, str]]]
UNKNOWN = Attribution(None)


@dataclass(slots=True)
class Ledger:
    writers: dict[Key, Writer] = field(default_factory=dict)
    recordings: dict[str, list[Recording]] = field(default_factory=dict)
    identity: tuple[str, ...] = IDENTITY
    _index: dict[tuple[str, str], list[Writer]] = field(default_factory=dict)
    _loose: list[Writer] = field(default_factory=list)
    _spaces: dict[str, list[Writer]] = field(default_factory=dict)
    _listed: list[Writer] = field(default_factory=list)
    _kubelets: list[Writer] = field(default_factory=list)
    _probes: list[Writer] = field(default_factory=list)

    def take(
        self,
        targets: Iterable[Target],
        scraping: Scraping,
        recordings: Iterable[Recording],
        *,
        inhabitants: Inhabitants,
        trust: Trust,
        at: float,
    ) -> None:
        """What a Prometheus says at that moment."""
        sealed: set[str] = set()
        for target in targets:
            pool = scraping.pools.get(target.scrape_pool)
            if pool is not None:
                sealed.update(label for _, label, constant in pool.rules if constant)
            self._note(target, pool, inhabitants, trust, at)
        for way in scraping.other_ways_in:
            why = f"{way}: whoever reaches it writes any series"
            self.writers[way, "", frozenset()] = Writer(None, Fixed({}), why, suspicious=True, seen=at)
        self.recordings = {}
        for recording in recordings:
            self.recordings.setdefault(recording.name, []).append(recording)
        self.identity = (*IDENTITY, *sorted(sealed - set(IDENTITY)))
        self._forget(at)
        self._sort()

    def _note(self, target: Target, pool: Pool | None, inhabitants: Inhabitants, trust: Trust, at: float) -> None:
        key = (target.scrape_pool, target.scrape_url, frozenset(target.labels.items()))
        told = speaker_of(target, inhabitants, trust)
        before = self.writers.get(key)
        if told is None and before is not None and before.speaker is not None:
            # Its pod has just gone; what it said last is still in the window.
            told = before.speaker
        if pool is None:
            self.writers[key] = _suspect(f"scrape pool {target.scrape_pool}: its configuration is not shown", at)
            return
        who = told if isinstance(told, Speaker) else None
        why = told if isinstance(told, str) else ""
        if pool.proxied and who is not None:
            who, why = None, "it is scraped through a proxy"
        trusted = who is not None and (who.listed or who.probe or who.role is Role.KUBELET)
        if trusted and pool.honors:
            # Reporters that are trusted expose other pods' names, but do not pose as another target.
            kept = {name: value for name, value in target.labels.items() if name in ("job", "instance")}
            fixed = Fixed(kept)
        else:
            fixed = pool.fixed(target.labels)
        short = not ("job" in fixed.labels and "instance" in fixed.labels)
        if short:
            why = (
                f"scrape pool {target.scrape_pool}: honorLabels or relabelling of metrics lets a target write any label"
            )
        elif why:
            why = f"scrape pool {target.scrape_pool}: {why}"
        self.writers[key] = Writer(who, fixed, why, suspicious=short, seen=at)

    def _forget(self, at: float) -> None:
        self.writers = {key: one for key, one in self.writers.items() if at - one.seen <= REMEMBERED}
        while len(self.writers) > WRITERS_LIMIT:
            self.writers.pop(next(iter(self.writers)))

    def _sort(self) -> None:
        self._index, self._spaces = {}, {}
        self._listed, self._kubelets, self._probes = [], [], []
        loose: dict[tuple[Speaker | None, frozenset[tuple[str, str]], bool], Writer] = {}
        for writer in self.writers.values():
            self._hear(writer)
            labels = writer.fixed.labels
            if "job" in labels and "instance" in labels:
                self._index.setdefault((labels["job"], labels["instance"]), []).append(writer)
            else:
                alike = (writer.speaker, frozenset(labels.items()), writer.fixed.may_drop)
                kept = loose.get(alike)
                if kept is None or kept.seen < writer.seen:
                    loose[alike] = writer
        self._loose = list(loose.values())

    def _hear(self, writer: Writer) -> None:
        speaker = writer.speaker
        if speaker is None or writer.suspicious:
            return
        if speaker.role is Role.KUBELET:
            self._kubelets.append(writer)
            return
        self._spaces.setdefault(speaker.workload.namespace, []).append(writer)
        if speaker.listed:
            self._listed.append(writer)
        if speaker.probe:
            self._probes.append(writer)

    def speaking(self, voices: Voices, *, since: float) -> list[Writer]:
        """Those who may speak about a family and can be told from others."""
        chosen = list(self._spaces.get(voices.namespace, ())) if voices.namespace else []
        for wanted, several in (
            (voices.listed, self._listed),
            (voices.kubelets, self._kubelets),
            (voices.probe, self._probes),
        ):
            chosen += several if wanted else ()
        return [one for one in chosen if one.seen >= since]

    def attribute(self, metric: str, labels: Mapping[str, str], *, since: float) -> Attribution:
        """Whose series this is; ``labels`` are the identity's."""
        for recording in self.recordings.get(metric, ()):
            if all(labels.get(name, value) == value for name, value in recording.labels.items()):
                return Attribution(None, f"a recording rule writes series under the name {metric}")
        job, instance = labels.get("job", ""), labels.get("instance", "")
        if not job or not instance:
            return UNKNOWN
        candidates = [
            one
            for one in (*self._index.get((job, instance), ()), *self._loose)
            if one.seen >= since and one.may_be(labels)
        ]
        if not candidates:
            return UNKNOWN
        first = candidates[0]
        for one in candidates:
            if one.speaker is None or one.speaker != first.speaker:
                return Attribution(None, _ambiguous(candidates))
        if first.suspicious:
            return Attribution(None, first.why)
        return Attribution(first.speaker)


def _suspect(why: str, at: float) -> Writer:
    return Writer(None, Fixed({}), why, suspicious=True, seen=at)


def _ambiguous(candidates: list[Writer]) -> str:
    culprit = next((one for one in candidates if one.suspicious), None)
    if culprit is not None:
        return culprit.why
    unknown = next((one for one in candidates if one.speaker is None), None)
    if unknown is not None and len(candidates) == 1:
        return unknown.why
    labels = candidates[0].fixed.labels
    return f"several targets have the labels job={labels.get('job')!r}, instance={labels.get('instance')!r}"
