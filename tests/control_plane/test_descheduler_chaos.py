"""The closed loop while everything around it fails, seeded: nothing is lost, doubled or left behind.

Requests of scheduler and descheduler are refused (500, 409, 429), or carried out and never answered; programs are killed, and
the scheduler stays away for a while; the API server crashes and comes back; reservations are deleted or forged; targets are
cordoned; a disruption budget allows nothing; pods are replaced under their own name; a second descheduler acts beside the
first. Throughout, every workload keeps a ready pod and no budget is violated; when the faults stop, everything settles: no
reservation, no record of a surge, the replicas that were asked for.
"""

from __future__ import annotations

import contextlib
import json
import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from aiohttp import web

from control_plane.closed_loop import DEPLOYMENTS, GROUPS, MERGE, RESERVATIONS, app_group, install, tidy, where
from control_plane.cluster import Cluster, Refused
from control_plane.faulty_proxy import Fault, FaultyProxy
from control_plane.objects import deployment, node
from control_plane.processes import wait_until
from control_plane.programs import Program, run_ecotone

PDBS = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
WORKLOADS = {"front": 2, "solo": 1}
NAMED = "books"
"""A StatefulSet: its pods come back under their own names when the test takes them away."""
STATEFUL_SETS = "/apis/apps/v1/namespaces/default/statefulsets"
WRITES = ("reservations", "eviction", "scale", "deployments", "appgroups", "binding", "pods")
SIDES = ("east", "west")


@pytest.fixture(scope="module")
def cluster(start_cluster: Callable[..., Cluster]) -> Iterator[Cluster]:
    cluster = start_cluster(kwok=True)
    install(cluster)
    yield cluster
    cluster.stop()


class Faults:
    """One request in so many goes wrong, by the seed's choice, while ``on``."""

    def __init__(self, seed: int) -> None:
        self._draw = random.Random(seed)
        self.on = False

    def __call__(self, request: web.Request) -> Fault | None:
        if not self.on or "watch" in request.query or not any(part in request.path for part in WRITES):
            return None
        if self._draw.random() > (0.25 if request.method != "GET" else 0.15):
            return None
        return self._draw.choice([Fault.REFUSE_500, Fault.REFUSE_409, Fault.REFUSE_429, Fault.LOSE_ANSWER])


class Watch(threading.Thread):
    """Looks all the time whether a workload is without a ready pod."""

    def __init__(self, cluster: Cluster) -> None:
        super().__init__(daemon=True)
        self._cluster = cluster
        self._over = threading.Event()
        self.without: list[str] = []
        self.looks = 0

    def run(self) -> None:
        while not self._over.wait(0.05):
            try:
                pods = self._cluster.pods("default")
            except (OSError, Refused):
                continue
            self.looks += 1
            for name in WORKLOADS:
                if not any(one["metadata"]["name"].startswith(f"{name}-") and is_ready(one) for one in pods):
                    self.without.append(name)

    def stop(self) -> None:
        self._over.set()
        self.join(10)


def is_ready(pod: dict[str, Any]) -> bool:
    conditions = pod["status"].get("conditions", [])
    return "deletionTimestamp" not in pod["metadata"] and any(
        one["type"] == "Ready" and one["status"] == "True" for one in conditions
    )


def hasty_profile(cluster: Cluster, directory: Path) -> Path:
    """Policy `ecotone` without its patience, so that a short test sees many moves."""
    code, printed, problems = run_ecotone(cluster, "policies", "ecotone", "-o", "yaml")
    assert code == 0, problems
    document = yaml.safe_load(printed)
    for profile in document["profiles"]:
        hasty = {
            "coolDownSeconds": 0,
            "noReturnSeconds": 0,
            "reserveSeconds": 6,
            "minGain": 0.1,
            "minRelativeGain": 0.01,
        }
        profile["descheduler"] |= {**hasty, "lastReplicaGain": 0.01, "groupGain": 0.01}
    file = directory / "hasty.yaml"
    file.write_text(yaml.safe_dump(document))
    return file


def talk_to(cluster: Cluster, side: str) -> None:
    """The workloads now talk to the database of this side, and want to be near it."""
    other = next(one for one in SIDES if one != side)
    own = {"metadata": {"annotations": talk({f"db-{side}": 100})}}
    for path in (*(f"{DEPLOYMENTS}/{name}" for name in WORKLOADS), f"{STATEFUL_SETS}/{NAMED}"):
        cluster.call("PATCH", path, own, content_type=MERGE)
    for one, peers in ((side, dict.fromkeys((*WORKLOADS, NAMED), 100)), (other, {})):
        body = {"metadata": {"annotations": talk(peers)}}
        cluster.call("PATCH", f"{DEPLOYMENTS}/db-{one}", body, content_type=MERGE)


def talk(peers: dict[str, int]) -> dict[str, str]:
    """Requests and bytes per second with these peers."""
    bytes_per_second = {name: 500 * rate for name, rate in peers.items()}
    return {"ecotone.dev/requests": json.dumps(peers), "ecotone.dev/traffic": json.dumps(bytes_per_second)}


def build(cluster: Cluster) -> None:
    rtt = {one: {other: 80.0 for other in SIDES if other != one} for one in SIDES}
    cluster.create(*(node(one, annotations={"ecotone.dev/latencies": json.dumps(rtt[one])}) for one in SIDES))
    labels = {"app-group": "shop"}
    for side in SIDES:
        here = {"kubernetes.io/hostname": side}
        cluster.call("POST", DEPLOYMENTS, deployment(f"db-{side}", labels=labels, nodeSelector=here))
    for name, replicas in WORKLOADS.items():
        cluster.call("POST", DEPLOYMENTS, deployment(name, replicas=replicas, labels=labels))
    named = deployment(NAMED, replicas=2, labels=labels)
    named["kind"], named["spec"]["serviceName"] = "StatefulSet", NAMED
    cluster.call("POST", STATEFUL_SETS, named)
    cluster.call("POST", GROUPS, app_group())


def all_placed(cluster: Cluster) -> bool:
    return all(len(where(cluster, name)) == count for name, count in WORKLOADS.items())


class Troubles:
    """What people, other programs and machines do meanwhile."""

    def __init__(self, cluster: Cluster, start: dict[str, Callable[[], Program]], draw: random.Random) -> None:
        self._cluster = cluster
        self._start = start
        self._draw = draw
        self.programs = {name: make().wait_ready() for name, make in start.items()}
        self.made: Counter[str] = Counter()
        self.violated: list[str] = []
        common = [self.kill, self.kill, self.forge, self.steal, self.cordon, self.forbid, self.twice]
        self._kinds = [*common, *common, self.leave, self.leave, self.replace, self.replace, self.crash]

    def one(self) -> None:
        trouble = self._draw.choice(self._kinds)
        self.made[trouble.__name__] += 1
        trouble()

    def leave(self) -> None:
        """The scheduler is away while pods are evicted."""
        self.programs["scheduler"].kill()
        time.sleep(4.0)
        self.programs["scheduler"] = self._start["scheduler"]()

    def replace(self) -> None:
        path = f"/api/v1/namespaces/default/pods/{NAMED}-{self._draw.randrange(2)}"
        with contextlib.suppress(Refused):
            self._cluster.call("DELETE", f"{path}?gracePeriodSeconds=0")

    def crash(self) -> None:
        self._cluster.restart_apiserver()

    def kill(self) -> None:
        name = self._draw.choice(sorted(self.programs))
        self.programs[name].kill()
        self.programs[name] = self._start[name]()

    def forge(self) -> None:
        spec = {"workload": "front", "node": self._draw.choice(SIDES), "replacesUID": "nobody"}
        spec["expires"] = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 4))
        name = f"forged-{self._draw.randrange(10**6)}"
        body = {"apiVersion": "ecotone.dev/v1alpha1", "kind": "Reservation", "metadata": {"name": name}, "spec": spec}
        self._cluster.call("POST", RESERVATIONS, body)

    def steal(self) -> None:
        self._cluster.call("DELETE", RESERVATIONS)

    def cordon(self) -> None:
        side = self._draw.choice(SIDES)
        self._cluster.call("PATCH", f"/api/v1/nodes/{side}", {"spec": {"unschedulable": True}}, content_type=MERGE)
        time.sleep(1.5)
        self._cluster.call("PATCH", f"/api/v1/nodes/{side}", {"spec": {"unschedulable": None}}, content_type=MERGE)

    def forbid(self) -> None:
        spec = {"maxUnavailable": 0, "selector": {"matchLabels": {"app": "front"}}}
        body = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "p"}, "spec": spec}
        self._cluster.call("POST", PDBS, body)
        wait_until(self._in_force, timeout=10, what="budget in force")
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
        second = self._start["descheduler"]()
        time.sleep(3.0)
        second.kill()


def chaos(cluster: Cluster, directory: Path, *, seed: int, faults: int, seconds: float) -> int:
    """Until so many faults were injected, or the time is up; returns how many it were."""
    draw = random.Random(seed)
    proxy = FaultyProxy(cluster, directory)
    judge = Faults(seed)
    proxy.judges.append(judge)
    config = hasty_profile(cluster, directory)
    common = (f"--config={config}", "--lease-duration=3", "--lease-renew-deadline=2", "--lease-retry-period=0.3")
    start: dict[str, Callable[[], Program]] = {
        "scheduler": lambda: Program(cluster, "scheduler", *common, "--request-timeout=1", kubeconfig=proxy.kubeconfig),
        "descheduler": lambda: Program(
            cluster, "descheduler", *common, "--request-timeout=1", "--ready-seconds=10", kubeconfig=proxy.kubeconfig
        ),
    }
    build(cluster)
    troubles = Troubles(cluster, start, draw)
    watch = Watch(cluster)
    try:
        wait_until(
            lambda: all(len(where(cluster, name)) == count for name, count in WORKLOADS.items()),
            timeout=40,
            what="pods",
        )
        wait_until(lambda: all(map(is_ready, cluster.pods("default"))), timeout=40, what="ready pods")
        watch.start()
        judge.on = True
        end = time.monotonic() + seconds
        turn = 0
        while proxy.faults < faults and time.monotonic() < end:
            talk_to(cluster, SIDES[turn % 2])
            turn += 1
            time.sleep(draw.uniform(1.0, 5.0))
            troubles.one()
        judge.on = False
        talk_to(cluster, SIDES[turn % 2])
        settle(cluster, SIDES[turn % 2])
        watch.stop()
        assert not troubles.violated, f"evicted against a budget of nothing: {troubles.violated}"
        assert not watch.without, f"without a ready pod: {watch.without[:5]} in {watch.looks} looks"
        assert watch.looks > 10
        print(f"seed {seed}: {proxy.faults} faults in requests, {dict(troubles.made)}")  # noqa: T201 - a campaign's count
    finally:
        cluster.call("DELETE", STATEFUL_SETS)
        watch.stop() if watch.is_alive() else None
        for one in troubles.programs.values():
            one.kill()
        proxy.stop()
        tidy(cluster)
    return proxy.faults


def settle(cluster: Cluster, side: str) -> None:
    """The faults are over: everything comes to rest where it should."""

    def at_rest() -> bool:
        placed = all(where(cluster, name) == [side] * count for name, count in WORKLOADS.items())
        deployments = cluster.list(DEPLOYMENTS)
        recorded = any("ecotone.dev/surge" in one["metadata"].get("annotations", {}) for one in deployments)
        wanted = all(WORKLOADS.get(one["metadata"]["name"], 1) == one["spec"]["replicas"] for one in deployments)
        return placed and wanted and not recorded and not cluster.list(RESERVATIONS)

    wait_until(at_rest, timeout=120, what=f"rest on {side}", every=0.2)


def test_a_sample_of_chaos(cluster: Cluster, tmp_path: Path) -> None:
    assert chaos(cluster, tmp_path, seed=1, faults=12, seconds=25) >= 5


@pytest.mark.slow
def test_a_thousand_faults(cluster: Cluster, tmp_path: Path) -> None:
    injected, seed = 0, 100
    while injected < 1000:
        directory = tmp_path / str(seed)
        directory.mkdir()
        injected += chaos(cluster, directory, seed=seed, faults=150, seconds=600)
        seed += 1
