"""Random clusters and pods that exercise every default plugin; one seed, one case.

Values are drawn from small sets so that things collide: labels match, taints are sometimes tolerated, ports clash, zones
fill up. Every object is valid for the API server. A case is a dictionary of objects plus the pod to be decided.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

from control_plane.objects import node, pod

ZONES = ("z1", "z2", "z3")
APPS = ("web", "db", "cache")
NAMESPACES = ("default", "other")
IMAGES = {"registry.test/a:1": 300_000_000, "registry.test/b:1": 700_000_000, "registry.test/c:1": 40_000_000}
TAINTS = (("dedicated", "gpu"), ("dedicated", "batch"), ("flaky", ""))
EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
KEYS = ("topology.kubernetes.io/zone", "kubernetes.io/hostname", "disk", "speed")
HOSTNAME, ZONE = "kubernetes.io/hostname", "topology.kubernetes.io/zone"
GPU = "example.test/gpu"
# Many, so that two nodes seldom have victims of equal worth: then kube-scheduler would draw.
PRIORITIES = {f"p{number}": value for number, value in enumerate(range(-20, 100, 7))}
PEACEFUL = ("p6", "p10", "p15")
"""Classes whose pods never preempt."""


@dataclass
class Case:
    seed: int
    nodes: list[dict[str, Any]]
    bound: list[dict[str, Any]]
    services: list[dict[str, Any]]
    pods: list[dict[str, Any]]


class Generator:
    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.draw = random.Random(seed)
        self.later = random.Random(f"priorities {seed}")
        self.prefix = f"s{seed}"

    def chance(self, probability: float) -> bool:
        return self.draw.random() < probability

    def case(self) -> Case:
        nodes = [self.node(number) for number in range(self.draw.randint(3, 9))]
        names = [one["metadata"]["name"] for one in nodes]
        bound = [self.bound(number, names) for number in range(self.draw.randint(0, 14))]
        services = [self.service(app) for app in APPS if self.chance(0.4)]
        pods = [self.pending(number, names) for number in range(self.draw.randint(1, 3))]
        return Case(self.seed, nodes, bound, services, pods)

    def node(self, number: int) -> dict[str, Any]:
        labels = {}
        if self.chance(0.85):
            labels[ZONE] = self.draw.choice(ZONES)
        if self.chance(0.6):
            labels["disk"] = self.draw.choice(["ssd", "hdd"])
        if self.chance(0.5):
            labels["speed"] = str(self.draw.randint(1, 9))
        resources = {"ephemeral-storage": f"{self.draw.choice([10, 50])}Gi"}
        if self.chance(0.3):
            resources[GPU] = str(self.draw.randint(1, 3))
        images = [{"names": [name], "sizeBytes": size} for name, size in IMAGES.items() if self.chance(0.4)]
        spec: dict[str, Any] = {}
        if self.chance(0.3):
            # Unique by key and effect, as the API demands.
            chosen = {(key, self.draw.choice(EFFECTS)): value for key, value in self.draw.sample(TAINTS, 2)}
            spec["taints"] = [
                {"key": key, "value": value, "effect": effect}
                for (key, effect), value in list(chosen.items())[: self.draw.randint(1, 2)]
            ]
        if self.chance(0.07):
            spec["unschedulable"] = True
        return node(
            f"{self.prefix}-n{number}",
            cpu=self.draw.choice(["1", "2", "4", "7500m"]),
            memory=self.draw.choice(["2Gi", "4Gi", "9Gi"]),
            pods=self.draw.choice(["4", "20", "110"]),
            labels=labels,
            resources=resources,
            images=images,
            spec=spec,
        )

    def requests(self) -> dict[str, str]:
        found = {}
        if self.chance(0.8):
            found["cpu"] = self.draw.choice(["50m", "100m", "250m", "500m", "1"])
        if self.chance(0.8):
            found["memory"] = self.draw.choice(["32Mi", "128Mi", "300Mi", "1Gi"])
        if self.chance(0.1):
            found["ephemeral-storage"] = self.draw.choice(["1Gi", "20Gi"])
        return found

    def container(self, name: str, *, pending: bool) -> dict[str, Any]:
        requests = self.requests()
        limits = {}
        if pending and self.chance(0.08):
            requests[GPU] = limits[GPU] = "1"
        resources: dict[str, Any] = {"requests": requests}
        if limits:
            resources["limits"] = limits
        return {"name": name, "image": self.draw.choice([*IMAGES, "registry.test/none"]), "resources": resources}

    def bound(self, number: int, names: list[str]) -> dict[str, Any]:
        one = pod(
            f"{self.prefix}-b{number}",
            namespace=self.draw.choice(NAMESPACES),
            scheduler="default-scheduler",
            labels={"app": self.draw.choice(APPS), "track": self.draw.choice(["a", "b"])},
            nodeName=self.draw.choice(names),
            container=self.container("main", pending=False),
        )
        self.prioritise(one)
        if self.chance(0.1):
            one["spec"]["containers"][0]["ports"] = [self.port()]
        if self.chance(0.15):
            one["spec"]["affinity"] = {"podAntiAffinity": self.pod_affinity(required=self.chance(0.5))}
        elif self.chance(0.15):
            one["spec"]["affinity"] = {"podAffinity": self.pod_affinity(required=self.chance(0.3))}
        return one

    def prioritise(self, one: dict[str, Any]) -> None:
        if self.later.random() < 0.6:
            one["spec"]["priorityClassName"] = self.later.choice(list(PRIORITIES))

    def port(self) -> dict[str, Any]:
        port = {"containerPort": 80, "hostPort": self.draw.choice([8080, 8081]), "protocol": "TCP"}
        if self.chance(0.3):
            port["hostIP"] = self.draw.choice(["127.0.0.1", "10.0.0.1"])
        if self.chance(0.2):
            port["protocol"] = "UDP"
        return port

    def pending(self, number: int, names: list[str]) -> dict[str, Any]:
        one = pod(
            f"{self.prefix}-p{number}",
            namespace=self.draw.choice(NAMESPACES),
            scheduler="default-scheduler",
            labels={"app": self.draw.choice(APPS), "track": self.draw.choice(["a", "b"])},
            container=self.container("main", pending=True),
        )
        self.prioritise(one)
        spec = one["spec"]
        if self.chance(0.2):
            spec["containers"].append(self.container("second", pending=False))
        if self.chance(0.2):
            init = self.container("init", pending=False)
            if self.chance(0.5):
                init["restartPolicy"] = "Always"
            spec["initContainers"] = [init]
        if self.chance(0.3):
            spec["tolerations"] = [self.toleration() for _ in range(self.draw.randint(1, 2))]
        if self.chance(0.1):
            spec["nodeSelector"] = {"disk": self.draw.choice(["ssd", "hdd"])}
        if self.chance(0.12):
            spec["containers"][0]["ports"] = [self.port()]
        affinity: dict[str, Any] = {}
        if self.chance(0.4):
            affinity["nodeAffinity"] = self.node_affinity(names)
        if self.chance(0.3):
            affinity["podAffinity"] = self.pod_affinity(required=self.chance(0.35))
        if self.chance(0.3):
            affinity["podAntiAffinity"] = self.pod_affinity(required=self.chance(0.35))
        if affinity:
            spec["affinity"] = affinity
        if self.chance(0.4):
            keys = self.draw.sample([ZONE, HOSTNAME, "disk"], self.draw.randint(1, 2))
            spec["topologySpreadConstraints"] = [self.spread(key) for key in keys]
        return one

    def toleration(self) -> dict[str, Any]:
        key, value = self.draw.choice(TAINTS)
        if self.chance(0.15):
            return {"operator": "Exists"}
        found: dict[str, Any] = {"key": key, "operator": "Exists"}
        if self.chance(0.5):
            found = {"key": key, "operator": "Equal", "value": value}
        if self.chance(0.6):
            found["effect"] = self.draw.choice(EFFECTS)
        return found

    def expression(self) -> dict[str, Any]:
        match self.draw.randint(0, 4):
            case 0:
                return {"key": ZONE, "operator": self.draw.choice(["In", "NotIn"]), "values": self.some(ZONES)}
            case 1:
                return {"key": "disk", "operator": self.draw.choice(["Exists", "DoesNotExist"])}
            case 2:
                return {
                    "key": "speed",
                    "operator": self.draw.choice(["Gt", "Lt"]),
                    "values": [str(self.draw.randint(2, 8))],
                }
            case 3:
                return {"key": "disk", "operator": "In", "values": self.some(("ssd", "hdd"))}
        return {"key": ZONE, "operator": "Exists"}

    def some(self, values: tuple[str, ...]) -> list[str]:
        return self.draw.sample(values, self.draw.randint(1, len(values)))

    def node_affinity(self, names: list[str]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        if self.chance(0.35):
            terms = [{"matchExpressions": [self.expression()]} for _ in range(self.draw.randint(1, 2))]
            if self.chance(0.1):
                field = {"key": "metadata.name", "operator": self.draw.choice(["In", "NotIn"])}
                terms = [{"matchFields": [{**field, "values": [self.draw.choice(names)]}]}]
            found["requiredDuringSchedulingIgnoredDuringExecution"] = {"nodeSelectorTerms": terms}
        if self.chance(0.8) or not found:
            found["preferredDuringSchedulingIgnoredDuringExecution"] = [
                {"weight": self.draw.randint(1, 100), "preference": {"matchExpressions": [self.expression()]}}
                for _ in range(self.draw.randint(1, 3))
            ]
        return found

    def selector(self) -> dict[str, Any]:
        if self.chance(0.15):
            return {"matchExpressions": [{"key": "app", "operator": "NotIn", "values": self.some(APPS)}]}
        return {"matchLabels": {"app": self.draw.choice(APPS)}}

    def pod_term(self) -> dict[str, Any]:
        term: dict[str, Any] = {
            "labelSelector": self.selector(),
            "topologyKey": self.draw.choice([ZONE, HOSTNAME, ZONE, "disk"]),
        }
        if self.chance(0.2):
            term["namespaces"] = self.some(NAMESPACES)
        elif self.chance(0.15):
            term["namespaceSelector"] = {"matchLabels": {"team": "blue"}} if self.chance(0.6) else {}
        if self.chance(0.1):
            term["matchLabelKeys"] = ["track"]
        return term

    def pod_affinity(self, *, required: bool) -> dict[str, Any]:
        if required:
            return {"requiredDuringSchedulingIgnoredDuringExecution": [self.pod_term()]}
        return {
            "preferredDuringSchedulingIgnoredDuringExecution": [
                {"weight": self.draw.randint(1, 100), "podAffinityTerm": self.pod_term()}
                for _ in range(self.draw.randint(1, 2))
            ]
        }

    def spread(self, key: str) -> dict[str, Any]:
        hard = self.chance(0.4)
        found: dict[str, Any] = {
            "maxSkew": self.draw.randint(1, 2),
            "topologyKey": key,
            "whenUnsatisfiable": "DoNotSchedule" if hard else "ScheduleAnyway",
            "labelSelector": self.selector(),
        }
        if hard and self.chance(0.25):
            found["minDomains"] = self.draw.randint(1, 4)
        if self.chance(0.2):
            found["nodeTaintsPolicy"] = "Honor"
        if self.chance(0.2):
            found["nodeAffinityPolicy"] = "Ignore"
        return found

    def service(self, app: str) -> dict[str, Any]:
        namespace = self.draw.choice(NAMESPACES)
        return {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": f"{self.prefix}-{app}", "namespace": namespace},
            "spec": {"selector": {"app": app}, "ports": [{"port": 80}]},
        }
