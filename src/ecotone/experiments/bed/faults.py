"""`ecotone experiment faults`: what an application on real nodes goes through, and what Ecotone does about it.

A chain of services under Ecotone, with users throughout. Each fault is injected for a while and healed; what counts is how
many requests fail and for how long, whether anything is sent to a node that is cut off, and how long it takes after healing
until the cluster is as it should be: every node and pod ready, nothing pending or ending, no reservation held.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

from ecotone.experiments.bed.injecting import Fault, faults
from ecotone.experiments.bed.parts import about, chosen, store, stored
from ecotone.experiments.bed.playing.contenders import ECOTONE
from ecotone.experiments.bed.playing.player import Player
from ecotone.experiments.bed.playing.session import machine, session
from ecotone.experiments.campaign.registry import Cell, Options, Result, Table
from ecotone.sim.scenario import Scenario, load_scenario
from ecotone.testbed.application.users import Sent, Users, plans
from ecotone.testbed.bed import Bed
from ecotone.testbed.processes import wait_until

NAMESPACE = "chain"
NODE_LEASES = "kube-node-lease"
MIDDLE = "api"
CONVERGED_SECONDS = 240.0
SETTLE_SECONDS, QUICK_SECONDS = 40.0, 10.0
LOOK_SECONDS = 2.0
STEADY_SECONDS = 10.0  # that all must stay as it should be: statuses from before a fault are overwritten within them
ANSWER_SECONDS = 60.0
START_SECONDS, HEALING_SECONDS = 90.0, 20.0  # of a bed, and of a fault: for the estimate
FILE = "testbed-faults.json"


@dataclass(frozen=True, slots=True)
class Found:
    """`unserved_seconds`: the longest time without any answer. `sent_there`: pods bound to a node that was cut off.

    `waited_for`: what was the last to be as it should be after healing.
    """

    fault: str
    node: str
    asked_seconds: float
    lasted_seconds: float
    requests: int
    failed: int
    unserved_seconds: float
    pods_moved: int
    sent_there: int
    converged_seconds: float | None
    waited_for: list[str]
    mean_before_ms: float | None
    mean_after_ms: float | None


def run(options: Options) -> Result:
    say = options.say or (lambda _: None)
    scenario = load_scenario(str(Path(__file__).with_name("chain.yaml")))
    settle = QUICK_SECONDS if options.quick else SETTLE_SECONDS
    wanted = _wanted(options)
    rows: dict[str, dict[str, Any]] = {row["fault"]: row for row in stored(options.folder, FILE).get("faults", [])}
    left = [each for each in wanted if not _taken_up(rows.get(each.name), each, settle)]
    length = START_SECONDS + sum(each.seconds + 2 * settle + HEALING_SECONDS for each in left)
    say(f"{len(left)} faults, {about(length)}" if left else "all faults are stored already")
    if left:
        machine_now = machine()
        with session(scenario, say=say, clock=True) as player:
            users = _start(player, scenario, seed=options.seed)
            began = time.monotonic()
            try:
                for number, fault in enumerate(left):
                    if options.progress is not None:
                        options.progress(number, len(left))
                    say(f"{fault.name}: for {fault.seconds:g} s")
                    found = _suffer(player, users, fault, began, settle=settle)
                    say(f"{found}")
                    rows[fault.name] = {**asdict(found), "settle_seconds": settle, "machine": machine_now}
                    store(options.folder, FILE, {"faults": _in_order(rows)})
            finally:
                users.end()
    shown = [rows[each.name] for each in wanted]
    return Result("faults", [table(shown)], [], {"faults": shown})


def _wanted(options: Options) -> list[Fault]:
    """The faults asked for, as long as asked for."""
    whole = {each.key: each for each in faults() if options.only or each.quick or not options.quick}
    picked = chosen(whole, options.only).values()
    return [replace(each, seconds=options.seconds or each.seconds) for each in picked]


def _taken_up(row: dict[str, Any] | None, fault: Fault, settle: float) -> bool:
    return row is not None and row["asked_seconds"] == fault.seconds and row["settle_seconds"] == settle


def _in_order(rows: Mapping[str, dict[str, Any]]) -> list[dict[str, Any]]:
    return [rows[each.name] for each in faults() if each.name in rows]


def _start(player: Player, scenario: Scenario, *, seed: int) -> Users:
    player.use("ecotone")
    player.deploy(scenario, ECOTONE, NAMESPACE, trial=0, seed=seed)
    users = Users(player.bed.topology, player.directory / NAMESPACE)
    users.start(plans(scenario, player.front(scenario), seed=seed))
    return users


def _suffer(player: Player, users: Users, fault: Fault, began: float, *, settle: float) -> Found:
    bed = player.bed
    wait_until(lambda: not unsettled(bed), seconds=CONVERGED_SECONDS, what="settled cluster")
    time.sleep(settle)
    node = next(iter(nodes_of(bed, MIDDLE)))
    old = set(pods(bed))
    start = time.monotonic()
    fault.inject(player, node)
    sent_there: set[str] = set()
    try:
        while time.monotonic() - start < fault.seconds:
            if fault.cut_off:
                sent_there |= {uid for uid, pod in pods(bed).items() if uid not in old and _node(pod) == node}
            time.sleep(LOOK_SECONDS)
    finally:
        fault.heal(player, node)
    healed, healed_at = time.monotonic(), datetime.now(UTC)
    converged, waited_for = settling(
        lambda: unsettled(bed) + silent(_items(bed, "leases", "-n", NODE_LEASES), healed_at)
    )
    moved = len({uid for uid, pod in pods(bed).items() if uid not in old and _service(pod) == MIDDLE})
    time.sleep(settle)
    sent = users.sent()
    first, last = start - began, healed - began + (CONVERGED_SECONDS if converged is None else converged)
    during = [each for each in sent if first <= each.at <= last]
    return Found(
        fault=fault.name,
        node=node,
        asked_seconds=fault.seconds,
        lasted_seconds=round(healed - start, 1),
        requests=len(during),
        failed=sum(not each.answered for each in during),
        unserved_seconds=round(unserved(sent, start=first, end=last), 1),
        pods_moved=moved,
        sent_there=len(sent_there),
        converged_seconds=converged,
        waited_for=waited_for,
        mean_before_ms=_mean([each for each in sent if first - 20 <= each.at < first]),
        mean_after_ms=_mean([each for each in sent if each.at >= time.monotonic() - began - 20]),
    )


def settling(
    look: Callable[[], list[str]],
    *,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> tuple[float | None, list[str]]:
    """Seconds from now until `look` finds nothing and goes on finding nothing, or None; and what it found last."""
    began = clock()
    last: list[str] = []
    since: float | None = None
    while clock() - began < CONVERGED_SECONDS:
        if found := look():
            last, since = found, None
        else:
            since = clock() if since is None else since
            if clock() - since >= STEADY_SECONDS:
                return round(since - began, 1), last
        sleep(LOOK_SECONDS)
    return None, last


def silent(leases: list[dict[str, Any]], since: datetime) -> list[str]:
    """Nodes whose kubelet has not renewed its lease since then: what is known of them and their pods is from before."""
    return [
        f"kubelet of {each['metadata']['name']}"
        for each in leases
        if datetime.fromisoformat(each["spec"]["renewTime"]) < since
    ]


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


def unserved(sent: list[Sent], *, start: float, end: float) -> float:
    """The longest time without an answer between two moments: at the edges it lasts until the answer beyond them."""
    answers = sorted(each.at + each.seconds for each in sent if each.answered)
    before = max((at for at in answers if at < start), default=start)
    after = min((at for at in answers if at > end), default=end)
    inside = [at for at in answers if start <= at <= end]
    return max(later - earlier for earlier, later in pairwise([before, *inside, after]))


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
    """Asked again for a while: an API server that is too busy to answer must not look like an empty cluster."""
    found: list[dict[str, Any]] = []

    def ask() -> bool:
        found[:] = json.loads(bed.kubectl("get", *which, "-o", "json"))["items"]
        return True

    wait_until(ask, seconds=ANSWER_SECONDS, what=f"answer about {which[0]}")
    return found


def _mean(sent: list[Sent]) -> float | None:
    times = [each.seconds for each in sent if each.answered]
    return round(1000 * sum(times) / len(times), 1) if times else None


def table(rows: list[dict[str, Any]]) -> Table:
    header = list(Found.__dataclass_fields__)
    return Table(
        "Faults on real nodes",
        [each.replace("_", " ") for each in header],
        [[_cell(row[each]) for each in header] for row in rows],
    )


def _cell(value: Any) -> Cell:
    return ", ".join(value) if isinstance(value, list) else value
