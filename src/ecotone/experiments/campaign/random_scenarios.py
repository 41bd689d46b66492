"""Replicated applications nobody chose: scenarios drawn at random, to find out where a policy loses.

A family that somebody wrote down shows what its author thought of. These are drawn from what varies in practice: how
services call each other, how many replicas they have and how calls are balanced over them, where users stand and whether
they move, databases that stay, links and nodes that change, edges too small for the load, autoscalers, jitter, slow starts
and disruption budgets. A seed is one scenario; equal seeds give equal files.
"""

from __future__ import annotations

import json
from random import Random
from typing import Any

STRETCH = 420  # seconds; long enough to settle in
_CLOUD = "cloud-1"
_ZONE = "topology.kubernetes.io/zone"

Document = dict[str, Any]


def random_scenario(seed: int) -> str:
    """The scenario file; YAML takes JSON."""
    return json.dumps(_Drawn(seed).document())


class _Drawn:
    """One scenario, drawn piece by piece."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._luck = Random(seed)
        self._edges = [f"edge-{number}" for number in range(1, self._luck.randint(2, 4) + 1)]
        self._fogs = [f"fog-{number}" for number in range(1, self._luck.choice((0, 0, 1, 2)) + 1)]
        self._names = [f"s{number}" for number in range(self._luck.randint(2, 5))]
        self._rate = self._luck.choice((5, 10, 20, 30))
        self._cpu_ms = self._luck.choice((2, 4, 8))
        self._stretches = self._luck.choice((1, 2, 2, 3))

    def document(self) -> Document:
        spec = {
            "duration": f"{self._stretches * STRETCH}s",
            "warmup": "60s",
            "cluster": {"nodes": self._nodes(), "network": self._network()},
            "application": self._application(),
            "load": self._load(),
        }
        events = self._events()
        if events:
            spec["events"] = events
        return {
            "apiVersion": "ecotone.dev/v1alpha1",
            "kind": "Scenario",
            "metadata": {"name": f"random-{self._seed}"},
            "spec": spec,
        }

    def _nodes(self) -> list[Document]:
        luck = self._luck
        cores = luck.choice(("0.5", "1", "2", "4", "4"))  # small ones are too small for the load, at times
        zones = luck.random() < 0.3
        nodes = [{"name": _CLOUD, "tier": "cloud", "cpu": "8", "memory": "32Gi"}]
        nodes += [{"name": name, "tier": "fog", "cpu": "4", "memory": "16Gi"} for name in self._fogs]
        nodes += [{"name": name, "tier": "edge", "cpu": cores, "memory": "8Gi"} for name in self._edges]
        if zones:
            return [{**node, "labels": {_ZONE: f"zone-{number % 3}"}} for number, node in enumerate(nodes)]
        return nodes

    def _network(self) -> Document:
        luck = self._luck
        default: Document = {"rtt": f"{luck.choice((10, 20, 40, 60, 80, 120))}ms"}
        if luck.random() < 0.25:
            default["jitter"] = f"{luck.choice((1, 3))}ms"
        places = [_CLOUD, *self._fogs, *self._edges]
        pairs = [(a, b) for number, a in enumerate(places) for b in places[number + 1 :]]
        chosen = luck.sample(pairs, min(len(pairs), luck.choice((0, 0, 1, 2, 4))))
        links = [{"between": [*pair], "rtt": f"{luck.choice((1, 5, 20, 50, 150))}ms"} for pair in chosen]
        return {"default": default, "links": links}

    def _application(self) -> Document:
        luck = self._luck
        same = luck.choice((1, 2, 2, 3, None))
        balance = luck.choice(("uniform", "uniform", "same-node", "same-zone", None))
        shape = luck.choice(("chain", "tree", "fan-out", "stages"))
        database = luck.random() < 0.4
        startup = luck.choice((2, 5, 5, 15))
        services = []
        for number, name in enumerate(self._names):
            service: Document = {
                "name": name,
                "index": number,
                "replicas": same or luck.randint(1, 3),
                "startup": f"{startup}s",
                "balance": balance or luck.choice(("uniform", "same-node")),
                "requests": {"cpu": "50m", "memory": "64Mi"},
                "endpoints": [{"name": "get", "cpu": f"{self._cpu_ms}ms", "stages": self._stages(shape, number)}],
            }
            if luck.random() < 0.1:
                service["disruption"] = {"max-unavailable": 1}
            services.append(service)
        if database:
            services[-1]["endpoints"][0]["stages"].append(
                [
                    {
                        "call": "db.query",
                        "probability": luck.choice((0.3, 0.7, 1.0)),
                        "protocol": luck.choice(("HTTP", "TCP")),
                    }
                ]
            )
            services.append(
                {
                    "name": "db",
                    "index": len(self._names),
                    "pinned": luck.choice((_CLOUD, _CLOUD, *self._fogs, self._edges[-1])),
                    "requests": {"cpu": "100m", "memory": "1Gi"},
                    "endpoints": [{"name": "query", "cpu": "2ms"}],
                }
            )
        found: Document = {"name": "shop", "services": services}
        if luck.random() < 0.15:
            found["autoscale"] = {luck.choice(self._names): {"cpu": "60%", "min": 1, "max": 4}}
        return found

    def _stages(self, shape: str, number: int) -> list[list[Document]]:
        last = len(self._names) - 1
        match shape:
            case "chain":
                below = [number + 1] if number < last else []
            case "tree":
                below = [each for each in (2 * number + 1, 2 * number + 2) if each <= last]
            case _:
                below = list(range(1, last + 1)) if number == 0 else []
        calls = [{"call": f"{self._names[each]}.get", **self._call()} for each in below]
        if shape == "stages":
            return [[call] for call in calls]
        return [calls] if calls else []

    def _call(self) -> Document:
        luck = self._luck
        found: Document = {"request": "500B", "response": luck.choice(("1kB", "4kB", "20kB"))}
        if luck.random() < 0.25:
            found["probability"] = luck.choice((0.3, 0.6))
        if luck.random() < 0.1:
            found["count"] = 2
        return found

    def _load(self) -> list[Document]:
        luck = self._luck
        kind = luck.choice(("moving", "moving", "two", "three", "staying", "growing"))
        found = []
        for number in range(self._stretches):
            match kind:
                case "two" | "three":
                    sites = self._edges[: 2 if kind == "two" else 3]
                case "moving":
                    sites = [self._edges[number % len(self._edges)]]
                case _:
                    sites = [self._edges[0]]
            at = max(10, number * STRETCH)
            rate = self._rate * (number + 1) if kind == "growing" else self._rate
            arrivals = {"poisson": rate} if luck.random() < 0.7 else {"users": rate, "every": "1s"}
            found.append(
                {"at": f"{at}s", "for": f"{(number + 1) * STRETCH - at}s", "entry": f"{self._names[0]}.get",
                 "from": sites, "arrivals": arrivals, "request": "500B", "response": luck.choice(("1kB", "8kB"))}
            )  # fmt: skip
        return found

    def _events(self) -> list[Document]:
        luck = self._luck
        found: list[Document] = []
        if luck.random() < 0.3:
            places = [_CLOUD, *self._fogs, *self._edges]
            pair = luck.sample(places, 2)
            at = STRETCH if self._stretches > 1 else STRETCH // 3
            found.append({"at": f"{at}s", "link": pair, "rtt": f"{luck.choice((2, 5, 100, 200))}ms"})
        if luck.random() < 0.1:
            fails = luck.choice((*self._fogs, self._edges[-1]))
            found.append({"at": f"{STRETCH // 2}s", "node": fails, "state": luck.choice(("down", "cordoned"))})
        return found
