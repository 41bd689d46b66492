"""What a tenant may try with objects: measured keys, priorities, scale, applications, reservations, records, others' names."""

from __future__ import annotations

import json
import random
from typing import Any

from control_plane.campaign import GROUPS, Tenant, attempt
from control_plane.objects import deployment, pod
from ecotone.manifests import measured_keys

VICTIM = "shop"
"""The namespace, the application and the AppGroup of somebody else."""
NODES = ("near", "far")
SPELLINGS = (
    *measured_keys.OURS,
    *measured_keys.THEIRS,
    *(f"{prefix}{peer}" for prefix in measured_keys.PREFIXES for peer in ("db", "front", "near", "far")),
)
NUMBERS = ("7000m", "0", "-1", "1e9", "NaN", "999999999999", "0.0001")
TIMES = ("2100-01-01T00:00:00Z", "1970-01-01T00:00:00Z", "now")
CLASSES = ("ecotone-control", "ecotone-node")


def _figures(draw: random.Random) -> dict[str, str]:
    return {key: _value(key, draw) for key in draw.sample(SPELLINGS, draw.randint(1, 4))}


def _value(key: str, draw: random.Random) -> str:
    if key.endswith(("measured-at", "measured-from")):
        return draw.choice(TIMES)
    if key.endswith(("traffic", "requests", "calls", "latencies", "errors")):
        peers = (f"{VICTIM}/front", "front", "db", "users@near", *NODES)
        return json.dumps({peer: draw.choice((0, 5_000, 1e9)) for peer in draw.sample(peers, 2)})
    if key.endswith("coordinates"):
        return json.dumps({"vector": [draw.uniform(-1e6, 1e6)], "height": 1, "error": 0})
    return draw.choice(NUMBERS)


def _small(name: str, tenant: Tenant, **more: Any) -> dict[str, Any]:
    return pod(name, namespace=tenant.namespace, cpu="1m", memory="1Mi", **more)


def _web(name: str, tenant: Tenant, draw: random.Random, **more: Any) -> dict[str, Any]:
    made = deployment(name, namespace=tenant.namespace, replicas=draw.randint(0, 2), cpu="1m", memory="1Mi", **more)
    # As its owner may well do: he calls it what the other one is called.
    made["spec"]["template"]["metadata"]["labels"]["app-group"] = VICTIM
    return made


def _name(draw: random.Random) -> str:
    return f"{draw.choice(('front', 'db', 'web'))}-{draw.randrange(12)}"


@attempt("figures on a bare pod")
def figures_on_a_pod(tenant: Tenant, draw: random.Random) -> str:
    notes, field = _figures(draw), draw.choice(("annotations", "labels"))
    made = _small(_name(draw), tenant, nodeName=draw.choice(NODES))
    made["metadata"][field] = {**made["metadata"][field], **notes}
    return f"{notes}: {tenant.tries('POST', tenant.here('v1', 'pods'), made)}"


@attempt("figures on a workload")
def figures_on_a_workload(tenant: Tenant, draw: random.Random) -> str:
    notes, made = _figures(draw), _web(_name(draw), tenant, draw)
    place = draw.choice((made["metadata"], made["spec"]["template"]["metadata"]))
    field = draw.choice(("annotations", "labels"))
    place[field] = {**place.get(field, {}), **notes}
    return f"{notes}: {tenant.tries('POST', tenant.here('apps/v1', 'deployments'), made)}"


@attempt("figures later")
def figures_later(tenant: Tenant, draw: random.Random) -> str:
    """First a workload as it should be, then a patch of it, of its status or of one of its pods."""
    made = _web("later", tenant, draw)
    tenant.tries("POST", tenant.here("apps/v1", "deployments"), made)
    notes = {"metadata": {"annotations": _figures(draw)}}
    where = tenant.here("apps/v1", "deployments", "later") + draw.choice(("", "/status"))
    pods = tenant.cluster.pods(tenant.namespace)
    if pods and draw.random() < 0.5:
        where = tenant.here("v1", "pods", draw.choice(pods)["metadata"]["name"]) + draw.choice(("", "/status"))
    return f"{where}: {tenant.patches(where, notes)}"


@attempt("figures through a job")
def figures_through_a_job(tenant: Tenant, draw: random.Random) -> str:
    template = {"metadata": {"annotations": _figures(draw)}, "spec": _small("x", tenant)["spec"]}
    template["spec"]["restartPolicy"] = "Never"
    meta = {"name": f"job-{draw.randrange(1000)}", "namespace": tenant.namespace}
    job: dict[str, Any] = {"apiVersion": "batch/v1", "kind": "Job", "metadata": meta, "spec": {"template": template}}
    plural = "jobs"
    if draw.random() < 0.5:
        spec = {"schedule": "* * * * *", "jobTemplate": {"spec": job["spec"]}}
        job, plural = {**job, "kind": "CronJob", "spec": spec}, "cronjobs"
    return tenant.tries("POST", tenant.here("batch/v1", plural), job)


@attempt("figures with a binding")
def figures_with_a_binding(tenant: Tenant, draw: random.Random) -> str:
    tenant.tries("POST", tenant.here("v1", "pods"), _small("unbound", tenant, scheduler="nobody"))
    target = {"apiVersion": "v1", "kind": "Node", "name": draw.choice(NODES)}
    meta = {"name": "unbound", "annotations": _figures(draw)}
    body = {"apiVersion": "v1", "kind": "Binding", "metadata": meta, "target": target}
    return tenant.tries("POST", tenant.here("v1", "pods", "unbound") + "/binding", body)


@attempt("an orphan")
def an_orphan(tenant: Tenant, draw: random.Random) -> str:
    """A pod whose owner is taken off: it speaks for itself from then on."""
    pods = [one for one in tenant.cluster.pods(tenant.namespace) if one["metadata"].get("ownerReferences")]
    if not pods:
        return "no pod with an owner"
    name = draw.choice(pods)["metadata"]["name"]
    body = {"metadata": {"ownerReferences": None, "annotations": _figures(draw)}}
    return tenant.patches(tenant.here("v1", "pods", name), body)


@attempt("a priority of ours")
def a_priority_of_ours(tenant: Tenant, draw: random.Random) -> str:
    cpu, name = draw.choice(("1m", "3500m")), draw.choice(CLASSES)
    made = pod("urgent", namespace=tenant.namespace, cpu=cpu, priorityClassName=name)
    return tenant.tries("POST", tenant.here("v1", "pods"), made)


@attempt("scale")
def scale(tenant: Tenant, draw: random.Random) -> str:
    """Pods that come and go, under a name that somebody else's application has."""
    path = tenant.here("apps/v1", "deployments")
    tenant.tries("POST", path, _web("front", tenant, draw))
    return tenant.patches(f"{path}/front/scale", {"spec": {"replicas": draw.randrange(6)}})


@attempt("an application")
def an_application(tenant: Tenant, draw: random.Random) -> str:
    name = draw.choice((VICTIM, "mine"))
    spec = {
        "name": draw.choice((VICTIM, "*", "x" * 63)),
        "namespace": draw.choice((tenant.namespace, VICTIM, "kube-system")),
        "runPeriod": draw.choice((1, 0, 5, 10**9)),
        "paused": draw.random() < 0.2,
        "descheduler": {
            "policy": draw.choice(("ecotone", "sophos", "kubedsm", "./evil.py:Plugin", "")),
            "minGainMilliseconds": draw.choice((0, -1, 1e308)),
            "coolDownSeconds": 0,
            "maxMovesPerRun": draw.choice((0, 1, 10**6)),
            "singleReplicas": draw.choice(("evict", "surge", "never")),
        },
        "queries": {"traffic": draw.choice(("up", "vector(5000)", '{__name__=~".+"}'))},
    }
    made = {"apiVersion": "ecotone.dev/v1alpha1", "kind": "AppGroup", "metadata": {"name": name}, "spec": spec}
    path = tenant.here("ecotone.dev/v1alpha1", "appgroups")
    return tenant.tries("POST", path, made) and tenant.patches(f"{path}/{name}", {"spec": spec})


@attempt("an application's status")
def an_applications_status(tenant: Tenant, draw: random.Random) -> str:
    an_application(tenant, draw)
    move = {"pod": f"{VICTIM}/front", "uid": "x", "workload": f"Deployment:{VICTIM}/front", "from": "near", "to": "far"}
    status = draw.choice(
        (
            {"workloads": {f"Deployment/{draw.choice(('front', 'web-1'))}": _figures(draw)}},
            {"moves": [{**move, "outcome": draw.choice(("Moving", "Done", "Undone")), "at": "2030-01-01T00:00:00Z"}]},
            {"breaker": {"openUntil": "2100-01-01T00:00:00Z"}, "memory": {"plans": "x" * 5000}},
        )
    )
    path = tenant.here("ecotone.dev/v1alpha1", "appgroups", draw.choice((VICTIM, "mine")))
    return tenant.patches(f"{path}/status", {"status": status})


@attempt("a reservation")
def a_reservation(tenant: Tenant, draw: random.Random) -> str:
    """Of a whole node, for a workload of his or of another's name; its status as if it were free, or taken."""
    name = f"held-{draw.randrange(20)}"
    spec = {
        "kind": "Deployment",
        "workload": draw.choice(("front", "web-1", f"{VICTIM}/front")),
        "node": draw.choice(NODES),
        "resources": {"cpu": draw.choice(("4", "1000")), "memory": "64Gi"},
        "replacesUID": "nobody",
        "expires": draw.choice(TIMES[:2]),
    }
    made = {"apiVersion": "ecotone.dev/v1alpha1", "kind": "Reservation", "metadata": {"name": name}, "spec": spec}
    path = tenant.here("ecotone.dev/v1alpha1", "reservations")
    told = tenant.tries("POST", path, made)
    freed = {"status": {"takenBy": draw.choice(("", "somebody"))}}
    return f"{told} {tenant.patches(f'{path}/{name}/status', freed)}"


@attempt("a surge nobody began")
def a_surge_nobody_began(tenant: Tenant, draw: random.Random) -> str:
    victims = tenant.cluster.pods(VICTIM)
    who = draw.choice(victims)["metadata"] if victims else {"name": "front", "uid": "x"}
    record = {
        "replicas": draw.choice((0, 1, 500)),
        "uid": who["uid"],
        "pod": who["name"],
        "target": draw.choice(NODES),
        "since": draw.choice((0.0, 1e12)),
    }
    made = _web(_name(draw), tenant, draw, annotations={"ecotone.dev/surge": json.dumps(record)})
    return tenant.tries("POST", tenant.here("apps/v1", "deployments"), made)


@attempt("a claim on others")
def a_claim_on_others(tenant: Tenant, draw: random.Random) -> str:
    """What an owner may declare, said about another's workloads; labels that another's selectors mean."""
    peers = {f"{VICTIM}/{name}": draw.choice((1, 1000)) for name in ("front", "db")}
    notes = {f"ecotone.dev/{key}": json.dumps(peers) for key in ("affinity", "deadlines", "soft-deadlines")}
    notes["ecotone.dev/max-latency"] = draw.choice(("0ms", "1ms", "-5s"))
    labels = {"app": "front", "app-group": VICTIM, "ecotone.dev/role": "message-queue", "ecotone.dev/index": "-9"}
    made = _small(f"claim-{draw.randrange(20)}", tenant, annotations=notes, labels=labels)
    return tenant.tries("POST", tenant.here("v1", "pods"), made)


@attempt("at others directly")
def at_others_directly(tenant: Tenant, draw: random.Random) -> str:
    """RBAC's to refuse; a role of ours that an aggregation handed to tenants would show here."""
    victims = tenant.cluster.pods(VICTIM)
    name = draw.choice(victims)["metadata"]["name"] if victims else "front"
    eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name, "namespace": VICTIM}}
    figures = {"metadata": {"annotations": _figures(draw)}}
    return draw.choice(
        (
            lambda: tenant.tries("POST", f"/api/v1/namespaces/{VICTIM}/pods/{name}/eviction", eviction),
            lambda: tenant.patches(f"/api/v1/nodes/{draw.choice(NODES)}", figures),
            lambda: tenant.patches(f"/apis/apps/v1/namespaces/{VICTIM}/deployments/front", figures),
            lambda: tenant.patches(f"{GROUPS}/namespaces/{VICTIM}/appgroups/{VICTIM}", {"spec": {"paused": True}}),
            lambda: tenant.tries("DELETE", f"{GROUPS}/namespaces/{VICTIM}/reservations"),
            lambda: tenant.patches("/apis/scheduling.k8s.io/v1/priorityclasses/ecotone-control", {"value": 1}),
        )
    )()


@attempt("tidying up")
def tidying_up(tenant: Tenant, draw: random.Random) -> str:
    """Also leaving is something to react to."""
    root, plural = draw.choice(
        (("apps/v1", "deployments"), ("v1", "pods"), ("ecotone.dev/v1alpha1", "appgroups"), ("batch/v1", "jobs"))
    )
    return tenant.tries("DELETE", tenant.here(root, plural))
