"""A descheduler that begins before everything is measured: figures come one after the other, and it remembers.

The application is that of the test bed: web stays with its users on edge-1, db in the cloud, and api stands between them.
Over fog-1 or edge-2 a request takes two links of 20 ms, the direct link takes 50.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from descheduling.applications import NOW, chain, nodes, put
from ecotone.descheduling import deschedule
from ecotone.descheduling.grounds import Grounds
from ecotone.descheduling.ledger import Ledger
from ecotone.descheduling.missing import LONGEST
from ecotone.model import ClusterState, Evict, Node, WorkloadKey
from ecotone.planning.plan import Plan, make_plan
from ecotone.scheduling import POLICIES
from ecotone.scheduling.profiles.descheduler import BEST_GAIN, PLANS, DeschedulerSettings
from ecotone.scheduling.response.graph import applications
from ecotone.scheduling.response.prediction import Prediction
from ecotone.scheduling.response.ways import requests_between

NODES = ("cloud-1", "edge-1", "edge-2", "fog-1")
LONG = {frozenset({"cloud-1", "edge-1"}): 50.0}
SETTINGS = replace(
    PLANS, min_gain=5.0, cool_down=5.0, stays=lambda pod: None if pod.name.startswith("api") else "pinned"
)
RATE = 4.0
ROUND = 5.0

CALLS = {"web": {"api": RATE}, "api": {"db": RATE}, "db": {}}
Memory = Mapping[str, object]


def rtt(one: str, other: str, links: Mapping[frozenset[str], float] = LONG) -> float:
    return links.get(frozenset({one, other}), 20.0)


class Bed:
    """What is measured so far, where api is, and what the descheduler remembers of the rounds before."""

    def __init__(self, api: str = "cloud-1", *, measured: Iterable[str] = (), heard: Iterable[str] = CALLS) -> None:
        self.now = NOW
        self.api = api
        self.links = dict(LONG)
        self.measured = set(measured)
        self.heard = set(heard)
        self.blocked: set[frozenset[str]] = set()
        self.users = True
        self.memory: Memory = {}
        self.last_moves: dict[WorkloadKey, float] = {}

    def state(self) -> ClusterState:
        state = ClusterState(now=self.now)
        state.set_nodes(
            Node(
                name, {"cpu": 4000, "memory": 1 << 33, "pods": 50}, available_cpu=4000.0, available_memory=float(1 << 33),
                latencies={
                    other: rtt(name, other, self.links)
                    for other in NODES
                    if other != name and name in self.measured and frozenset({name, other}) not in self.blocked
                },
                measured_at=self.now if name in self.measured else None,
            )
            for name in NODES
        )  # fmt: skip
        homes = {"web": "edge-1", "api": self.api, "db": "cloud-1"}
        for name, home in homes.items():
            users = {"edge-1": RATE} if name == "web" and self.users else None
            put(state, name, [home], calls=CALLS[name], users=users, use=20.0)
            key = WorkloadKey("default", name)
            known = state.workloads[key]
            state.put_workload(
                replace(known, measured_at=self.now)
                if name in self.heard
                else replace(
                    known, measured_at=None, cpu_usage=None, memory_usage=None, traffic=None, requests=None, calls=None
                )
            )
        state.memory = dict(self.memory)
        state.last_moves = dict(self.last_moves)
        return state

    def round(self, *, seconds: float = ROUND, settings: DeschedulerSettings = SETTINGS) -> list[str]:
        """The targets of this round's moves, which are made."""
        self.now += seconds
        found = deschedule(self.state().freeze(), "ecotone", settings)
        self.memory = found.memory
        targets = [each.target for each in found.decisions if isinstance(each, Evict)]
        for target in targets:
            self.api = target
            self.last_moves[WorkloadKey("default", "api")] = self.now
        return targets

    def rounds(self, count: int, **more: Any) -> list[str]:
        return [target for _ in range(count) for target in self.round(**more)]

    def why_api_stays(self, settings: DeschedulerSettings = SETTINGS) -> str:
        """What the rule itself says of it."""
        kept: dict[WorkloadKey, str] = {}
        deschedule(self.state().freeze(), "ecotone", replace(settings, told=kept.__setitem__))
        return kept.get(WorkloadKey("default", "api"), "")

    def plan(self, settings: DeschedulerSettings = SETTINGS) -> Plan:
        return make_plan(self.state().freeze(), replace(POLICIES["ecotone"], descheduler=settings), moves=True)


@pytest.mark.parametrize("order", [NODES, NODES[::-1], ("edge-1", "fog-1", "cloud-1", "edge-2")])
@pytest.mark.parametrize("start", NODES)
def test_while_nodes_are_measured_one_after_the_other_a_pod_moves_at_most_once(
    order: tuple[str, ...], start: str
) -> None:
    bed = Bed(start)
    moved = []
    for name in order:
        bed.measured.add(name)
        moved += bed.rounds(3)
    moved += bed.rounds(20)
    assert len(moved) <= 1
    assert bed.api in ("fog-1", "edge-2")


def test_a_pair_that_is_never_measured_is_waited_for_once_and_not_for_ever() -> None:
    bed = Bed("fog-1", measured=NODES)
    bed.blocked = {frozenset({"edge-1", "fog-1"}), frozenset({"edge-1", "edge-2"})}
    waited = int(LONGEST / ROUND)
    assert bed.rounds(waited) == []
    assert bed.rounds(2) == ["cloud-1"]
    assert bed.rounds(waited) == []


def test_the_wait_is_over_for_good_also_after_rounds_in_which_nobody_asked() -> None:
    bed = Bed("fog-1", measured=NODES)
    bed.blocked = {frozenset({"edge-1", "fog-1"}), frozenset({"edge-1", "edge-2"})}
    assert bed.rounds(40) == []
    assert bed.rounds(30, settings=replace(SETTINGS, stays=lambda _: "held back")) == []
    assert bed.round() == ["cloud-1"]


def test_a_plan_that_pays_however_near_an_unmeasured_pair_is_does_not_wait() -> None:
    bed = Bed("cloud-1", measured=["edge-1", "fog-1"])
    bed.links[frozenset({"cloud-1", "edge-1"})] = 400.0
    bed.links[frozenset({"edge-1", "fog-1"})] = 1.0
    assert bed.round() == ["fog-1"]
    other = Bed("edge-2", measured=["edge-1", "fog-1"])
    other.links |= {frozenset({"edge-1", "edge-2"}): 90.0, frozenset({"edge-1", "fog-1"}): 2.0}
    assert other.round() == ["fog-1"], "the way from edge-2 to cloud-1 is unknown, and no way is shorter than none"


def test_the_pair_that_keeps_a_pod_is_named() -> None:
    bed = Bed("fog-1", measured=NODES)
    bed.blocked = {frozenset({"edge-1", "fog-1"})}
    assert "edge-1 - fog-1 not measured yet" in bed.why_api_stays()
    assert "300 s at most" in bed.why_api_stays()
    bed.round(seconds=100.0)
    bed.now += 60.0
    assert "240 s at most" in bed.why_api_stays()


def test_plan_does_not_wait_and_names_what_its_moves_rest_on() -> None:
    """It has no memory of when waiting began: it shows what will be done once that is over."""
    bed = Bed("fog-1", measured=NODES)
    bed.blocked = {frozenset({"edge-1", "fog-1"}), frozenset({"edge-1", "edge-2"})}
    plan = bed.plan()
    assert [each.target for each in plan.decisions if isinstance(each, Evict)] == ["cloud-1"]
    (note,) = [each for each in plan.notes if "nobody has measured" in each]
    assert "edge-1 - fog-1" in note and "300 s at most" in note
    bed.blocked = set()
    assert not any("nobody has measured" in each for each in bed.plan().notes)


def test_a_workload_without_any_figure_is_waited_for() -> None:
    bed = Bed("fog-1", measured=NODES, heard=["web", "api"])
    bed.links[frozenset({"cloud-1", "fog-1"})] = 200.0
    bed.links[frozenset({"cloud-1", "edge-2"})] = 200.0
    # Without db's side and api's own calls nobody could know that the cloud pulls as well.
    assert bed.rounds(10) == []
    assert "default/db not measured yet" in bed.why_api_stays()
    bed.heard.add("db")
    assert bed.round() == ["cloud-1"]


def moved_on_half_a_picture() -> Bed:
    """fog-1 was left since its link to edge-1 seemed long, after nobody had measured it for as long as is waited for."""
    bed = Bed("fog-1", measured=NODES)
    bed.blocked = {frozenset({"edge-1", "fog-1"}), frozenset({"edge-1", "edge-2"})}
    assert bed.rounds(int(LONGEST / ROUND) + 2) == ["cloud-1"]
    return bed


CAREFUL = replace(SETTINGS, min_gain=6.0)  # a return by the same figures would have to save 12 of the 10 ms


def test_what_was_left_for_want_of_a_figure_is_returned_to_when_that_is_known() -> None:
    bed = moved_on_half_a_picture()
    bed.blocked = {frozenset({"edge-1", "edge-2"})}
    assert bed.rounds(2, settings=CAREFUL) == ["fog-1"]


def test_where_the_network_has_changed_a_return_is_like_any_move() -> None:
    bed = Bed("fog-1", measured=NODES)
    bed.links |= {frozenset({"edge-1", "fog-1"}): 60.0, frozenset({"edge-1", "edge-2"}): 60.0}
    assert bed.round() == ["cloud-1"]
    del bed.links[frozenset({"edge-1", "fog-1"})]
    assert bed.rounds(2, settings=CAREFUL) == ["fog-1"]


def test_by_the_same_figures_a_return_must_still_save_twice_as_much() -> None:
    bed = Bed("fog-1", measured=NODES)
    bed.links |= {frozenset({"edge-1", "fog-1"}): 45.0, frozenset({"edge-1", "edge-2"}): 60.0}
    assert bed.round() == ["cloud-1"]
    # A little has changed on both ways, less than what counts as another figure.
    bed.links |= {frozenset({"edge-1", "fog-1"}): 36.1, frozenset({"cloud-1", "edge-1"}): 62.4}
    without_memory = Bed("cloud-1", measured=NODES)
    without_memory.links = dict(bed.links)
    assert without_memory.round() == ["fog-1"]
    assert bed.rounds(50) == []
    kept, bed.memory = bed.memory, {name: each for name, each in bed.memory.items() if name != "at rest"}
    assert "doubled for a return" in bed.why_api_stays()
    bed.memory = kept
    assert bed.rounds(15) == ["fog-1"], "after noReturnSeconds it is a move like any other"


def test_what_was_remembered_survives_being_written_as_json() -> None:
    bed = moved_on_half_a_picture()
    bed.memory = json.loads(json.dumps(bed.memory))
    bed.blocked = {frozenset({"edge-1", "edge-2"})}
    assert bed.rounds(2, settings=CAREFUL) == ["fog-1"]


@pytest.mark.parametrize("junk", [7, "x", [], {"a - b": "x"}, {"default/api": {"fog-1": [1, 2]}}, {"default/api": 3}])
def test_a_memory_of_somebody_elses_is_no_error(junk: object) -> None:
    bed = Bed("cloud-1", measured=NODES)
    bed.memory = {"missing": junk, "grounds": junk}
    assert bed.round()[0] in ("fog-1", "edge-2")


SINGLE = replace(
    BEST_GAIN, single_replicas="surge", min_gain=5.0, last_replica_gain=0.1, cool_down=5.0, stays=SETTINGS.stays
)


def test_a_pod_judged_alone_waits_for_the_ways_to_its_peers() -> None:
    bed = Bed("fog-1", measured=NODES)
    bed.blocked = {frozenset({"edge-1", "fog-1"}), frozenset({"edge-1", "edge-2"})}
    assert bed.rounds(int(LONGEST / ROUND), settings=SINGLE) == []
    assert any("edge-1 - fog-1" in each for each in bed.plan(SINGLE).notes)
    assert bed.rounds(2, settings=SINGLE) == ["cloud-1"]
    bed.blocked = set()
    assert bed.rounds(2, settings=SINGLE)[0] in ("fog-1", "edge-2")


def test_a_pod_judged_alone_does_not_return_by_the_same_figures() -> None:
    bed = Bed("fog-1", measured=NODES)
    bed.links |= {frozenset({"edge-1", "fog-1"}): 45.0, frozenset({"edge-1", "edge-2"}): 60.0}
    assert bed.round(settings=SINGLE) == ["cloud-1"]
    bed.links |= {frozenset({"edge-1", "fog-1"}): 36.1, frozenset({"cloud-1", "edge-1"}): 62.4}
    assert bed.rounds(50, settings=SINGLE) == []
    bed.links[frozenset({"edge-1", "fog-1"})] = 20.0
    assert bed.round(settings=SINGLE) == ["fog-1"]


def test_what_a_pods_own_traffic_decided_does_not_bind_what_users_requests_decide() -> None:
    state = Bed("cloud-1", measured=NODES).state()
    pod = next(pod for pod in state.usage.pods() if pod.name == "api-0")
    ledger = Ledger(state, SETTINGS)
    ledger.accept(replace(pod, node="fog-1"), grounds=Grounds({}))
    assert ledger.returns(pod, "fog-1")
    assert not ledger.returns(pod, "fog-1", counted=True)
    ledger.accept(replace(pod, node="fog-1"), grounds=Grounds({}, counted=True))
    assert ledger.returns(pod, "fog-1", counted=True)
    ledger.accept(replace(pod, node="fog-1"))
    assert ledger.returns(pod, "fog-1", counted=True), "a move of which nothing is remembered"


def test_requests_between_nodes_say_what_the_network_costs() -> None:
    """Three ways to share requests out among replicas, each against the prediction's own figure."""
    for near in (None, "PreferSameZone", "PreferSameNode"):
        state = nodes("a", "b", "c", "d", zones={"a": "x", "b": "x", "c": "y", "d": "y"})
        chain(state, ["a", "b", "c"], users={"a": 3.0, "d": 5.0}, near=near)
        (application,) = applications(state)
        apart = np.arange(16.0).reshape(4, 4)
        application = replace(application, rtt=np.triu(apart, 1) + np.triu(apart, 1).T)
        counts = application.counts
        network = Prediction(application).network(counts[np.newaxis].astype(np.float64))[0] * application.rate
        between = requests_between(application, counts)
        assert (np.triu(between) * application.rtt).sum() == pytest.approx(network)
