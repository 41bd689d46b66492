"""One cycle of application monitoring: what the workloads of a group use, and how much they say to each other.

The questions come from the group's dialect, or from its own queries; each fails for itself. Figures go on the workloads
as annotations, or, for a group of more than two hundred workloads, into the AppGroup's status: Kubernetes copies a
Deployment's annotations to its ReplicaSets at twenty writes a second for the whole cluster, so a large group written
every cycle would hold up every rollout.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from ecotone.manifests import keys
from ecotone.model.errors import InputError
from ecotone.services.monitor.annotations import WORKLOAD_KEYS, plan
from ecotone.services.monitor.conditions import DATA_FRESH, FILLING, OVERLAPPING, QUERIES_VALID, READY, Condition
from ecotone.services.monitor.desired import WorkloadFigures, workload_figures, workload_measured
from ecotone.services.monitor.part import Part
from ecotone.services.monitor.reading import Answered, Windows, read_all
from ecotone.services.monitor.watched import APP_GROUPS, AppGroup, Watched, Workload
from ecotone.telemetry.dialects import AUTO, detect, dialect
from ecotone.telemetry.dialects.base import USERS, Rates
from ecotone.telemetry.prometheus import Failure
from ecotone.telemetry.queries import check_queries, own_pairs, read_own
from ecotone.telemetry.refs import Ref
from ecotone.telemetry.usage import average_per_pod, cpu_family, memory_family
from ecotone.telemetry.window import parse_window

log = logging.getLogger(__name__)

ANNOTATED_LIMIT = 200
"""Workloads up to which a group's figures are annotations; above, they are in the AppGroup's status."""
OUR_KEYS = frozenset((*WORKLOAD_KEYS, keys.MEASURED_AT))
NAMED = 5

Member = tuple[str, Workload]


@dataclass(slots=True)
class Look:
    """What one cycle found out about a group."""

    answered: Answered = field(default_factory=Answered)
    dialect: str | None = None
    problems: list[str] = field(default_factory=list)
    figures: dict[Ref, WorkloadFigures] = field(default_factory=dict)


class ApplicationPart(Part):
    async def run(self, group: AppGroup) -> None:
        """One cycle for the workloads of this group."""
        now = self._clock()
        refusal = refused(group, self._watched.app_groups)
        if refusal is not None:
            await self._reporter.report(APP_GROUPS, group, refusal, now=now)
            return
        members = members_of(group, self._watched)
        look = await self._look(group, members, at=await self._reader.moment())
        if len(members) > ANNOTATED_LIMIT:
            texts = self._texts(group, members, look, now=now)
            await self._off(members)
        else:
            texts = None
            await self._write(members, look, now=now)
        ready = set(self._watched.ready_pods(group.metadata.namespace).values())
        found = judge(members, look, with_pods=ready)
        await self._reporter.report(APP_GROUPS, group, found, now=self._clock(), figures=texts)

    async def _look(self, group: AppGroup, members: list[Member], *, at: float) -> Look:
        namespace, spec = group.metadata.namespace, group.spec
        look = Look()
        wanted = self._window
        queries: Mapping[str, str] = {}
        try:
            wanted = parse_window(spec.window) if spec.window else self._window
        except InputError as error:
            look.problems.append(f"spec.window: {error}")
        try:
            check_queries(spec.queries)
            queries = spec.queries
        except InputError as error:
            look.problems.append(str(error))
        windows = self._windows.setdefault(f"{namespace}/{group.metadata.name}", Windows())
        families = {"cpu": cpu_family(namespace), "memory": memory_family(namespace)}
        chosen = await self._dialect(group, look, at=at)
        spoken = None if chosen is None else dialect(chosen, namespace=namespace)
        if spoken is not None:
            families |= {f"{chosen}:{name}": each for name, each in spoken.families(namespace, self._watched).items()}
        families = {name: each for name, each in families.items() if name not in queries}
        answered = await read_all(self._reader, families, windows=windows, wanted=wanted, at=at, asker=namespace)
        look.answered.readings |= answered.readings
        look.answered.young |= answered.young
        look.answered.failures |= answered.failures
        look.answered.refused |= answered.refused
        for name, text in queries.items():
            own = await read_own(self._reader.source, name, text, window=wanted, at=at, namespace=namespace)
            if isinstance(own, InputError):
                look.problems.append(str(own))
            else:
                look.answered.take(name, own)
        heard = {name.removeprefix(f"{chosen}:"): each for name, each in look.answered.readings.items()}
        rates = Rates() if spoken is None else spoken.rates(heard, self._watched)
        if "bytes" in queries:
            rates.bytes = own_pairs(look.answered.of("bytes"), namespace=namespace, directory=self._watched)
        if "requests" in queries:
            rates.requests = own_pairs(look.answered.of("requests"), namespace=namespace, directory=self._watched)
        pods = self._watched.ready_pods(namespace)
        look.figures = workload_figures(
            (workload.metadata.ref for _, workload in members),
            cpu=average_per_pod(look.answered.of("cpu"), pods),
            memory=average_per_pod(look.answered.of("memory"), pods),
            rates=rates,
        )
        return look

    async def _dialect(self, group: AppGroup, look: Look, *, at: float) -> str | None:
        chosen = group.spec.dialect
        if chosen != AUTO:
            look.dialect = chosen
            return chosen
        found = await detect(self._reader, self._watched, namespace=group.metadata.namespace, at=at)
        if isinstance(found, Failure):
            look.answered.failures["dialect"] = found
            return None
        look.dialect = found
        return found

    def _planned(self, written: Mapping[str, str], workload: Workload, look: Look, now: float) -> dict[str, str] | None:
        own = workload.metadata.ref

        def carries(peer: str) -> bool:
            space, _, name = peer.rpartition("/")
            return peer.startswith(USERS) or self._watched.exists(Ref(space or own.namespace, name))

        measured = workload_measured(look.figures.get(own, WorkloadFigures()), carries=carries)
        return plan(measured, written, of=WORKLOAD_KEYS, now=now, rules=self._rules)

    async def _write(self, members: list[Member], look: Look, *, now: float) -> None:
        async def one(kind: str, workload: Workload) -> None:
            meta = workload.metadata
            annotations = self._planned(meta.annotations, workload, look, now)
            if annotations is None:
                self._metrics.skipped.labels("workload").inc()
            elif not await self._writer.workload(kind, meta, annotations):
                return
            await self._copies_off(kind, workload, meta.annotations if annotations is None else annotations)

        await asyncio.gather(*(one(kind, workload) for kind, workload in members))

    def _texts(self, group: AppGroup, members: list[Member], look: Look, *, now: float) -> dict[str, dict[str, str]]:
        """The figures of a large group, for its status."""
        texts: dict[str, dict[str, str]] = {}
        for kind, workload in members:
            name = f"{kind}/{workload.metadata.name}"
            written = group.status.workloads.get(name, {})
            planned = self._planned(written, workload, look, now)
            kept = written if planned is None else planned
            if kept:
                texts[name] = kept
        return texts

    async def _off(self, members: Iterable[Member]) -> None:
        """Takes our annotations off these workloads, and off what they were copied to."""
        for kind, workload in members:
            if workload.metadata.managed and not await self._writer.workload(kind, workload.metadata, {}):
                continue
            await self._copies_off(kind, workload, {})

    async def _copies_off(self, kind: str, workload: Workload, left: Mapping[str, str]) -> None:
        """Takes off ReplicaSets what is no longer on their Deployment; Kubernetes copies annotations and never removes."""
        if kind != "Deployment":
            return
        for each in self._watched.replica_sets.owned_by(workload.metadata.uid):
            gone = (OUR_KEYS & each.metadata.annotations.keys()) - left.keys()
            if gone:
                await self._writer.replica_set(each.metadata, sorted(gone))

    async def clean(self) -> None:
        """Takes our annotations off workloads that belong to no AppGroup."""
        groups = {(each.metadata.namespace, each.spec.name) for each in self._watched.app_groups}
        left = [
            (kind, workload)
            for kind, workload in self._watched.all_workloads()
            if workload.metadata.managed and (workload.metadata.namespace, workload.group) not in groups
        ]
        await self._off(left)


def members_of(group: AppGroup, watched: Watched) -> list[Member]:
    namespace, name = group.metadata.namespace, group.spec.name
    return [
        (kind, workload)
        for kind, workload in watched.workloads_in(namespace)
        if workload.group == name and not workload.lets_users_in
    ]


def refused(group: AppGroup, groups: Iterable[AppGroup]) -> list[Condition] | None:
    """The conditions of a group that is not monitored: it names another namespace, or an older one has its workloads."""
    meta, spec = group.metadata, group.spec
    if spec.namespace not in (None, "", meta.namespace):
        message = f"spec.namespace is {spec.namespace!r}, the AppGroup is in {meta.namespace!r}"
        return [Condition(READY, False, "WrongNamespace", message)]
    rivals = [
        each
        for each in groups
        if each.metadata.namespace == meta.namespace and each.spec.name == spec.name and each.metadata.uid != meta.uid
    ]
    older = min((each.metadata.age_order for each in rivals), default=meta.age_order)
    if older < meta.age_order:
        message = f"{older[1]} has the workloads of {spec.name!r}"
        return [
            Condition(READY, False, "Overlapping", message),
            Condition(OVERLAPPING, True, "OlderGroupWins", message),
        ]
    return None


def judge(members: list[Member], look: Look, *, with_pods: set[Ref]) -> list[Condition]:
    """What the AppGroup's conditions say after a cycle. Pure."""
    reachable, sources = look.answered.reachable(), look.answered.sources()
    if look.problems:
        queries = Condition(QUERIES_VALID, False, "Refused", "; ".join(look.problems))
    else:
        queries = Condition(QUERIES_VALID, True, "Accepted")
    measurable = [workload.metadata.ref for _, workload in members if workload.metadata.ref in with_pods]
    blank = WorkloadFigures()
    without = [
        ref.name
        for ref in measurable
        if look.figures.get(ref, blank).cpu is None or look.figures.get(ref, blank).memory is None
    ]
    talking = sum(bool(each.traffic or each.requests) for each in look.figures.values())
    if not members:
        fresh = Condition(DATA_FRESH, False, "NoWorkloads", "no workload carries this app-group label")
    elif without:
        few = ", ".join(sorted(without)[:NAMED])
        reason = FILLING if look.answered.young else "Missing"
        fresh = Condition(
            DATA_FRESH, False, reason, f"{len(without)} of {len(measurable)} workloads without usage ({few})"
        )
    elif not talking:
        told = "no series of any dialect" if look.dialect is None else f"no traffic in the series of {look.dialect}"
        fresh = Condition(DATA_FRESH, False, FILLING if look.answered.young else "NoTraffic", told)
    else:
        told = f"{len(members)} workloads, {talking} with traffic, dialect {look.dialect or 'none'}"
        fresh = Condition(DATA_FRESH, True, "Measured", told)
    good = bool(reachable.status and queries.status and fresh.status)
    worst = next((each for each in (reachable, queries, fresh) if not each.status), fresh)
    overlap = Condition(OVERLAPPING, False, "None")
    return [Condition(READY, good, worst.reason), reachable, sources, queries, fresh, overlap]
