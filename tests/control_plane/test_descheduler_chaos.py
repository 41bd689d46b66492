"""The closed loop while everything around it fails (see `chaos`): nothing is lost, doubled or left behind.

Throughout, every workload keeps a ready pod and no budget is violated; when the faults stop, everything settles: no
reservation, no record of a surge, the replicas that were asked for, where they should be.
"""

from __future__ import annotations

import json
import random
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from control_plane.chaos import NAMED, SIDES, WORKLOADS, Faults, Interruption, Troubles, Watch, is_ready, placed, settle
from control_plane.closed_loop import DEPLOYMENTS, GROUPS, MERGE, app_group, install, tidy
from control_plane.cluster import Cluster
from control_plane.faulty_proxy import FaultyProxy
from control_plane.objects import deployment, node
from control_plane.processes import wait_until
from control_plane.programs import Program, run_ecotone

STATEFUL_SETS = "/apis/apps/v1/namespaces/default/statefulsets"
CAMPAIGNS = range(100, 105)
FAULTS_EACH = 210
"""Five of them make a thousand and more."""
TURNS_EVERY = 15.0
"""Seconds after which the workloads get another peer, whether they have reached the last one or not."""
EVERY_KIND = (
    "forbid",  # a disruption budget of zero
    "replace in mid-move",
    "eviction refuse 429",
    "crash in mid-move",
    "twice in mid-move",
    "steal in mid-move",
    "forge",
    "leave in mid-move",
    "cordon in mid-move",
    "kill in mid-move",
)
"""What the campaigns together must have seen; the last replica is among the moves (`surge`)."""


@pytest.fixture(scope="module")
def cluster(start_cluster: Callable[..., Cluster]) -> Iterator[Cluster]:
    cluster = start_cluster(kwok=True)
    install(cluster)
    yield cluster
    cluster.stop()


def hasty_profile(cluster: Cluster, directory: Path) -> Path:
    """Policy `ecotone-fast` without its patience, so that a short test sees many moves.

    All replicas of a workload are to follow its peer from side to side, and each side is one node.
    """
    code, printed, problems = run_ecotone(cluster, "policies", "ecotone-fast", "-o", "yaml")
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


def build(cluster: Cluster, *, single_replicas: str) -> None:
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
    cluster.call("POST", GROUPS, app_group(descheduler={"coolDownSeconds": 0, "singleReplicas": single_replicas}))


def all_ready(cluster: Cluster) -> bool:
    pods = cluster.pods("default")
    return len(pods) == sum(WORKLOADS.values()) + 2 + len(SIDES) and all(map(is_ready, pods))


def chaos(
    cluster: Cluster, directory: Path, *, seed: int, faults: int, seconds: float, single_replicas: str = "surge"
) -> Counter[str]:
    """Until so many faults were injected, or the time is up; returns how many of each kind, and what became of moves."""
    draw = random.Random(seed)
    proxy = FaultyProxy(cluster, directory)
    judge, interruption = Faults(seed), Interruption()
    proxy.judges += [interruption, judge]
    config = hasty_profile(cluster, directory)
    common = (f"--config={config}", "--lease-duration=3", "--lease-renew-deadline=2", "--lease-retry-period=0.3")

    def program(name: str, *more: str) -> Program:
        return Program(cluster, name, *common, "--request-timeout=1", *more, kubeconfig=proxy.kubeconfig)

    start: dict[str, Callable[[], Program]] = {
        "scheduler": lambda: program("scheduler"),
        "descheduler": lambda: program("descheduler", "--ready-seconds=45"),
    }
    build(cluster, single_replicas=single_replicas)
    troubles = Troubles(cluster, start, draw, interruption)
    watch = Watch(cluster)
    turn, begun = 0, time.monotonic()
    try:
        wait_until(lambda: all_ready(cluster), timeout=120, what="ready pods")
        alone = placed(cluster)["solo"]
        watch.start()
        judge.on = True
        end = time.monotonic() + seconds
        side, since = SIDES[1], 0.0
        while judge.made.total() + turn < faults and time.monotonic() < end:
            # Gains are measured against a world that stays as it is for the time of a move.
            if placed(cluster)["front"] == [side] * 2 or time.monotonic() - since > TURNS_EVERY:
                side, since = SIDES[1 - SIDES.index(side)], time.monotonic()
                talk_to(cluster, side)
            turn += 1
            troubles.one()
            troubles.see_to_the_breaker()
            time.sleep(draw.uniform(0.2, 1.0))
        judge.on = False
        troubles.see_to_the_breaker()
        places = {name: [side] * count for name, count in WORKLOADS.items()}
        settle(cluster, places | ({"solo": alone} if single_replicas == "never" else {}))
        assert watch.stop(), "nobody looked to the end"
        assert not troubles.violated, f"evicted against a budget of nothing: {troubles.violated}"
        assert not watch.without, f"without a ready pod: {watch.without[:5]} in {watch.looks} looks"
        assert watch.looks > 10
    finally:
        watch.stop()
        print(f"seed {seed}: {turn} turns in {time.monotonic() - begun:.0f} s, {told(judge.made + troubles.made)}")  # noqa: T201
        for one in troubles.programs.values():
            one.kill()
        proxy.stop()
        cluster.call("DELETE", STATEFUL_SETS)
        tidy(cluster)
    found = judge.made + troubles.made + Counter(faults=judge.made.total() + turn)
    return found + Counter({f"moves {name}": count for name, count in watch.outcomes().items()})


def told(found: Counter[str]) -> str:
    return ", ".join(f"{count} {name}" for name, count in sorted(found.items()))


def test_a_sample_of_chaos(cluster: Cluster, tmp_path: Path) -> None:
    found = chaos(cluster, tmp_path, seed=1, faults=12, seconds=25)
    assert found["faults"] >= 5, told(found)


@pytest.mark.slow
def test_a_thousand_faults(cluster: Cluster, tmp_path: Path, record_property: Callable[[str, Any], None]) -> None:
    """In the last campaign an only replica may never be moved."""
    found: Counter[str] = Counter()
    for seed in CAMPAIGNS:
        directory = tmp_path / str(seed)
        directory.mkdir()
        single = "never" if seed == CAMPAIGNS[-1] else "surge"
        one = chaos(cluster, directory, seed=seed, faults=FAULTS_EACH, seconds=600, single_replicas=single)
        if single == "never":
            assert not any("surge" in name for name in one), told(one)
        found += one
    record_property("faults", dict(found))
    assert found["faults"] >= 1000, told(found)
    assert all(found[kind] >= 3 for kind in EVERY_KIND), told(found)
    assert found["moves done"] >= 20, told(found)
    assert found["moves surge done"] >= 1, told(found)
