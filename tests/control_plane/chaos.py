"""Everything that can go wrong around the closed loop, by the choice of a seed, and counted by kind.

Requests of scheduler and descheduler are refused (500, 409, 429), or carried out and never answered. Troubles are what
people, other programs and machines do; most wait until a move is under way, so that they hit it in the middle. A campaign
draws them from a shuffled deck that holds every kind, so that none is left to chance.
"""

from __future__ import annotations

import contextlib
import random
import threading
import time
from collections import Counter
from collections.abc import Callable
from http.client import HTTPException
from typing import Any

from aiohttp import web

from control_plane.closed_loop import DEPLOYMENTS, GROUPS, MERGE, RESERVATIONS, status
from control_plane.cluster import Cluster, Refused
from control_plane.faulty_proxy import Fault
from control_plane.processes import wait_until
from control_plane.programs import Program

PDBS = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
WORKLOADS = {"front": 2, "cart": 3, "solo": 1}
NAMED = "books"
"""A StatefulSet: its pods come back under their own names when the test takes them away."""
WRITES = ("reservations", "eviction", "scale", "deployments", "appgroups", "binding", "pods")
SIDES = ("east", "west")
UNDER_WAY_SECONDS = 3.0
"""How long a trouble waits for a move to hit."""


class Faults:
    """One request in so many goes wrong, by the seed's choice, while ``on``."""

    def __init__(self, seed: int) -> None:
        self._draw = random.Random(seed)
        self.on = False
        self.made: Counter[str] = Counter()
        self.seen: Counter[str] = Counter()

    def __call__(self, request: web.Request) -> Fault | None:
        if not self.on or "watch" in request.query or not any(part in request.path for part in WRITES):
            return None
        what = "eviction" if request.path.endswith("/eviction") else "request"
        self.seen[what] += 1
        if self._draw.random() > (0.3 if request.method != "GET" else 0.15):
            return None
        fault = self._draw.choice([Fault.REFUSE_500, Fault.REFUSE_409, Fault.REFUSE_429, Fault.LOSE_ANSWER])
        if fault is Fault.LOSE_ANSWER and "limit" in request.query and self._draw.random() < 0.75:
            fault = Fault.REFUSE_500  # a list that gets no answer keeps a program from its work for twenty seconds
        self.made[f"{what} {fault.name.lower().replace('_', ' ')}"] += 1
        return fault


class Interruption:
    """Something that happens between a decision and its eviction: as soon as its reservation is asked for."""

    def __init__(self) -> None:
        self._waiting: Callable[[], None] | None = None
        self._happened = threading.Event()

    def __call__(self, request: web.Request) -> Fault | None:
        if request.method == "POST" and request.path.endswith("/reservations") and self._waiting is not None:
            what, self._waiting = self._waiting, None
            what()
            self._happened.set()
        return None

    def at_the_next_reservation(self, what: Callable[[], None]) -> bool:
        """True if there was one in time; else it happens now."""
        self._happened.clear()
        self._waiting = what
        if self._happened.wait(UNDER_WAY_SECONDS):
            return True
        unasked, self._waiting = self._waiting, None
        if unasked is None:
            return self._happened.wait(UNDER_WAY_SECONDS)
        unasked()
        return False


class Watch(threading.Thread):
    """Looks all the time whether a workload is without a ready pod, and what became of moves."""

    def __init__(self, cluster: Cluster) -> None:
        super().__init__(daemon=True)
        self._cluster = cluster
        self._over = threading.Event()
        self.without: list[str] = []
        self.looks = 0
        self.moves: dict[tuple[str, str], dict[str, Any]] = {}

    def run(self) -> None:
        while not self._over.wait(0.05):
            try:
                pods = self._cluster.pods("default")
                told = status(self._cluster)
            except (OSError, HTTPException, Refused):
                continue  # the API server is being restarted
            self.looks += 1
            self.moves |= {(one["uid"], one["at"]): one for one in told.get("moves", [])}
            for name in WORKLOADS:
                if not any(one["metadata"]["name"].startswith(f"{name}-") and is_ready(one) for one in pods):
                    self.without.append(name)

    def outcomes(self) -> Counter[str]:
        """Moves by what became of them; those of an only replica apart."""
        found = self.moves.values()
        return Counter(f"{'surge ' if one.get('surge') else ''}{one['outcome'].lower()}" for one in found)

    def stop(self) -> bool:
        """True if it looked to the end."""
        looked = self.is_alive()
        self._over.set()
        if looked:
            self.join(10)
        return looked


def is_ready(pod: dict[str, Any]) -> bool:
    conditions = pod["status"].get("conditions", [])
    return "deletionTimestamp" not in pod["metadata"] and any(
        one["type"] == "Ready" and one["status"] == "True" for one in conditions
    )


class Troubles:
    """What people, other programs and machines do meanwhile."""

    def __init__(
        self,
        cluster: Cluster,
        start: dict[str, Callable[[], Program]],
        draw: random.Random,
        interruption: Interruption,
    ) -> None:
        self._cluster = cluster
        self._start = start
        self._draw = draw
        self._interruption = interruption
        self.programs = {name: make().wait_ready(60) for name, make in start.items()}
        self.made: Counter[str] = Counter()
        self.violated: list[str] = []
        self._deck: list[Callable[[], None]] = []

    @property
    def kinds(self) -> list[Callable[[], None]]:
        return [
            self.kill, self.forge, self.steal, self.cordon, self.forbid, self.twice, self.leave, self.replace,
            self.crash,
        ]  # fmt: skip

    def one(self) -> None:
        if not self._deck:
            self._deck = self.kinds
            self._draw.shuffle(self._deck)
        trouble = self._deck.pop()
        self.made[trouble.__name__] += 1
        trouble()

    def _in_mid_move(self, name: str) -> None:
        """Waits until a reservation is there, which is from before an eviction until its replacement is ready."""
        with contextlib.suppress(TimeoutError):
            wait_until(lambda: bool(self._cluster.list(RESERVATIONS)), timeout=UNDER_WAY_SECONDS, what="move")
            self.made[f"{name} in mid-move"] += 1

    def leave(self) -> None:
        """The scheduler is away while pods are evicted."""
        self._in_mid_move("leave")
        self.programs["scheduler"].kill()
        time.sleep(3.0)
        self.programs["scheduler"] = self._start["scheduler"]()

    def replace(self) -> None:
        """A pod that is to be evicted makes way for another of the same name."""
        path = f"/api/v1/namespaces/default/pods/{NAMED}-{self._draw.randrange(2)}"

        def replaced() -> None:
            with contextlib.suppress(Refused):
                self._cluster.call("DELETE", f"{path}?gracePeriodSeconds=0")

        self.made["replace in mid-move"] += self._interruption.at_the_next_reservation(replaced)

    def crash(self) -> None:
        self._in_mid_move("crash")
        self._cluster.restart_apiserver()

    def kill(self) -> None:
        name = self._draw.choice(sorted(self.programs))
        self._in_mid_move("kill")
        self.programs[name].kill()
        self.programs[name] = self._start[name]()

    def forge(self) -> None:
        spec = {"workload": "front", "node": self._draw.choice(SIDES), "replacesUID": "nobody"}
        spec["expires"] = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 4))
        name = f"forged-{self._draw.randrange(10**6)}"
        body = {"apiVersion": "ecotone.dev/v1alpha1", "kind": "Reservation", "metadata": {"name": name}, "spec": spec}
        self._cluster.call("POST", RESERVATIONS, body)

    def steal(self) -> None:
        self._in_mid_move("steal")
        self._cluster.call("DELETE", RESERVATIONS)

    def cordon(self) -> None:
        side = self._draw.choice(SIDES)
        self.made["cordon in mid-move"] += self._interruption.at_the_next_reservation(lambda: self._mark(side, True))
        time.sleep(1.0)
        self._mark(side, None)

    def _mark(self, side: str, unschedulable: bool | None) -> None:
        body = {"spec": {"unschedulable": unschedulable}}
        self._cluster.call("PATCH", f"/api/v1/nodes/{side}", body, content_type=MERGE)

    def forbid(self) -> None:
        """A disruption budget that allows nothing: whoever of `front` is ready now stays."""
        spec = {"maxUnavailable": 0, "selector": {"matchLabels": {"app": "front"}}}
        body = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "p"}, "spec": spec}
        self._cluster.call("POST", PDBS, body)
        wait_until(self._in_force, timeout=60, what="budget in force")
        before = self._fronts()
        time.sleep(1.5)
        self.violated += sorted(before - self._fronts())
        self._cluster.call("DELETE", f"{PDBS}/p")

    def _in_force(self) -> bool:
        found = self._cluster.call("GET", f"{PDBS}/p")
        return bool(found.get("status", {}).get("observedGeneration"))

    def _fronts(self) -> set[str]:
        """Pods of `front` that run and were not asked to go."""
        pods = self._cluster.pods("default")
        return {
            one["metadata"]["uid"] for one in pods if one["metadata"]["name"].startswith("front-") and is_ready(one)
        }

    def twice(self) -> None:
        """A second descheduler acts beside the first."""
        second = self._start["descheduler"]()
        with contextlib.suppress(TimeoutError):  # its first requests fail, too
            second.wait_ready(20)
            self._in_mid_move("twice")
            time.sleep(1.0)
        second.kill()

    def see_to_the_breaker(self) -> None:
        """Three bad replacements in a row stop the descheduler for ten minutes; somebody who has seen to it starts it anew.

        Without that a campaign would wait for faults that cannot come: nothing moves meanwhile.
        """
        if not status(self._cluster).get("breaker", {}).get("until"):
            return
        self.made["breaker opened"] += 1
        self.programs["descheduler"].kill()
        forgotten = {"status": {"breaker": None, "moves": None}}
        self._cluster.call("PATCH", f"{GROUPS}/shop/status", forgotten, content_type=MERGE)
        self.programs["descheduler"] = self._start["descheduler"]()


def settle(cluster: Cluster, places: dict[str, list[str]]) -> None:
    """The faults are over: everything comes to rest where it should, and nothing is left behind."""

    def at_rest() -> bool:
        deployments = cluster.list(DEPLOYMENTS)
        recorded = any("ecotone.dev/surge" in one["metadata"].get("annotations", {}) for one in deployments)
        wanted = all(WORKLOADS.get(one["metadata"]["name"], 1) == one["spec"]["replicas"] for one in deployments)
        return wanted and not recorded and not cluster.list(RESERVATIONS) and placed(cluster) == places

    wait_until(at_rest, timeout=180, what=f"rest at {places}", promise="lost, doubled or left behind", every=0.2)


def placed(cluster: Cluster) -> dict[str, list[str]]:
    """Where the ready pods of each workload are."""
    pods = [one for one in cluster.pods("default") if is_ready(one)]
    return {
        name: sorted(one["spec"]["nodeName"] for one in pods if one["metadata"]["name"].startswith(f"{name}-"))
        for name in WORKLOADS
    }
