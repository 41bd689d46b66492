"""`ecotone experiment faults`: what an application on real nodes goes through, and what Ecotone does about it.

A chain of services under Ecotone, with users throughout. Each fault is injected for a while and healed; what counts is how
many requests fail and for how long, whether anything is sent to a node that is cut off, and how long it takes after healing
until the cluster is as it should be: every node and pod ready, nothing pending or ending, no reservation held.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from ecotone.experiments.bed.contenders import ECOTONE
from ecotone.experiments.bed.injecting import Fault, faults
from ecotone.experiments.bed.playing import Player
from ecotone.experiments.bed.session import machine, session
from ecotone.experiments.campaign.registry import Options, Result, Table
from ecotone.sim.scenario import Scenario, load_scenario
from ecotone.testbed.application.users import Sent, Users, plans
from ecotone.testbed.application.workload import PORT
from ecotone.testbed.bed import Bed
from ecotone.testbed.processes import wait_until

NAMESPACE = "chain"
MIDDLE = "api"
CONVERGED_SECONDS = 240.0
SETTLE_SECONDS, QUICK_SECONDS = 40.0, 10.0
LOOK_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class Found:
    """`unserved_seconds`: the longest time in which no request was answered. `sent_there`: pods bound to a node cut off."""

    fault: str
    node: str
    lasted_seconds: float
    requests: int
    failed: int
    unserved_seconds: float
    pods_moved: int
    sent_there: int
    converged_seconds: float | None
    mean_before_ms: float | None
    mean_after_ms: float | None


def run(options: Options) -> Result:
    say = options.say or (lambda _: None)
    scenario = load_scenario(str(Path(__file__).with_name("chain.yaml")))
    about = machine()
    with session(scenario, say=say, clock=True) as player:
        assert player.clock is not None
        users = _start(player, scenario, seed=options.seed)
        began = time.monotonic()
        try:
            chosen = [each for each in faults(player.clock) if each.quick or not options.quick]
            settle = QUICK_SECONDS if options.quick else SETTLE_SECONDS
            found = [_suffer(player, users, each, began, settle=settle, say=say) for each in chosen]
        finally:
            users.end()
    rows = [asdict(each) for each in found]
    figures = {"machine": about, "faults": rows}
    if options.folder is not None:
        options.folder.mkdir(parents=True, exist_ok=True)
        (options.folder / "testbed-faults.json").write_text(json.dumps(figures, indent=1) + "\n")
    return Result("faults", [table(rows)], [], figures)


def _start(player: Player, scenario: Scenario, *, seed: int) -> Users:
    player.use("ecotone")
    player.deploy(scenario, ECOTONE, NAMESPACE, trial=0, seed=seed)
    users = Users(player.bed.topology, player.directory / NAMESPACE)
    urls = {node.name: f"http://{node.address}:{PORT}" for node in player.bed.topology.nodes}
    users.start(plans(scenario, urls, seed=seed))
    return users


def _suffer(
    player: Player, users: Users, fault: Fault, began: float, *, settle: float, say: Callable[[str], None]
) -> Found:
    bed = player.bed
    wait_until(lambda: not unsettled(bed), seconds=CONVERGED_SECONDS, what="settled cluster")
    time.sleep(settle)
    node = next(iter(nodes_of(bed, MIDDLE)))
    old = set(pods(bed))
    start = time.monotonic()
    fault.inject(bed, node)
    sent_there: set[str] = set()
    try:
        while time.monotonic() - start < fault.seconds:
            if fault.cut_off:
                sent_there |= {uid for uid, pod in pods(bed).items() if uid not in old and _node(pod) == node}
            time.sleep(LOOK_SECONDS)
    finally:
        fault.heal(bed, node)
    healed = time.monotonic()
    converged = _converged(bed, healed)
    moved = len({uid for uid, pod in pods(bed).items() if uid not in old and _service(pod) == MIDDLE})
    time.sleep(settle)
    sent = users.sent()
    during = [each for each in sent if start - began <= each.at <= healed - began + (converged or CONVERGED_SECONDS)]
    found = Found(
        fault=fault.name,
        node=node,
        lasted_seconds=round(healed - start, 1),
        requests=len(during),
        failed=sum(not each.answered for each in during),
        unserved_seconds=round(unserved(during), 1),
        pods_moved=moved,
        sent_there=len(sent_there),
        converged_seconds=converged,
        mean_before_ms=_mean([each for each in sent if start - began - 20 <= each.at < start - began]),
        mean_after_ms=_mean([each for each in sent if each.at >= time.monotonic() - began - 20]),
    )
    say(f"{found}")
    return found


def _converged(bed: Bed, healed: float) -> float | None:
    """Seconds after healing until everything is as it should be; None if that did not happen."""
    while time.monotonic() - healed < CONVERGED_SECONDS:
        if not unsettled(bed):
            return round(time.monotonic() - healed, 1)
        time.sleep(LOOK_SECONDS)
    return None


def unsettled(bed: Bed) -> list[str]:
    """What is not as it should be; empty once everything is."""
    found = []
    for each in _items(bed, "nodes"):
        ready = [one["status"] for one in each["status"]["conditions"] if one["type"] == "Ready"]
        if ready != ["True"] or any(taint["effect"] == "NoExecute" for taint in each["spec"].get("taints", [])):
            found.append(f"node {each['metadata']['name']}")
    for each in _items(bed, "pods", "-A"):
        conditions = {one["type"]: one["status"] for one in each["status"].get("conditions", [])}
        if each["metadata"].get("deletionTimestamp") or conditions.get("Ready") != "True":
            found.append(f"pod {each['metadata']['name']}")
    found += [
        f"deployment {each['metadata']['name']}"
        for each in _items(bed, "deployments", "-n", NAMESPACE)
        if each["status"].get("readyReplicas") != 1 or each["spec"]["replicas"] != 1
    ]
    return found + [f"reservation {each['metadata']['name']}" for each in _items(bed, "reservations", "-A")]


def unserved(sent: list[Sent]) -> float:
    """The longest time between two answers."""
    answers = sorted(each.at + each.seconds for each in sent if each.answered)
    return max((after - before for before, after in pairwise(answers)), default=0.0)


def pods(bed: Bed) -> dict[str, dict[str, Any]]:
    return {each["metadata"]["uid"]: each for each in _items(bed, "pods", "-n", NAMESPACE, "-l", "app-group")}


def nodes_of(bed: Bed, service: str) -> set[str]:
    return {_node(pod) for pod in pods(bed).values() if _service(pod) == service and not _ending(pod)}


def _node(pod: dict[str, Any]) -> str:
    return str(pod["spec"].get("nodeName", ""))


def _service(pod: dict[str, Any]) -> str:
    return str(pod["metadata"]["labels"]["app"])


def _ending(pod: dict[str, Any]) -> bool:
    return "deletionTimestamp" in pod["metadata"]


def _items(bed: Bed, *which: str) -> list[dict[str, Any]]:
    text = bed.kubectl("get", *which, "-o", "json", check=False)
    return list(json.loads(text)["items"]) if text else []


def _mean(sent: list[Sent]) -> float | None:
    times = [each.seconds for each in sent if each.answered]
    return round(1000 * sum(times) / len(times), 1) if times else None


def table(rows: list[dict[str, Any]]) -> Table:
    header = list(Found.__dataclass_fields__)
    return Table(
        "Faults on real nodes",
        [each.replace("_", " ") for each in header],
        [[row[each] for each in header] for row in rows],
    )
