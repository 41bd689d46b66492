"""From series to bytes and requests per pair, dialect by dialect."""

from __future__ import annotations

import asyncio

import pytest

from ecotone.model.errors import InputError
from ecotone.telemetry.dialects import detect, dialect
from ecotone.telemetry.dialects.base import Pairs, users_at
from ecotone.telemetry.dialects.envoy import Envoy
from ecotone.telemetry.dialects.istio import Istio
from ecotone.telemetry.dialects.opentelemetry import OpenTelemetry
from ecotone.telemetry.families import Figure, Reading
from ecotone.telemetry.prometheus import Failure, Trouble
from ecotone.telemetry.refs import Ref
from ecotone.telemetry.samples import Sample
from telemetry.directory import Town
from telemetry.fake_prometheus import FakeSource, believing

WEB, DB, LEDGER = Ref("shop", "web"), Ref("shop", "db"), Ref("bank", "ledger")
TOWN = Town()


def rates(pairs: Pairs | None) -> dict[tuple[str, str], float]:
    return {(source.name, target.name): figure.value for (source, target), figure in (pairs or {}).items()}


def istio(value: float, *, reporter: str = "destination", **ends: str) -> Reading:
    labels = {
        "source_workload": "web",
        "source_workload_namespace": "shop",
        "destination_workload": "db",
        "destination_workload_namespace": "shop",
        "reporter": reporter,
    } | ends
    return Reading(labels, value, 1.0)


class TestIstio:
    def test_http_and_tcp_bytes_of_a_pair_are_added_in_both_directions(self) -> None:
        found = Istio().rates(
            {
                "request_bytes": [Reading(istio(10).labels, 10, 0.5)],
                "response_bytes": [istio(100)],
                "tcp_sent": [istio(1000)],
                "tcp_received": [istio(10000)],
                "requests": [istio(2)],
            },
            TOWN,
        )
        assert found.bytes == {(WEB, DB): Figure(11110, 0.5)}
        assert rates(found.requests) == {("web", "db"): 2}

    def test_both_directions_of_calls_are_kept_apart(self) -> None:
        back = istio(3, source_workload="db", destination_workload="web")
        found = Istio().rates({"requests": [istio(2), back]}, TOWN)
        assert rates(found.requests) == {("web", "db"): 2, ("db", "web"): 3}

    def test_the_source_counts_only_where_the_destination_is_silent(self) -> None:
        to_bank = {"destination_workload": "ledger", "destination_workload_namespace": "bank"}
        found = Istio().rates(
            {"requests": [istio(2), istio(99, reporter="source"), istio(7, reporter="source", **to_bank)]}, TOWN
        )
        assert found.requests == {(WEB, DB): Figure(2, 1.0), (WEB, LEDGER): Figure(7, 1.0)}

    def test_in_ambient_meshes_the_waypoint_counts(self) -> None:
        found = Istio().rates({"requests": [istio(2, reporter="waypoint"), istio(99, reporter="source")]}, TOWN)
        assert rates(found.requests) == {("web", "db"): 2}

    def test_ztunnels_bytes_are_never_added_to_http_bytes(self) -> None:
        to_bank = {"destination_workload": "ledger", "destination_workload_namespace": "bank"}
        found = Istio().rates(
            {
                "request_bytes": [istio(10, reporter="waypoint")],
                "ztunnel_tcp_sent": [istio(500), istio(40, **to_bank)],
                "ztunnel_tcp_received": [istio(2, **to_bank)],
            },
            TOWN,
        )
        assert rates(found.bytes) == {("web", "db"): 10, ("web", "ledger"): 42}

    def test_unknown_workloads_and_conversations_with_oneself_are_dropped(self) -> None:
        odd = [
            istio(1, source_workload="unknown"),
            istio(1, destination_workload="gone"),
            istio(1, destination_workload="web"),
        ]
        assert Istio().rates({"requests": odd}, TOWN).requests == {}

    def test_users_count_where_their_proxy_stands_and_not_twice(self) -> None:
        entry = {"source_workload": "entry", "source_workload_namespace": "ecotone", "destination_workload": "web"}
        users = [
            Reading(
                {**istio(0, **entry).labels, "@namespace": "ecotone", "@workload": workload, "@node": node}, value, 1.0
            )
            for workload, node, value in (("entry", "edge-1", 5.0), ("entry", "edge-2", 6.0), ("", "", 7.0))
        ]
        found = Istio().rates(
            {"requests": [istio(11, **entry)], "users_requests": users, "users_tcp_sent": users}, TOWN
        )
        wanted = {(users_at("edge-1"), WEB): Figure(5, 1.0), (users_at("edge-2"), WEB): Figure(6, 1.0)}
        assert found.requests == wanted
        assert found.bytes == wanted

    def test_the_questions_name_the_contracts_metrics_and_quote_the_namespace(self) -> None:
        families = Istio().families('a"b', TOWN)
        assert {family.metric for family in families.values()} == {
            "istio_request_bytes_sum",
            "istio_response_bytes_sum",
            "istio_requests_total",
            "istio_tcp_sent_bytes_total",
            "istio_tcp_received_bytes_total",
        }
        assert 'destination_workload_namespace="a\\"b"' in families["requests"].value(60)
        assert 'source_workload!="unknown"' in families["requests"].value(60)


def envoy(
    value: float, cluster: str, *, workload: str = "web", node: str = "edge-1", namespace: str = "shop"
) -> Reading:
    said = {"@namespace": namespace, "@workload": workload, "@node": node}
    return Reading({**said, "envoy_cluster_name": cluster}, value, 1.0)


class TestEnvoy:
    def test_the_caller_is_the_pods_workload_and_the_callee_the_cluster(self) -> None:
        found = Envoy().rates(
            {
                "sent": [envoy(10, "db")],
                "received": [envoy(90, "db"), envoy(5, "bank/ledger")],
                "requests": [envoy(2, "db"), envoy(1, "db", node="edge-2")],
            },
            TOWN,
        )
        assert rates(found.bytes) == {("web", "db"): 100, ("web", "ledger"): 5}
        assert rates(found.requests) == {("web", "db"): 3}

    def test_the_inbound_leg_and_clusters_that_are_no_workloads_are_ignored(self) -> None:
        odd = [envoy(1, "web"), envoy(1, "shop/web"), envoy(1, "xds_cluster"), envoy(1, "db", workload="")]
        assert Envoy().rates({"sent": odd, "requests": odd}, TOWN).bytes == {}

    def test_an_input_proxys_clusters_are_users_at_its_node(self) -> None:
        found = Envoy().rates(
            {"requests": [envoy(4, "shop/web", workload="entry", node="edge-2", namespace="ecotone")]}, TOWN
        )
        assert found.requests == {(users_at("edge-2"), WEB): Figure(4, 1.0)}

    def test_callers_elsewhere_are_asked_for_by_their_clusters_name(self) -> None:
        assert 'envoy_cluster_name=~"my-shop/.+"' in Envoy().families("my-shop", TOWN)["sent"].value(60)


def traced(value: float, client: str, server: str, **more: str) -> Reading:
    return Reading({"client": client, "server": server, **more}, value, 1.0)


class TestOpenTelemetry:
    def test_requests_are_known_and_bytes_are_not(self) -> None:
        found = OpenTelemetry("shop").rates({"requests": [traced(2, "web", "db"), traced(1, "user", "web")]}, TOWN)
        assert rates(found.requests) == {("web", "db"): 2}
        assert found.bytes is None

    def test_namespaces_come_from_the_dimensions_if_there_are_any(self) -> None:
        across = traced(2, "web", "ledger", client_k8s_namespace_name="shop", server_k8s_namespace_name="bank")
        found = OpenTelemetry("shop").rates({"requests": [across]}, TOWN)
        assert found.requests == {(WEB, LEDGER): Figure(2, 1.0)}

    def test_users_need_the_dimension_of_the_clients_node(self) -> None:
        found = OpenTelemetry("shop").rates(
            {"requests": [traced(2, "entry", "web", client_k8s_node_name="edge-1"), traced(9, "entry", "web")]}, TOWN
        )
        assert found.requests == {(users_at("edge-1"), WEB): Figure(2, 1.0)}


def first_question(name: str) -> str:
    family = dialect(name, namespace="shop").presence("shop", TOWN)[0]
    return family.present(identity=("namespace", "pod", "workload") if family.placed else ())


def detected(source: FakeSource) -> str | Failure | None:
    return asyncio.run(detect(believing(source), TOWN, namespace="shop", at=1))


@pytest.mark.parametrize("there", ["istio", "envoy", "opentelemetry"])
def test_the_dialect_that_has_series_is_found(there: str) -> None:
    assert detected(FakeSource({first_question(there): [Sample(istio(1.0).labels, 1.0, 0.0)]})) == there


def test_without_series_there_is_no_dialect_and_a_failure_is_told() -> None:
    assert detected(FakeSource()) is None
    failure = Failure(Trouble.TIMEOUT, "slow")
    assert detected(FakeSource({first_question("istio"): failure})) == failure


def test_an_unknown_dialect_is_told_with_the_nearest() -> None:
    with pytest.raises(InputError, match="istio"):
        dialect("isti", namespace="shop")
