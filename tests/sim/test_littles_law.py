# ruff: noqa: E501 - scenarios read better unwrapped
"""Little's law, L = lambda W, exactly and on every station of whole runs.

L comes from the stations' own counters, integrated over time whenever they change; lambda and W from the single requests:
when each came and when it went. The two agree only if no request is lost, served twice or left behind anywhere, through
moves, failures and the end of the run.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable
from dataclasses import replace
from math import fsum
from typing import Any

import pytest

from ecotone.sim.cluster import SimPod, SimService
from ecotone.sim.control import lifecycle
from ecotone.sim.control.engine import Engine
from ecotone.sim.cpu import Share, Station
from ecotone.sim.flow import Flow, Visit
from ecotone.sim.kernel import Called, Event, Kernel
from ecotone.sim.scenario import Scenario, load_scenario
from ecotone.sim.scenario.schema import NodeChange
from ecotone.sim.simulation import Simulation
from sim.scenarios import looks_inside
from sim.scenarios import scenario as parse

pytestmark = looks_inside


class Books:
    """Two independent accounts of each station: the area under its counter, and the requests' own times."""

    def __init__(self) -> None:
        self.now: Callable[[], float] = lambda: 0.0
        self._count: dict[str, int] = defaultdict(int)
        self._since: dict[str, float] = defaultdict(float)
        self._pieces: dict[str, list[float]] = defaultdict(list)
        self._inside: dict[str, dict[int, float]] = defaultdict(dict)
        self._sojourns: dict[str, list[float]] = defaultdict(list)
        self._kept: list[object] = []  # identities stay unique while their objects live

    def counted(self, station: str, number: int) -> None:
        """The station's counter now shows this."""
        now = self.now()
        if self._count[station]:
            self._pieces[station].append(self._count[station] * (now - self._since[station]))
        self._count[station], self._since[station] = number, now

    def came(self, station: str, who: object) -> None:
        self._kept.append(who)
        assert id(who) not in self._inside[station]
        self._inside[station][id(who)] = self.now()

    def went(self, station: str, who: object) -> None:
        self._sojourns[station].append(self.now() - self._inside[station].pop(id(who)))

    def inside(self, station: str, who: object) -> bool:
        return id(who) in self._inside[station]

    def close(self) -> dict[str, tuple[float, float, int]]:
        """Per station: the area, the sum of all sojourns (cut off now for who is still there), and how many came."""
        found = {}
        for station in sorted(self._count):
            self.counted(station, 0)
            times = [*self._sojourns[station], *(self.now() - at for at in self._inside[station].values())]
            found[station] = fsum(self._pieces[station]), fsum(times), len(times)
        return found


class Item:
    """One request at one CPU."""

    def __init__(self, event: Event, places: tuple[str, str]) -> None:
        self.event = event
        self.places = places


@pytest.fixture
def books(monkeypatch: pytest.MonkeyPatch) -> Books:
    kept = Books()
    _watch_cpu(kept, monkeypatch)
    _watch_pods(kept, monkeypatch)
    _watch_queues(kept, monkeypatch)
    return kept


def _watch_cpu(books: Books, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every node's station, and every pod's share of it."""
    serve, drop, wake = Station.serve, Station.drop, Station.wake
    names: dict[int, str] = {}
    shares: dict[int, list[Share]] = defaultdict(list)

    def name(thing: object, kind: str) -> str:
        return names.setdefault(id(thing), f"{kind} {len(names)}")

    def look(station: Station) -> None:
        books.counted(name(station, "node CPU"), station.total)
        for share in shares[id(station)]:
            books.counted(name(share, "pod CPU"), share.active)

    def watched_serve(station: Station, share: Share, demand: float, event: Event) -> None:
        places = name(station, "node CPU"), name(share, "pod CPU")
        if share not in shares[id(station)]:
            shares[id(station)].append(share)
        item = Item(event, places)

        def done(item: Item) -> None:
            for place in item.places:
                books.went(place, item)
            item.event.happen()

        for place in places:
            books.came(place, item)
        serve(station, share, demand, Called(done, item))
        look(station)

    def watched_drop(station: Station, share: Share) -> list[Event]:
        lost = [event.argument for event in drop(station, share) if isinstance(event, Called)]
        for item in lost:
            for place in item.places:
                books.went(place, item)
        look(station)
        return [item.event for item in lost]

    def watched_wake(station: Station, version: int) -> None:
        wake(station, version)
        look(station)

    monkeypatch.setattr(Station, "serve", watched_serve)
    monkeypatch.setattr(Station, "drop", watched_drop)
    monkeypatch.setattr(Station, "wake", watched_wake)


def _watch_pods(books: Books, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every pod, from being called to having answered: waiting for messages, CPU and callees included."""

    class Watched(SimPod):
        __slots__ = ("_inflight",)

        @property
        def inflight(self) -> int:
            return self._inflight

        @inflight.setter
        def inflight(self, number: int) -> None:
            self._inflight = number
            books.counted(f"pod {self.name}", number)

    send, reconnect, respond, fail = Flow._send, Flow._reconnect, Flow._respond, Flow.fail

    def arrive(visit: Visit) -> None:
        if not books.inside(f"pod {visit.pod.name}", visit):
            books.came(f"pod {visit.pod.name}", visit)

    def leave(visit: Visit) -> None:
        if books.inside(f"pod {visit.pod.name}", visit):
            books.went(f"pod {visit.pod.name}", visit)

    def watched_send(flow: Flow, visit: Visit, source: int, handshake: bool, size: float) -> None:
        arrive(visit)
        send(flow, visit, source, handshake, size)

    def watched_reconnect(flow: Flow, visit: Visit, source: int, size: float) -> None:
        arrive(visit)
        reconnect(flow, visit, source, size)

    def watched_respond(flow: Flow, visit: Visit) -> None:
        if not visit.ended and visit.pod.alive:
            leave(visit)
        respond(flow, visit)

    def watched_fail(flow: Flow, visit: Visit, *cause: str) -> None:
        here: Visit | None = visit
        while here is not None and not here.ended:
            leave(here)
            here = here.parent
        fail(flow, visit, *cause)

    monkeypatch.setattr(lifecycle, "SimPod", Watched)
    monkeypatch.setattr(Flow, "_send", watched_send)
    monkeypatch.setattr(Flow, "_reconnect", watched_reconnect)
    monkeypatch.setattr(Flow, "_respond", watched_respond)
    monkeypatch.setattr(Flow, "fail", watched_fail)


def _watch_queues(books: Books, monkeypatch: pytest.MonkeyPatch) -> None:
    """Messages that a broker keeps while no consumer is ready."""
    build, detach = SimService.__init__, Flow._detach

    class Queue(deque[Any]):
        station = ""

        def append(self, message: Any) -> None:
            super().append(message)
            books.came(self.station, message[0])
            books.counted(self.station, len(self))

        def clear(self) -> None:
            super().clear()
            books.counted(self.station, len(self))

    def watched_build(service: SimService, index: int, spec: Any) -> None:
        build(service, index, spec)
        service.waiting = Queue()
        service.waiting.station = f"queue of {spec.name}"

    def watched_detach(flow: Flow, request: Any, step: Any, source: int) -> None:
        station = f"queue of {flow._services[step.service].name}"
        if books.inside(station, request):
            books.went(station, request)
        detach(flow, request, step, source)

    monkeypatch.setattr(SimService, "__init__", watched_build)
    monkeypatch.setattr(Flow, "_detach", watched_detach)


def _run(books: Books, scenario: Scenario, policy: str) -> dict[str, tuple[float, float, int]]:
    simulation = Simulation(scenario, Engine(policy), seed=2)
    kernel: Kernel = simulation.kernel
    books.now = lambda: kernel.now
    simulation.run()
    return books.close()


def _check(found: dict[str, tuple[float, float, int]], *, end: float) -> None:
    for station, (area, sojourns, number) in found.items():
        length = area / end
        arrivals = number / end
        stay = sojourns / number if number else 0.0
        assert length == pytest.approx(arrivals * stay, rel=1e-9, abs=1e-9), station


def test_on_every_station_of_sock_shop(books: Books) -> None:
    scenario = load_scenario("sock-shop-full-100ms")
    load = tuple(replace(each, users=5) for each in scenario.load)
    found = _run(books, replace(scenario, load=load), "sophos")
    _check(found, end=books.now())
    busy = {station for station, (_, _, number) in found.items() if number}
    for name in ("pod front-end", "pod carts", "pod orders", "pod user", "node CPU", "pod CPU"):
        assert any(station.startswith(name) for station in busy), name


def test_on_every_station_of_the_dag_workflow_with_its_moves(books: Books) -> None:
    scenario = load_scenario("dag-workflow")
    load = tuple(replace(each, users=10) for each in scenario.load)
    simulation = replace(scenario, load=load, duration=600.0)
    _check(_run(books, simulation, "sophos-dag"), end=books.now())


def test_on_every_queue_of_the_messaging_application(books: Books) -> None:
    """Each node fails once, so that messages wait for consumers, requests die on the way, and CPUs lose their work."""
    scenario = load_scenario("messaging")
    failures = tuple(
        change
        for number, node in enumerate(scenario.nodes)
        for change in (
            NodeChange(100.0 + 60 * number, node.name, "down"),
            NodeChange(125.0 + 60 * number, node.name, "up"),
        )
    )
    control = replace(scenario.control, node_grace=0.0, toleration=0.0)
    found = _run(books, replace(scenario, node_changes=failures, duration=400.0, control=control), "ecotone")
    _check(found, end=books.now())
    assert sum(number for station, (_, _, number) in found.items() if station.startswith("queue")) > 0


def test_on_busy_stations_with_limits_that_lose_their_work(books: Books) -> None:
    body = """
  duration: 200s
  cluster:
    nodes: [{name: a, cpu: "1", memory: 4Gi}, {name: b, cpu: "2", memory: 4Gi}]
    network: {default: {rtt: 5ms, jitter: 1ms, loss: 1%}}
  application:
    name: shop
    services:
      - {name: web, replicas: 2, requests: {cpu: 100m}, limits: {cpu: 900m}, startup: 1s, endpoints: [{name: get, cpu: 20ms, stages: [[{call: db.read}]]}]}
      - {name: db, requests: {cpu: 400m}, startup: 1s, endpoints: [{name: read, cpu: 10ms}]}
  load: [{at: 5s, for: 190s, entry: web.get, from: [a, b], arrivals: {poisson: 35}}]
  control: {node-grace: 5s, toleration: 10s, timeout: 3s}
  events: [{at: 50s, node: a, state: down}, {at: 70s, node: a, state: up}, {at: 100s, node: b, state: down}, {at: 120s, node: b, state: up}]
"""
    found = _run(books, parse(body), "kube-default")
    _check(found, end=books.now())
    assert max(area / books.now() for area, _, _ in found.values()) > 2.0
