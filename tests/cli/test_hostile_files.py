"""Objects written to do harm, in files: `plan` decides about the others, or says in one line what is wrong."""

import json
from random import Random
from typing import Any

import pytest

from hostile_objects import HUGE, KINDS, NAMED, PER_PEER, hostile_object, hostile_pod, pod

NODES = [
    {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "annotations": {"ecotone.dev/latencies": json.dumps({"n1": 5, "n2": 5})}},
        "status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "110"}},
    }
    for name in ("n1", "n2")
]
HOSTILE_NODE = {
    "apiVersion": "v1",
    "kind": "Node",
    "metadata": {
        "name": "n3",
        "annotations": {
            **{f"ecotone.dev/{key}": f'{{"n1": {HUGE}}}' for key in ("latencies", "bandwidths", "losses")},
            "ecotone.dev/coordinates": f'{{"vector": [{HUGE}, 1], "height": {HUGE}}}',
            "ecotone.dev/available-cpu": HUGE,
        },
    },
    "status": {"allocatable": {"cpu": "9223372036854775807", "memory": "8Ei"}},
}
HOSTILE_DEPLOYMENT: dict[str, Any] = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "d", "annotations": {f"ecotone.dev/{key}": f'{{"a": {HUGE}}}' for key in PER_PEER}},
    "spec": {"template": {"spec": {"containers": [{"name": "c", "resources": {"requests": {"memory": "8Ei"}}}]}}},
}
INNOCENT = pod("innocent", namespace="victims", spec={"schedulerName": "ecotone"})


def planned(run, tmp_path, *hostile, policy="ecotone"):
    file = tmp_path / "objects.json"
    file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": [*NODES, *hostile, INNOCENT]}))
    result = run("plan", "-f", file, "--policy", policy, "--deschedule", "-o", "json")
    assert result.code in (0, 2), result.err
    assert "Traceback" not in result.err
    if result.code == 2:
        assert result.err.count("\n") == 1, result.err
        return None
    decisions = {each["pod"]: each for each in json.loads(result.out)["decisions"]}
    assert decisions["victims/innocent"]["action"] == "bind"
    return decisions


EACH = {**NAMED, "node": HOSTILE_NODE, "deployment": HOSTILE_DEPLOYMENT}


@pytest.mark.parametrize("given", EACH.values(), ids=EACH)
def test_each_object_that_once_ended_a_scheduler(run, tmp_path, given):
    assert planned(run, tmp_path, given) is not None


@pytest.mark.parametrize("policy", ["ecotone", "sophos", "kube-default", "communication-aware"])
def test_all_of_them_together(run, tmp_path, policy):
    assert planned(run, tmp_path, *EACH.values(), policy=policy) is not None


def drawn(luck, number):
    """A pod as often as anything else."""
    if luck.random() < 0.5:
        return hostile_pod(luck, f"p{number}")
    return hostile_object(luck, luck.choice(KINDS), f"o{number}")


def test_random_hostile_objects(run, tmp_path):
    luck = Random(1)
    for number in range(40):
        planned(run, tmp_path, drawn(luck, number))


@pytest.mark.slow
def test_two_thousand_random_hostile_objects(run, tmp_path):
    luck = Random(2)
    for number in range(2000):
        planned(run, tmp_path, drawn(luck, number), policy=luck.choice(("ecotone", "sophos")))


def test_more_pods_than_any_cluster_has_are_refused_at_once(run, tmp_path):
    crowd = {**HOSTILE_DEPLOYMENT, "spec": {**HOSTILE_DEPLOYMENT["spec"], "replicas": 2**31 - 1}}
    file = tmp_path / "objects.json"
    file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": [*NODES, crowd]}))
    result = run("plan", "-f", file)
    assert result.code == 2
    assert "Deployment default/d wants 2147483647 pods" in result.err
