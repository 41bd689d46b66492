"""The scheduler's own logic, with a writer that answers as told instead of an API server."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from ecotone.kube.errors import UnreachableError
from ecotone.kube.writing.binding import Bound, Outcome
from ecotone.model.decisions import Decisions
from ecotone.model.objects import Node, Pod, PodKind, PodSpec, WorkloadKey
from ecotone.model.snapshot import Snapshot
from ecotone.placement.problem.checker import violations
from ecotone.placement.problem.solution import Placement, figures
from ecotone.placement.problem.taxi import scenario_2
from ecotone.scheduling.decide import decide
from ecotone.scheduling.profiles.policies import resolve
from ecotone.scheduling.profiles.profile import Profile
from ecotone.services.scheduler import scheduler as module
from ecotone.services.scheduler.profiles import SETTLE_SECONDS, choose_profiles
from ecotone.services.scheduler.queue import Place
from ecotone.services.scheduler.scheduler import Scheduler
from ecotone.services.scheduler.settings import SchedulerSettings
from placement.kubernetes import nodes_of, taxi_pods


class Writer:
    """Answers bindings from a script, then with success; remembers everything."""

    def __init__(self, *script: Bound | Exception) -> None:
        self.script = list(script)
        self.binds: list[tuple[str, str]] = []
        self.told: list[tuple[str, str]] = []
        self.preempted: list[tuple[str, list[str]]] = []
        self.time_is_up = False

    def out_of_time(self) -> bool:
        return self.time_is_up

    def forget(self, uid: str) -> None: ...

    async def bind(self, pod: Pod, node: str, *, why: str | None) -> Bound:
        self.binds.append((pod.name, node))
        answer = self.script.pop(0) if self.script else Bound(Outcome.BOUND, node)
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def unschedulable(self, pod: Pod, message: str) -> None:
        self.told.append((pod.name, message))

    async def preempt(self, pod: Pod, node: str, victims: Sequence[Pod], message: str) -> None:
        self.preempted.append((node, [victim.name for victim in victims]))


class Recorder:
    dropped = 0

    def __init__(self) -> None:
        self.reasons: list[str] = []

    def hold(self) -> None: ...

    def resume(self) -> None: ...

    def once(self, *_: Any, reason: str, **__: Any) -> None:
        self.reasons.append(reason)

    def event(self, *_: Any, reason: str, **__: Any) -> None:
        self.reasons.append(reason)


def pod(name: str, *, cpu: int = 600, priority: int = 0, **more: Any) -> Pod:
    spec = PodSpec(requests=(("cpu", cpu),), nonzero=(cpu, 1), scheduler_name="ecotone", priority=priority)
    return Pod(name, f"uid-{name}", PodKind("default", WorkloadKey("default", name), spec=spec), **more)


def node(name: str, cpu: int = 1000) -> Node:
    return Node(name, {"cpu": cpu, "memory": 1 << 30, "pods": 10})


def run(
    writer: Writer,
    scene: Callable[[Scheduler], None],
    until: Callable[[Scheduler], bool],
    *,
    profile: Profile | None = None,
    wall: Callable[[], float] = time.time,
) -> Scheduler:
    async def main() -> Scheduler:
        profiles = {"ecotone": resolve("kube-default")} if profile is None else {profile.scheduler_name: profile}
        settings = SchedulerSettings(profiles, first_backoff=0.01, longest_backoff=0.02)
        recorder: Any = Recorder()
        fake: Any = writer
        scheduler = Scheduler(settings, writer=fake, recorder=recorder, explain=lambda *_: {}, wall=wall)
        scene(scheduler)
        scheduler.start_term()
        task = asyncio.create_task(scheduler.run())
        try:
            async with asyncio.timeout(5):
                while not until(scheduler):
                    await asyncio.sleep(0.002)
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
        return scheduler

    return asyncio.run(main())


def two_pods_one_place(scheduler: Scheduler) -> None:
    scheduler.cache.put_node(node("n1"))
    scheduler.cache.put_pod(pod("a"))
    scheduler.cache.put_pod(pod("b"))


def test_an_assumed_pod_takes_its_place_before_anybody_confirms() -> None:
    writer = Writer()
    scheduler = run(writer, two_pods_one_place, lambda s: s.queue.size(Place.UNSCHEDULABLE) == 1 and bool(writer.binds))
    assert writer.binds == [("a", "n1")]
    assert writer.told[0][0] == "b"
    assert scheduler.cache.assumed_count == 1


def test_a_refused_binding_frees_the_place_for_whoever_waits() -> None:
    writer = Writer(Bound(Outcome.REFUSED, detail="no"))
    scheduler = run(writer, two_pods_one_place, lambda s: len(writer.binds) == 2 and s.cache.assumed_count == 1)
    assert writer.binds[0] == ("a", "n1")
    assert scheduler.cache.state.usage.pod_count[0] == 1


def test_a_pod_somebody_else_took_is_not_tried_again() -> None:
    writer = Writer(Bound(Outcome.TAKEN, "n9"))

    def one_pod_one_place(scheduler: Scheduler) -> None:
        scheduler.cache.put_node(node("n1"))
        scheduler.cache.put_pod(pod("a"))

    scheduler = run(writer, one_pod_one_place, lambda s: bool(writer.binds))
    assert len(scheduler.queue) == 0
    assert scheduler.cache.assumed_count == 0


def test_a_binding_of_unknown_outcome_is_repeated_to_the_same_node_only() -> None:
    writer = Writer(UnreachableError("lost"), UnreachableError("lost"))

    def scene(scheduler: Scheduler) -> None:
        for name in ("n1", "n2", "n3"):
            scheduler.cache.put_node(node(name))
        scheduler.cache.put_pod(pod("a"))

    run(writer, scene, lambda s: len(writer.binds) == 3)
    assert len({where for _, where in writer.binds}) == 1


def test_nothing_is_decided_when_the_lease_may_be_over() -> None:
    writer = Writer()
    writer.time_is_up = True
    rounds = [0]

    def waited(scheduler: Scheduler) -> bool:
        rounds[0] += 1
        return rounds[0] > 20

    scheduler = run(writer, two_pods_one_place, waited)
    assert writer.binds == []
    assert scheduler.queue.size(Place.ACTIVE) == 2


def test_a_new_term_believes_only_what_it_reads() -> None:
    writer = Writer()
    scheduler = run(writer, two_pods_one_place, lambda s: bool(writer.binds))
    assert scheduler.cache.assumed_count == 1
    scheduler.start_term()
    assert scheduler.cache.assumed_count == 0
    assert scheduler.cache.state.usage.pod_count[0] == 0
    assert {entry.pod.name for entry in scheduler.queue} == {"a", "b"}


def test_preemption_names_the_victim_and_keeps_the_place() -> None:
    writer = Writer()

    def scene(scheduler: Scheduler) -> None:
        scheduler.cache.put_node(node("n1"))
        scheduler.cache.put_pod(pod("old", node="n1", phase="Running"))
        scheduler.cache.put_pod(pod("urgent", priority=10))

    scheduler = run(writer, scene, lambda s: bool(writer.preempted))
    assert writer.preempted == [("n1", ["old"])]
    assert scheduler.cache.state.pending["default/urgent"].nominated == "n1"


def test_a_pod_that_cannot_be_decided_does_not_keep_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    def faulty(view: Snapshot, profile: Profile, *, pods: Sequence[Pod]) -> Decisions:
        if any(each.name == "bad" for each in pods):
            raise ArithmeticError("not a number")
        return decide(view, profile, pods=pods)

    monkeypatch.setattr(module, "decide", faulty)
    writer = Writer()

    def scene(scheduler: Scheduler) -> None:
        for name in ("n1", "n2", "n3"):
            scheduler.cache.put_node(node(name))
        for name in ("a", "bad", "c"):
            scheduler.cache.put_pod(pod(name))

    scheduler = run(writer, scene, lambda _: len(writer.binds) == 2)
    assert {name for name, _ in writer.binds} == {"a", "c"}
    assert "uid-bad" in scheduler.queue


@pytest.mark.parametrize("policy", ["pogonip", "pogonip-greedy", "pogonip-opt", "pogonip-plugins"])
def test_applications_that_arrive_one_after_the_other_are_decided_together(policy: str) -> None:
    """Each of the eight comes complete, a moment after the one before; placed alone, the first would fill the edge."""
    instance = scenario_2()
    taxis = [taxi_pods(f"taxi-{k}", created=100.0 + k / 10) for k in range(8)]
    writer = Writer()
    now = [100.0]
    early: list[int] = []

    def first_comes(scheduler: Scheduler) -> None:
        for each in nodes_of(instance):
            scheduler.cache.put_node(each)
        for one in taxis[0]:
            scheduler.cache.put_pod(one)

    def others_follow(scheduler: Scheduler) -> bool:
        waited = min((entry.attempts for entry in scheduler.queue), default=0)
        if waited > 2 and taxis[1:]:
            now[0] += 0.1
            early.append(len(writer.binds))
            for each in taxis.pop(1):
                scheduler.cache.put_pod(each)
        elif not taxis[1:]:
            now[0] = 100.7 + SETTLE_SECONDS + 0.1
        return len(writer.binds) == 40

    name = taxis[0][0].spec.scheduler_name
    profile = choose_profiles(names=[name], policy=policy, config=None)[name]
    run(writer, first_comes, others_follow, profile=profile, wall=lambda: now[0])
    assert early == [0] * 7, "nothing is bound while applications still arrive"
    where = dict(writer.binds)
    hosts = tuple(
        tuple(instance.index[where[f"taxi-{k}-{component.name}-0"]] for component in each.components)
        for k, each in enumerate(instance.applications)
    )
    placed = Placement(hosts=hosts)
    assert violations(instance, placed) == [] and figures(instance, placed).apps_placed == 8
