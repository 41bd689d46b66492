"""One large application as Kubernetes objects: what a search for a placement of all of it has to get through.

Services call each other in a tree with some calls across it, users enter at a few nodes, and pods stand anywhere. Round
trips are those of PlanetLab where the data outside the repository is there, else distances between points of a plane.
"""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

NOW = "2026-01-01T00:00:00Z"
GROUP = "shop"
ROUND_TRIPS = "data/round-trips/planetlab-490.txt.gz"
_SITES = 5
_RATE = 20.0  # requests per second from every site

Rows = list[list[float]]


def objects(
    *, services: int = 100, replicas: int = 3, nodes: int = 100, filled: float = 0.9, near: bool = False, seed: int = 1
) -> dict[str, Any]:
    """A List; `filled`: the share of the nodes' CPU that is requested; `near`: Services prefer the same node."""
    luck = Random(seed)
    requests = [luck.randrange(50, 250, 10) for _ in range(services)]
    each_node = sum(requests) * replicas / nodes / filled
    names = [f"n{number}" for number in range(nodes)]
    talk = _calls(luck, services, names)
    items = [_node(name, each_node, row, names) for name, row in zip(names, round_trips(nodes, luck), strict=True)]
    places = _placed(luck, requests, replicas, nodes, each_node)
    for number in range(services):
        items += _service(number, talk[number], requests[number], [names[place] for place in places[number]], near=near)
    return {"apiVersion": "v1", "kind": "List", "items": items}


def round_trips(nodes: int, luck: Random) -> Rows:
    """In milliseconds."""
    shared = os.environ.get("ECOTONE_SHARED")
    file = Path(shared, ROUND_TRIPS) if shared else None
    if file is None or not file.exists():
        return plane(nodes, luck)
    with gzip.open(file, "rt") as text:
        rows = [[float(figure) for figure in line.split()] for line in text]
    chosen = luck.sample(range(len(rows)), nodes)
    return [[0.0 if a == b else max(rows[a][b], 0.1) for b in chosen] for a in chosen]


def plane(nodes: int, luck: Random) -> Rows:
    """Points of a plane of 150 ms, a few of them to a place, each with an access way of its own."""
    middles = [(luck.uniform(0, 150), luck.uniform(0, 150)) for _ in range(max(2, nodes // 4))]
    spots = []
    for _ in range(nodes):
        x, y = luck.choice(middles)
        spots.append((x + luck.uniform(0, 3), y + luck.uniform(0, 3), luck.uniform(0.1, 5)))
    return [
        [0.0 if a == b else ((a[0] - b[0]) ** 2 + (a[1] - b[1]) ** 2) ** 0.5 + a[2] + b[2] for b in spots]
        for a in spots
    ]


def _calls(luck: Random, services: int, names: list[str]) -> list[dict[str, float]]:
    """By service, whom it talks to and how often; users under the names of their nodes."""
    found: list[dict[str, float]] = [{} for _ in range(services)]
    found[0] = {f"users@{site}": _RATE for site in luck.sample(names, min(_SITES, len(names)))}
    entering = [0.0] * services
    entering[0] = sum(found[0].values())
    for callee in range(1, services):
        for caller in {luck.randrange(max(0, callee - 12), callee) for _ in range(luck.choice((1, 1, 1, 2)))}:
            rate = round(entering[caller] * luck.choice((0.3, 0.5, 0.7, 1.0)), 3)
            entering[callee] += rate
            found[caller][f">s{callee}"] = rate
            found[callee][f"s{caller}"] = rate
    return found


def _placed(luck: Random, requests: list[int], replicas: int, nodes: int, size: float) -> list[list[int]]:
    """The largest first, each replica on any node that has room, and on one without another replica if it can."""
    free = [size] * nodes
    found: list[list[int]] = [[] for _ in requests]
    for service in sorted(range(len(requests)), key=lambda each: -requests[each]):
        for _ in range(replicas):
            fits = [node for node in range(nodes) if free[node] >= requests[service]]
            apart = [node for node in fits if node not in found[service]]
            place = luck.choice(apart or fits)
            found[service].append(place)
            free[place] -= requests[service]
    return found


def _node(name: str, millicores: float, row: list[float], names: list[str]) -> dict[str, Any]:
    trips = {other: round(ms, 3) for other, ms in zip(names, row, strict=True) if other != name}
    size = {"cpu": f"{int(millicores)}m", "memory": "32Gi", "pods": "110"}
    return {
        "apiVersion": "v1", "kind": "Node",
        "metadata": {
            "name": name,
            "annotations": {"ecotone.dev/latencies": json.dumps(trips), "ecotone.dev/measured-at": NOW},
        },
        "status": {
            "allocatable": size, "capacity": size, "conditions": [{"type": "Ready", "status": "True"}],
        },
    }  # fmt: skip


def _service(
    number: int, talk: dict[str, float], millicores: int, places: list[str], *, near: bool
) -> Iterator[dict[str, Any]]:
    name = f"s{number}"
    labels = {"app": name, "app-group": GROUP}
    container = {"name": "main", "resources": {"requests": {"cpu": f"{millicores}m", "memory": "64Mi"}}}
    both = {peer.lstrip(">"): rate for peer, rate in talk.items()}
    figures = {
        "ecotone.dev/calls": json.dumps({peer[1:]: rate for peer, rate in talk.items() if peer.startswith(">")}),
        "ecotone.dev/requests": json.dumps(both),
        "ecotone.dev/traffic": json.dumps({peer: 2000 * rate for peer, rate in both.items()}),
        "ecotone.dev/cpu-usage": f"{millicores // 4}m",
        "ecotone.dev/measured-at": NOW,
    }
    template = {"metadata": {"labels": labels}, "spec": {"containers": [container]}}
    yield {
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": name, "namespace": "default", "labels": labels, "annotations": figures},
        "spec": {"replicas": len(places), "selector": {"matchLabels": {"app": name}}, "template": template},
    }  # fmt: skip
    yield {
        "apiVersion": "apps/v1", "kind": "ReplicaSet",
        "metadata": {
            "name": f"{name}-1", "namespace": "default", "uid": name, "labels": labels,
            "ownerReferences": [
                {"apiVersion": "apps/v1", "kind": "Deployment", "name": name, "uid": f"d-{name}", "controller": True}
            ],
        },
        "spec": {"replicas": len(places), "selector": {"matchLabels": {"app": name}}, "template": template},
    }  # fmt: skip
    sharing = {"trafficDistribution": "PreferSameNode"} if near else {}
    yield {
        "apiVersion": "v1", "kind": "Service", "metadata": {"name": name, "namespace": "default"},
        "spec": {"selector": {"app": name}, "ports": [{"port": 80}], **sharing},
    }  # fmt: skip
    for replica, place in enumerate(places):
        yield {
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {
                "name": f"{name}-{replica}", "namespace": "default", "uid": f"{name}-{replica}", "labels": labels,
                "creationTimestamp": "2025-12-31T00:00:00Z",
                "ownerReferences": [
                    {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": f"{name}-1", "uid": name, "controller": True}
                ],
            },
            "spec": {"nodeName": place, "schedulerName": "ecotone", "containers": [container]},
            "status": {
                "phase": "Running", "startTime": "2025-12-31T00:00:00Z",
                "conditions": [
                    {"type": "Ready", "status": "True", "lastTransitionTime": "2025-12-31T00:00:10Z"},
                    {"type": "PodScheduled", "status": "True", "lastTransitionTime": "2025-12-31T00:00:00Z"},
                ],
            },
        }  # fmt: skip
