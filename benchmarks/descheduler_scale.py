"""A descheduler's round over fifty thousand pods: two hundred applications of fifty workloads, five replicas each.

Everything that a round does but the writes themselves, which are counted. Each application has its users at one of two
hundred sites and calls that form a tree; the sites' nodes know each other by network coordinates. Rounds: the first, in
which nothing is known of any application yet and a bound shows of each that it cannot gain; at rest, all applications due at
once and nothing new; and one in which the users of one application in a hundred (`--moved 0.01`) have gone to another site:
those are searched, and all their pods move.

    python -m benchmarks.descheduler_scale
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import resource
import sys
import time
from pathlib import Path
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from ecotone.manifests import wire
from ecotone.model.objects import Coordinates, Node, Pod, PodKind, PodSpec, Workload, WorkloadKey
from ecotone.services.descheduler.groups import LiveAppGroup, LiveMetadata
from ecotone.services.running import spare_the_cache_from_collection
from services.descheduler.paper import NOW, Paper

SIZE = {"cpu": 64_000, "memory": 256 << 30, "pods": 500}
REQUESTS = (("cpu", 100), ("memory", 64 << 20))
RATE = 20.0
SMALL = {"nodes": 40, "applications": 4, "workloads": 5, "replicas": 2, "moved": 0.25}


def coordinates(site: int, draw: random.Random) -> Coordinates:
    """Sites are tens of milliseconds apart, the nodes of one about one."""
    middle = random.Random(site)
    return Coordinates((middle.uniform(-60, 60) + draw.random(), middle.uniform(-60, 60) + draw.random()), 0.3, 0.1)


def build(*, nodes: int, applications: int, workloads: int, replicas: int) -> Paper:
    """Every application where its users are."""
    paper = Paper()
    draw = random.Random(1)
    for number in range(nodes):
        place = coordinates(number % applications, draw)
        paper.cache.put_node(Node(f"n{number}", SIZE, coordinates=place, measured_at=NOW))
    for number in range(applications):
        namespace = f"app-{number}"
        for each in range(workloads):
            paper.cache.put_workload(workload(namespace, each, workloads=workloads, replicas=replicas, site=number))
            kind = PodKind(
                namespace, WorkloadKey(namespace, f"w{each}"), labels=(("app", f"w{each}"),), app_group="shop",
                spec=PodSpec(requests=REQUESTS, nonzero=(100, 64 << 20), scheduler_name="ecotone"),
            )  # fmt: skip
            for replica in range(replicas):
                paper.cache.put_pod(
                    Pod(
                        f"w{each}-{replica}", f"{namespace}-{each}-{replica}", kind, node=f"n{number}", phase="Running",
                        ready=True, owner=f"ReplicaSet/w{each}-1", template_hash="1", bound_at=NOW - 3600,
                    )
                )  # fmt: skip
        meta = LiveMetadata(name="shop", namespace=namespace)
        paper.groups.upsert(LiveAppGroup(metadata=meta, spec=wire.AppGroupSpec(name="shop", run_period=30)))
    return paper


def workload(namespace: str, number: int, *, workloads: int, replicas: int, site: int) -> Workload:
    """A tree of calls, users at its root."""
    calls = {f"w{child}": RATE for child in (2 * number + 1, 2 * number + 2) if child < workloads}
    heard = {f"w{(number - 1) // 2}": RATE} if number else {f"users@n{site}": RATE}
    talk = {**calls, **heard}
    return Workload(
        WorkloadKey(namespace, f"w{number}"), replicas=replicas, app_group="shop", measured_at=NOW, calls=calls,
        requests=talk, traffic={peer: 500 * rate for peer, rate in talk.items()},
    )  # fmt: skip


async def _rounds(
    paper: Paper, *, applications: int, workloads: int, replicas: int, moved: float = 0.01
) -> dict[str, Any]:
    found: dict[str, Any] = {}

    async def one(name: str) -> None:
        paper.now += 31.0
        told, cpu, started = len(paper.told), time.process_time(), time.monotonic()
        await paper.descheduler.tick()
        taken = {"seconds": time.monotonic() - started, "CPU seconds": time.process_time() - cpu}
        found[name] = {**taken, "moves": len(paper.told) - told}
        print(f"{name}: {json.dumps(found[name])}", file=sys.stderr, flush=True)

    await one("first round")
    await one("at rest")
    changed = max(1, round(moved * applications))
    for number in range(changed):
        there = (number + applications // 2) % applications
        paper.cache.put_workload(workload(f"app-{number}", 0, workloads=workloads, replicas=replicas, site=there))
    await one(f"users of {changed} applications moved")
    more = found[f"users of {changed} applications moved"]["CPU seconds"] - found["at rest"]["CPU seconds"]
    return {**found, "CPU seconds for each that was searched and moved": more / changed}


def measure(
    *, nodes: int = 5000, applications: int = 200, workloads: int = 50, replicas: int = 5, moved: float = 0.01
) -> dict[str, Any]:
    started = time.monotonic()
    paper = build(nodes=nodes, applications=applications, workloads=workloads, replicas=replicas)
    paper.cache.view(NOW)
    spare_the_cache_from_collection()  # as the program does when its caches are filled
    built = time.monotonic() - started
    found = asyncio.run(_rounds(paper, applications=applications, workloads=workloads, replicas=replicas, moved=moved))
    return {
        "nodes": nodes,
        "pods": applications * workloads * replicas,
        "workloads": applications * workloads,
        "cache built, s": built,
        **found,
        "memory at most, MiB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--nodes", type=int, default=5000)
    parser.add_argument("--applications", type=int, default=200)
    parser.add_argument("--moved", type=float, default=0.01, help="share of the applications whose users move")
    options = parser.parse_args()
    found = measure(nodes=options.nodes, applications=options.applications, moved=options.moved)
    print(json.dumps(found, indent=2))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
