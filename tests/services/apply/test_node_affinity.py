"""A plan of a file carried out through node affinity, with a client that answers as told instead of an API server."""

from __future__ import annotations

import asyncio
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
import yaml

from ecotone.cli import main
from ecotone.kube.client import STRATEGIC_PATCH
from ecotone.kube.errors import ApiError
from ecotone.manifests.files import read_paths
from ecotone.model.snapshot import Snapshot
from ecotone.placement.problem.taxi import scenario_1
from ecotone.scheduling.decide import decide
from ecotone.services.apply.node_affinity import Tied, tie_to_nodes
from placement.manifests import cluster_yaml

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def as_workloads(kind: str) -> list[dict[str, Any]]:
    """The first scenario with every pod replaced by a workload of that kind."""
    found = []
    for document in yaml.safe_load_all(cluster_yaml(scenario_1())):
        if document["kind"] != "Pod":
            found.append(document)
            continue
        meta = document["metadata"]
        template = {"metadata": {key: meta[key] for key in ("labels", "annotations")}, "spec": document["spec"]}
        named = {"name": meta["name"], "namespace": "default", "labels": meta["labels"]}
        spec = {"replicas": 1, "selector": {"matchLabels": {"app": meta["name"]}}, "template": template}
        found.append({"apiVersion": "apps/v1", "kind": kind, "metadata": named, "spec": spec})
    return found


def read(tmp_path: Path, objects: list[dict[str, Any]]) -> Snapshot:
    path = tmp_path / "cluster.yaml"
    path.write_text(yaml.safe_dump_all(objects))
    return read_paths([path])


class Client:
    """Holds the workloads, answers reads, and remembers patches."""

    def __init__(self, objects: list[dict[str, Any]]) -> None:
        self.objects = {each["metadata"]["name"]: deepcopy(each) for each in objects if each["kind"] != "Node"}
        for k, each in enumerate(self.objects.values()):
            each["metadata"] |= {"uid": f"uid-{k}", "resourceVersion": f"{100 + k}"}
        self.patches: dict[str, dict[str, Any]] = {}
        self.dry: set[bool] = set()
        self.refuses: set[str] = set()

    async def get(self, _kind: type, _resource: Any, *, name: str, namespace: str) -> dict[str, Any]:
        assert namespace == "default"
        return self.objects[name]

    async def patch(
        self, _resource: Any, body: Any, *, name: str, namespace: str, content_type: str, dry_run: bool
    ) -> bytes:
        assert (namespace, content_type) == ("default", STRATEGIC_PATCH)
        if name in self.refuses:
            raise ApiError(409, "the object has been modified")
        self.patches[name] = body
        self.dry.add(dry_run)
        return b"{}"


def tied(client: Any, snapshot: Snapshot, *, rehearse: bool = False) -> dict[str, Tied]:
    decisions = decide(snapshot, "pogonip-opt").decisions

    async def run() -> list[Tied]:
        return [each async for each in tie_to_nodes(client, snapshot, decisions, rehearse=rehearse)]

    return {each.workload.name: each for each in asyncio.run(run())}


@pytest.mark.parametrize("kind", ["Deployment", "StatefulSet"])
@pytest.mark.parametrize("rehearse", [False, True])
def test_every_workload_of_a_file_is_patched_in_the_version_that_was_read(
    kind: str, rehearse: bool, tmp_path: Path
) -> None:
    objects = as_workloads(kind)
    client = Client(objects)
    found = tied(client, read(tmp_path, objects), rehearse=rehearse)
    assert len(found) == 5 and all(each.done for each in found.values())
    assert client.dry == {rehearse}
    for name, each in found.items():
        body = client.patches[name]
        assert body["metadata"] == {key: client.objects[name]["metadata"][key] for key in ("uid", "resourceVersion")}
        terms = body["spec"]["template"]["spec"]["affinity"]["nodeAffinity"][REQUIRED]["nodeSelectorTerms"]
        assert [term["matchFields"][0]["values"] for term in terms] == [[node] for node in each.nodes]


def test_a_workload_that_changed_meanwhile_is_left_alone_and_reported(tmp_path: Path) -> None:
    objects = as_workloads("Deployment")
    client = Client(objects)
    own: dict[str, Any] = {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [{"matchExpressions": []}]}}}
    client.objects["taxi-0-iot"]["spec"]["template"]["spec"]["affinity"] = own
    client.refuses = {"taxi-0-storage"}
    found = tied(client, read(tmp_path, objects))
    failed = {name: each.detail for name, each in found.items() if not each.done}
    assert failed.keys() == {"taxi-0-iot", "taxi-0-storage"}
    assert "affinity of its own" in failed["taxi-0-iot"] and "409" in failed["taxi-0-storage"]
    assert client.patches.keys() == {"taxi-0-queue", "taxi-0-aggregator-bronx", "taxi-0-aggregator-brooklyn"}


def test_pods_that_nobody_would_replace_are_reported(tmp_path: Path) -> None:
    bare = list(yaml.safe_load_all(cluster_yaml(scenario_1())))
    found = tied(Client(bare), read(tmp_path, bare))
    assert len(found) == 5 and not any(each.done for each in found.values())
    sets = as_workloads("ReplicaSet")
    for each in tied(Client(sets), read(tmp_path, sets)).values():
        assert not each.done and "ReplicaSet does not replace" in each.detail


def test_templates_are_not_changed_while_pods_are_moved(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["apply", "--affinity", "--deschedule"]) == 2
    assert "exclude each other" in capsys.readouterr().err
