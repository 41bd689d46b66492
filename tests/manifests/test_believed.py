"""Measured keys that nobody answers for: not read on a live cluster, and in files believed for their owner's pods alone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml

from ecotone.manifests import measured_keys, wire
from ecotone.manifests.files import read_paths
from ecotone.manifests.store import ObjectStore
from ecotone.manifests.writing.snapshot import snapshot_documents
from ecotone.model.objects import WorkloadKey
from ecotone.model.snapshot import Snapshot
from ecotone.model.state import ClusterState
from ecotone.scheduling.costs.cost import cpu_ms

CLAIM = "7000m"
MEASURED = "2030-01-01T00:00:00Z"


def node(**notes: str) -> dict[str, Any]:
    allocatable = {"cpu": "8", "memory": "32Gi", "pods": "110"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": "n1", "annotations": notes},
        "status": {"allocatable": allocatable},
    }


def deployment(namespace: str, notes: dict[str, str], **template: Any) -> dict[str, Any]:
    labels = {"app": "web"}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "namespace": namespace, "annotations": notes},
        "spec": {"selector": {"matchLabels": labels}, "template": {"metadata": {"labels": labels, **template}}},
    }


def pod(namespace: str, name: str = "web-1", **meta: Any) -> dict[str, Any]:
    """A small pod that was bound after its node was measured."""
    owner = (
        [] if meta else [{"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "controller": True, "uid": "1"}]
    )
    bound = {"type": "PodScheduled", "status": "True", "lastTransitionTime": "2030-01-01T00:01:00Z"}
    requests = {"requests": {"cpu": "10m", "memory": "1Mi"}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace, "ownerReferences": owner, **meta},
        "spec": {"nodeName": "n1", "containers": [{"name": "c", "image": "i", "resources": requests}]},
        "status": {"phase": "Running", "conditions": [bound]},
    }


def stored(*objects: dict[str, Any], believes: bool) -> ObjectStore[ClusterState]:
    store = ObjectStore(ClusterState())
    store.believes = believes
    store.load((one["kind"], msgspec.convert(one, wire.KINDS[one["kind"]].shape)) for one in objects)
    return store


SPELLINGS = (*measured_keys.OURS, *measured_keys.THEIRS, *(f"{prefix}db" for prefix in measured_keys.PREFIXES))


@pytest.mark.parametrize("field", ["annotations", "labels"])
@pytest.mark.parametrize("key", SPELLINGS)
def test_without_belief_no_spelling_is_read_from_any_object(key: str, field: str) -> None:
    text = '{"db": 5, "vector": [1], "height": 1}' if key.startswith("ecotone.dev/") else "5"
    said = {field: {key: text}}
    objects = [
        {**node(), "metadata": {"name": "n1", **said}},
        deployment("a", {}, **{**said, "labels": {"app": "web", **said.get("labels", {})}}),
        {**deployment("b", {}), "metadata": {"name": "web", "namespace": "b", **said}},
        pod("c", "bare", **said),
    ]
    plain = [
        node(),
        deployment("a", {}, labels={"app": "web", **said.get("labels", {})}),
        {**deployment("b", {}), "metadata": {"name": "web", "namespace": "b"}},
    ]
    told, silent = stored(*objects, believes=False).sink, stored(*plain, believes=False).sink
    for workload in silent.workloads.values():
        assert told.workloads[workload.key] == workload
    assert WorkloadKey("c", "bare", "Pod") not in told.workloads
    (seen,) = told.nodes.nodes
    assert (seen.available_cpu, seen.latencies, seen.coordinates, seen.measured_at) == (None, None, None, None)


def test_what_an_owner_declares_is_read_all_the_same() -> None:
    notes = {"ecotone.dev/affinity": '{"db": 5}', "ecotone.dev/cpu-usage": CLAIM, "ecotone.dev/edge-share": "0.5"}
    found = stored(deployment("a", notes), believes=False).sink.workloads[WorkloadKey("a", "web", "Deployment")]
    assert (found.affinity, found.edge_share, found.cpu_usage) == ({"db": 5.0}, 0.5, None)


def test_a_groups_figures_come_and_go_with_belief() -> None:
    figures = {"workloads": {"Deployment/web": {"ecotone.dev/cpu-usage": "5m"}}}
    group = {"apiVersion": "ecotone.dev/v1alpha1", "kind": "AppGroup", "metadata": {"name": "g", "namespace": "a"}}
    given = msgspec.convert({**group, "spec": {"name": "g"}, "status": figures}, wire.AppGroup)
    store = stored(deployment("a", {}), believes=True)
    key = WorkloadKey("a", "web", "Deployment")
    for believes in (True, False, True):
        store.believes = believes
        store.put("AppGroup", given)
        assert (store.sink.workloads[key].cpu_usage is not None) is believes
    store.drop("AppGroup", "a/g")
    assert store.sink.workloads[key].cpu_usage is None


def cluster(tmp_path: Path, claim: str) -> list[str]:
    """A victim's pod on a measured node, and a stranger's that came later and says how much it uses."""
    measured = {"ecotone.dev/available-cpu": "6", "ecotone.dev/measured-at": MEASURED}
    objects = [
        node(**measured),
        deployment("victim", {}),
        pod("victim"),
        deployment("stranger", {"ecotone.dev/cpu-usage": claim, "ecotone.dev/measured-at": MEASURED}),
        pod("stranger"),
    ]
    path = tmp_path / f"{claim}.yaml"
    path.write_text(yaml.safe_dump_all(objects))
    return [str(path)]


def waiting(snapshot: Snapshot, namespace: str) -> float:
    state = ClusterState.of(snapshot)
    found = state.find_pod(f"{namespace}/web-1")
    assert found is not None
    return float(cpu_ms(state, found.kind, state.nodes.all_rows)[0])


def test_a_strangers_claim_moves_nobody_elses_pod(tmp_path: Path) -> None:
    claimed, honest = read_paths(cluster(tmp_path, CLAIM)), read_paths(cluster(tmp_path, "10m"))
    assert waiting(claimed, "victim") == waiting(honest, "victim")
    assert waiting(claimed, "stranger") > waiting(honest, "stranger"), "of his own pods he is believed"
    trusted = read_paths(cluster(tmp_path, CLAIM), trusted=True)
    assert waiting(trusted, "victim") > waiting(honest, "victim"), "somebody answers for all that is in the files"


@pytest.mark.parametrize("trusted", [False, True])
def test_a_dump_remembers_whose_figures_counted(tmp_path: Path, trusted: bool) -> None:
    first = read_paths(cluster(tmp_path, CLAIM), trusted=trusted)
    path = tmp_path / "dump.json"
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": snapshot_documents(first)}))
    again = read_paths([path])
    assert again.vouched is trusted
    assert waiting(again, "victim") == waiting(first, "victim")
