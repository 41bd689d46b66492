"""Objects that somebody wrote to do harm, and random ones like them.

Whoever may create a pod in one namespace may write what he likes into its annotations and, within what the API server
accepts, into its labels and spec. `NAMED` are the objects that once ended a scheduler; `hostile_pod` draws others, over
every key and field that is read. `hostile_object` does the same for the other kinds that are read: workloads, our own
resources, and nodes, whose writers are trusted with figures but not with our lives.
"""

from __future__ import annotations

import json
from random import Random
from typing import Any

HUGE = "1" + "0" * 400
PEERS = ("a", "b", "victims/innocent", "users@n1", "", "/", "a/b/c", "x" * 253, "n1", "\u202e")
PER_PEER = ("traffic", "requests", "calls", "affinity", "deadlines", "latencies", "bandwidths", "losses", "protocols")
SCALARS = (
    *("available-cpu", "available-memory", "cpu-usage", "memory-usage", "measured-at", "max-latency", "edge-share"),
    *("target-latency", "coordinates", "nonzero-requests", "index", "external", "role", "why", "price-per-hour"),
)
SIBLINGS = ("available-cpu", "cpu-usage", "memory-usage", "l-n1", "network-latency.n1", "network-cost-n1")
SIBLINGS_PER_PEER = ("saff-a", "daff-a", "traffic-a", "traffic.a", "rps.a", "packet-loss.n1", "network-bandwidth.n1")
NUMBERS = (
    *(HUGE, f"-{HUGE}", "-1", "0", "0.0", "-0.0", "NaN", "Infinity", "-Infinity", "1e308", "1e999", "-1e308"),
    *("5e-324", "1e-300", "9223372036854775807", "9223372036854775808", "18446744073709551616", "1.5", "true"),
)
TEXTS = (
    *("", " ", "null", "[]", "{}", "[" * 5000, "{" * 5000, '{"a":', '"', "\\", "9" * 5000, "\x00", "\u202e", "é" * 99),
    *("1e400", "1e41", "12m", "8Ei", "-8Ei", "0x10", "1_000", "٣", "100000000000000000000Ei", "1e-40", "5 ms", "9h"),
    *("0001-01-01T00:00:00+23:59", "9999-12-31T23:59:59Z", "9999-12-31T23:59:59-23:59", "2026-02-30T00:00:00Z"),
    *('{"vector": [1e308, -1e308], "height": 1e308}', '{"vector": "x"}', '{"vector": [], "height": -1}'),
    *(f'{{"vector": [{HUGE}], "height": {HUGE}}}', f'{{"cpu": {HUGE}, "memory": {HUGE}}}', '{"cpu": -1, "memory": -1}'),
)
QUANTITIES = ("0", "1", "1n", "100m", "1Gi", "1E", "7Ei", "8Ei", "9223372036854775807", "1e18", "0.000000001", "1.5")


def pod(name: str, *, annotations: dict[str, str] | None = None, **fields: Any) -> dict[str, Any]:
    """A pod for any scheduler but ours, unless its spec says otherwise."""
    spec = {
        "schedulerName": "nobody",
        "containers": [{"name": "main", "image": "app:1", "resources": {"requests": {"cpu": "1m"}}}],
        **fields.pop("spec", {}),
    }
    meta = {"name": name, "annotations": annotations or {}, **fields}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec}


def _containers(count: int, **requests: str) -> list[dict[str, Any]]:
    # Extended resources must be limited to what is requested.
    limits = {name: amount for name, amount in requests.items() if "/" in name}
    resources = {"requests": requests, "limits": limits}
    return [{"name": f"c{i}", "image": "app:1", "resources": resources} for i in range(count)]


NAMED: dict[str, dict[str, Any]] = {
    **{
        key: pod(f"huge-{key}", annotations={f"ecotone.dev/{key}": f'{{"a": {HUGE}, "n1": {HUGE}}}'})
        for key in PER_PEER
    },
    "coordinates": pod("huge-coordinates", annotations={"ecotone.dev/coordinates": f'{{"vector": [{HUGE}]}}'}),
    "nonzero-beyond-64-bits": pod(
        "nonzero", annotations={"ecotone.dev/nonzero-requests": '{"cpu": 9223372036854775808, "memory": 1}'}
    ),
    "nonzero-negative": pod("less", annotations={"ecotone.dev/nonzero-requests": '{"cpu": -9, "memory": -9}'}),
    "nine-containers": pod("nine", spec={"containers": _containers(9, memory="1152921504606846976")}),
    "nine-of-the-most": pod("most", spec={"containers": _containers(9, memory="8Ei", cpu="9223372036854775")}),
}


def hostile_pod(luck: Random, name: str) -> dict[str, Any]:
    """A pod that the API server may well accept."""
    meta: dict[str, Any] = {"labels": _labels(luck)}
    if luck.random() < 0.3:
        kind = luck.choice(("ReplicaSet", "Deployment", "Node", "Job", "Pod", "Strange"))
        version = "v1" if kind in ("Node", "Pod") else "apps/v1"
        meta["ownerReferences"] = [
            {"apiVersion": version, "kind": kind, "name": luck.choice(PEERS) or "a", "uid": f"u{i}"}
            for i in range(luck.randint(1, 2))
        ]
    return pod(name, annotations=_annotations(luck), spec=_spec(luck), **meta)


def _annotations(luck: Random) -> dict[str, str]:
    keys = [f"ecotone.dev/{each}" for each in (*PER_PEER, *SCALARS)] + [*SIBLINGS, *SIBLINGS_PER_PEER]
    keys += ["controller.kubernetes.io/pod-deletion-cost", "kubernetes.io/config.mirror"]
    found = {}
    for key in luck.sample(keys, luck.randint(1, 6)):
        if key.removeprefix("ecotone.dev/") in PER_PEER and luck.random() < 0.7:
            pairs = ", ".join(
                f"{json.dumps(luck.choice(PEERS))}: {luck.choice((*NUMBERS, json.dumps(luck.choice(TEXTS))))}"
                for _ in range(luck.randint(0, 4))
            )
            found[key] = f"{{{pairs}}}"
        else:
            found[key] = luck.choice((*NUMBERS, *TEXTS))
    # What the API server adds to a mirror pod's check is not ours to try.
    found.pop("kubernetes.io/config.mirror", None)
    return found


def _labels(luck: Random) -> dict[str, str]:
    values = ("", "a", "b", "0", "-1", "9" * 63, "x" * 63, "true", "1e5")
    keys = ("app", "app-group", "index", "ecotone.dev/index", "ecotone.dev/role", "pod-template-hash", "saff-a")
    found = {key: luck.choice(values) for key in luck.sample(keys, luck.randint(0, 5))}
    return {key: value for key, value in found.items() if not value.startswith("-")}


def _selector(luck: Random) -> dict[str, Any] | None:
    if luck.random() < 0.2:
        return None
    operators = ("In", "NotIn", "Exists", "DoesNotExist")
    rules: list[dict[str, Any]] = []
    for _ in range(luck.randint(0, 3)):
        operator = luck.choice(operators)
        values = [luck.choice(("a", "b", "", "9" * 63))] if operator in ("In", "NotIn") else []
        rules.append({"key": luck.choice(("app", "index", "x.y/z")), "operator": operator, "values": values})
    return {"matchLabels": _labels(luck), "matchExpressions": rules}


def _node_term(luck: Random) -> dict[str, Any]:
    number = luck.choice(("1", "0", "-1", "9223372036854775807"))
    rule = luck.choice(
        (
            {"key": "kubernetes.io/hostname", "operator": "In", "values": ["n1", "nowhere"]},
            {"key": "ecotone.dev/tier", "operator": "Exists"},
            {"key": "ecotone.dev/price-per-hour", "operator": luck.choice(("Gt", "Lt")), "values": [number]},
        )
    )
    return {"matchExpressions": [rule]}


def _spec(luck: Random) -> dict[str, Any]:
    spec: dict[str, Any] = {"containers": _containers(luck.randint(1, 12), **_requests(luck))}
    if luck.random() < 0.3:
        ports = [{"containerPort": 1, "hostPort": luck.choice((1, 80, 65535))}]
        spec["containers"][0]["ports"] = ports
    if luck.random() < 0.3:
        kind = luck.choice(("podAffinity", "podAntiAffinity"))
        term: dict[str, Any] = {
            "topologyKey": luck.choice(("kubernetes.io/hostname", "zone")),
            "labelSelector": _selector(luck),
        }
        scopes: tuple[dict[str, Any], ...] = ({}, {"namespaces": ["victims"]}, {"namespaceSelector": {}})
        term.update(luck.choice(scopes))
        preferred = [{"weight": luck.choice((1, 100)), "podAffinityTerm": term}]
        spec["affinity"] = {
            kind: {
                "requiredDuringSchedulingIgnoredDuringExecution": [term] if kind == "podAffinity" else [],
                "preferredDuringSchedulingIgnoredDuringExecution": preferred,
            }
        }
    if luck.random() < 0.3:
        preferred = [{"weight": luck.choice((1, 100)), "preference": _node_term(luck)}]
        spec.setdefault("affinity", {})["nodeAffinity"] = {"preferredDuringSchedulingIgnoredDuringExecution": preferred}
    if luck.random() < 0.3:
        spec["topologySpreadConstraints"] = [
            {
                "maxSkew": luck.choice((1, 2**31 - 1)),
                "topologyKey": luck.choice(("kubernetes.io/hostname", "zone")),
                "whenUnsatisfiable": luck.choice(("DoNotSchedule", "ScheduleAnyway")),
                "labelSelector": _selector(luck),
            }
        ]
    if luck.random() < 0.3:
        spec["tolerations"] = [{"operator": "Exists"}, {"key": "k", "value": "v", "effect": "NoExecute"}]
    if luck.random() < 0.2:
        spec["terminationGracePeriodSeconds"] = luck.choice((0, 2**62))
    if luck.random() < 0.2:
        spec["volumes"] = [{"name": "v", "persistentVolumeClaim": {"claimName": luck.choice(("c", "d"))}}]
    if luck.random() < 0.2:
        spec["nodeSelector"] = {"ecotone.dev/tier": luck.choice(("edge", ""))}
    spec["schedulerName"] = luck.choice(("nobody", "ecotone", "ecotone"))
    return spec


def _requests(luck: Random) -> dict[str, str]:
    names = ("cpu", "memory", "ephemeral-storage", "example.com/gpu")
    found = {name: luck.choice(QUANTITIES) for name in luck.sample(names, luck.randint(0, 3))}
    if "example.com/gpu" in found:
        found["example.com/gpu"] = luck.choice(("0", "1", "9223372036854775807"))
    return found


KINDS = (
    "Deployment",
    "StatefulSet",
    "DaemonSet",
    "ReplicaSet",
    "Node",
    "AppGroup",
    "Cluster",
    "NetworkMap",
    "Reservation",
)
"""What `hostile_object` draws, beside pods."""


def hostile_object(luck: Random, kind: str, name: str) -> dict[str, Any]:
    match kind:
        case "Node":
            return _node(luck, name)
        case "AppGroup":
            return hostile_app_group(luck, name)
        case "Cluster" | "NetworkMap" | "Reservation":
            spec = {"Cluster": _cluster_spec, "NetworkMap": _network_map_spec, "Reservation": _reservation_spec}[kind](
                luck
            )
            return _ours(kind, name, spec)
        case _:
            return _workload(luck, kind, name)


def hostile_app_group(luck: Random, name: str) -> dict[str, Any]:
    """An AppGroup beyond what its schema admits: a cluster may have been installed without it."""
    spec: dict[str, Any] = {"name": luck.choice(("shop", "", "a", name))}
    fields: dict[str, Any] = {
        "runPeriod": _number(luck),
        "namespace": luck.choice(("victims", "", "a/b")),
        "window": luck.choice(TEXTS),
        "dialect": luck.choice(("auto", "istio", "", "strange", "../envoy")),
        "queries": {luck.choice(("cpu", "bytes", "strange")): luck.choice(TEXTS)},
        "paused": luck.random() < 0.3,
        "slo": {"percentile": _number(luck), "milliseconds": _number(luck)},
        "qos": {"latency": {luck.choice(("edge", "cloud", "", "x" * 300)): _number(luck)}},
        "descheduler": {
            "policy": luck.choice(("ecotone", "sophos", "pogonip", "/etc/passwd.py:X", "", "\u202e")),
            "minGainMilliseconds": _number(luck),
            "minRelativeGain": _number(luck),
            "coolDownSeconds": _number(luck),
            "maxMovesPerRun": luck.choice((0, -1, 2**31 - 1)),
            "windows": [luck.choice(("Mon", "", "25:00-26:00", "Mon-Fri 22:00-06:00", "9" * 64))],
            "singleReplicas": luck.choice(("never", "surge", "evict", "strange")),
        },
    }
    spec |= {key: fields[key] for key in luck.sample(sorted(fields), luck.randint(0, len(fields)))}
    return {**_ours("AppGroup", name, spec), "status": _status(luck)}


def _ours(kind: str, name: str, spec: dict[str, Any]) -> dict[str, Any]:
    meta = {"name": name, "namespace": "tenant", "uid": f"uid-{name}"}
    return {"apiVersion": "ecotone.dev/v1alpha1", "kind": kind, "metadata": meta, "spec": spec}


def _number(luck: Random) -> Any:
    """Mostly a number of JSON that a 64-bit float can hold, however strange."""
    return luck.choice((0, -1, 1, 30, 1e308, -1e308, 5e-324, 2**63, 0.5, 10**400 if luck.random() < 0.1 else 7))


def _status(luck: Random) -> dict[str, Any]:
    move = {
        "at": luck.choice(("2026-01-01T00:00:00Z", "0001-01-01T00:00:00+23:59", "9999-12-31T23:59:59-23:59", 7, None)),
        **{
            key: luck.choice(("a", "n1", "", 3, None))
            for key in ("pod", "uid", "workload", "kind", "from", "to", "unit")
        },
        "predictedGain": luck.choice((1.0, "NaN", "Infinity", None, "x")),
        "outcome": luck.choice(("Started", "Done", "NotReady", "strange")),
        "surge": luck.random() < 0.5,
    }
    breaker = {
        "trips": luck.choice((0, -1, 5, 10**6, "x", "9" * 5000)),
        "until": luck.choice(("9999-12-31T23:59:59Z", "0001-01-01T00:00:00+23:59", "", "soon", 3)),
        "judged": luck.choice(("2026-01-01T00:00:00Z", "", 3)),
    }
    told: dict[str, Any] = {
        "moves": luck.choice(([], [move], [move] * 50, 7, "x", {"a": 1})),
        "breaker": luck.choice((breaker, [], 7, "x")),
        "conditions": luck.choice(([], [{"type": "Descheduling"}], [3], "x", {"a": 1}, [{"type": 3}])),
        "workloads": luck.choice(({}, {"Deployment/a": _annotations(luck)}, {"x": {}}, {"Deployment/": {}})),
        "observedGeneration": 1,
    }
    return {key: told[key] for key in luck.sample(sorted(told), luck.randint(0, len(told)))}


def _cluster_spec(luck: Random) -> dict[str, Any]:
    return {"runPeriod": _number(luck), "window": luck.choice(TEXTS), "nodeSelector": _labels(luck)}


def _network_map_spec(luck: Random) -> dict[str, Any]:
    domains = ("", "a", "b", "x" * 300)
    rtt = {luck.choice(domains): {luck.choice(domains): _number(luck) for _ in range(2)} for _ in range(3)}
    return {"topologyKey": luck.choice(("zone", "", "kubernetes.io/hostname")), "rtt": rtt}


def _reservation_spec(luck: Random) -> dict[str, Any]:
    return {
        "kind": luck.choice(("Deployment", "", "Strange")),
        "workload": luck.choice(PEERS),
        "podTemplateHash": luck.choice(("", "1", "x" * 300)),
        "node": luck.choice(("n1", "n2", "nowhere", "")),
        "resources": {name: luck.choice((*QUANTITIES, "banana", "-1", HUGE)) for name in ("cpu", "memory", "x.y/z")},
        "replacesUID": luck.choice(("", "u1")),
        "expires": luck.choice(("", "soon", "9999-12-31T23:59:59Z", "0001-01-01T00:00:00+23:59")),
    }


def _workload(luck: Random, kind: str, name: str) -> dict[str, Any]:
    template = {"metadata": {"labels": _labels(luck), "annotations": _annotations(luck)}, "spec": _spec(luck)}
    spec: dict[str, Any] = {"selector": _selector(luck) or {}, "template": template}
    if kind != "DaemonSet":
        spec["replicas"] = luck.choice((0, 1, 2**31 - 1))
    notes = {**_annotations(luck), "ecotone.dev/surge": luck.choice(TEXTS)}
    meta = {"name": name, "namespace": "tenant", "labels": _labels(luck), "annotations": notes}
    return {"apiVersion": "apps/v1", "kind": kind, "metadata": meta, "spec": spec}


def _node(luck: Random, name: str) -> dict[str, Any]:
    amounts = {key: luck.choice((*QUANTITIES, "8Ei", "-1")) for key in ("cpu", "memory", "pods", "example.com/gpu")}
    labels = {"kubernetes.io/hostname": name, "ecotone.dev/tier": luck.choice(("edge", "", "x" * 63))}
    labels["ecotone.dev/price-per-hour"] = luck.choice(("-1", "1e308", "NaN", "", HUGE))
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels, "annotations": _annotations(luck)},
        "spec": {"taints": [{"key": "k", "effect": luck.choice(("PreferNoSchedule", "Strange"))}]},
        "status": {"allocatable": amounts, "capacity": amounts},
    }
