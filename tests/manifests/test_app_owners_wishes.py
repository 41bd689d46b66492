"""What the owner of an application asks for: targets, balancing, groups and reservations."""

import pytest

from ecotone.manifests.writing.snapshot import snapshot_documents
from manifests.builders import snapshot_of, thing


def deployment(**annotations):
    notes = {f"ecotone.dev/{key.replace('_', '-')}": text for key, text in annotations.items()}
    return thing("Deployment", "web", annotations=notes)


def only_workload(tmp_path, given):
    (workload,) = snapshot_of(tmp_path, given).workloads.values()
    return workload


def test_calls_and_targets_are_read_from_the_workload(tmp_path):
    found = only_workload(tmp_path, deployment(calls='{"db": 7.5}', edge_share="0.25", target_latency="50ms"))
    assert (found.calls, found.edge_share, found.target_latency_ms) == ({"db": 7.5}, 0.25, 50.0)


@pytest.mark.parametrize(("text", "read"), [("zone", "zone"), (" None", "none"), ("rack", None)])
def test_an_owner_says_what_replicas_are_to_survive(tmp_path, text, read):
    assert only_workload(tmp_path, deployment(redundancy=text)).redundancy == read


def test_a_share_above_one_is_unknown(tmp_path):
    assert only_workload(tmp_path, deployment(edge_share="1.5")).edge_share is None


def test_a_services_traffic_distribution_is_known_and_its_former_name_too(tmp_path):
    services = [
        thing("Service", name, spec={"selector": {"app": "web"}, "trafficDistribution": text})
        for name, text in (("a", "PreferSameNode"), ("b", "PreferClose"), ("c", "PreferNothing"))
    ]
    services.append(thing("Service", "d", spec={"selector": {"app": "web"}}))
    found = {each.name: each.traffic_distribution for each in snapshot_of(tmp_path, *services).services}
    assert found == {"a": "PreferSameNode", "b": "PreferSameZone", "c": None, "d": None}


def test_an_app_group_says_its_tiers_latencies_and_objective(tmp_path):
    spec = {
        "name": "shop",
        "paused": True,
        "qos": {"latency": {"edge": 50, "cloud": 300}},
        "slo": {"percentile": 99, "milliseconds": 200},
    }
    (group,) = snapshot_of(tmp_path, thing("AppGroup", "any", namespace="s", spec=spec)).app_groups
    assert (group.namespace, group.name, group.paused) == ("s", "shop", True)
    assert group.tier_latency_ms == {"edge": 50.0, "cloud": 300.0}
    assert (group.slo_percentile, group.slo_ms) == (99.0, 200.0)


def test_all_of_it_survives_a_dumped_snapshot(tmp_path):
    held = {
        "kind": "StatefulSet",
        "workload": "web",
        "node": "n",
        "podTemplateHash": "h",
        "expires": "2026-01-01T00:00:00Z",
    }
    first = snapshot_of(
        tmp_path,
        deployment(calls='{"db": 7.5}', edge_share="0.25", target_latency="50ms", redundancy="node"),
        thing("Service", "a", spec={"selector": {"app": "web"}, "trafficDistribution": "PreferSameNode"}),
        thing("AppGroup", "shop", spec={"name": "shop", "qos": {"latency": {"edge": 5}}}),
        thing("Reservation", "r", spec=held, status={"takenBy": "u-1"}),
    )
    again = snapshot_of(tmp_path, *snapshot_documents(first))
    for part in ("workloads", "services", "app_groups", "reservations"):
        assert getattr(again, part) == getattr(first, part)
    assert first.reservations[0].workload.kind == "StatefulSet" and first.reservations[0].taken_by == "u-1"
