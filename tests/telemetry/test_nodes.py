"""Series matched to nodes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ecotone.telemetry.families import Figure, Reading
from ecotone.telemetry.nodes import Matcher, NodeIdentity, host_of, node_figures

A = NodeIdentity("a", ("10.0.0.1", "fd00::1"), cpu=4.0, memory=1000.0)
B = NodeIdentity("b.example", ("10.0.0.2",), cpu=2.0, memory=1000.0)
NODES = Matcher([A, B])


def reading(value: float, at: float = 1.0, **labels: str) -> Reading:
    return Reading(labels, value, at)


@pytest.mark.parametrize(
    ("labels", "name"),
    [
        ({"node": "a", "nodename": "b.example", "instance": "10.0.0.2:9100"}, "a"),
        ({"node": "elsewhere", "nodename": "b.example", "instance": "10.0.0.1:9100"}, "b.example"),
        ({"instance": "a:9100"}, "a"),
        ({"instance": "10.0.0.2:9100"}, "b.example"),
        ({"instance": "[fd00::1]:9100"}, "a"),
        ({"instance": "fd00::1"}, "a"),
        ({"instance": "b.example"}, "b.example"),
        ({"instance": "10.0.0.9:9100"}, None),
        ({}, None),
    ],
)
def test_a_series_belongs_to_node_else_nodename_else_instance(labels: dict[str, str], name: str | None) -> None:
    found = NODES.match(labels)
    assert (None if found is None else found[1]) == name


@given(st.text(max_size=30))
def test_any_instance_has_a_host(text: str) -> None:
    assert isinstance(host_of(text), str)


def test_an_address_that_two_nodes_claim_points_to_neither() -> None:
    matcher = Matcher([NodeIdentity("a", ("10.0.0.1",)), NodeIdentity("b", ("10.0.0.1",))])
    assert matcher.match({"instance": "10.0.0.1:9100"}) is None


def test_what_is_available_is_capped_at_allocatable() -> None:
    found = node_figures(NODES, cpu=[reading(7.5, node="a")], memory=[reading(600, node="a")])
    assert found["a"].cpu == Figure(4.0, 1.0)
    assert found["a"].memory == Figure(600, 1.0)


def test_two_jobs_that_scrape_one_exporter_are_not_added_up() -> None:
    found = node_figures(NODES, cpu=[reading(1.0, instance="10.0.0.1:9100", job="x"), reading(1.1, node="a", job="y")])
    assert found["a"].cpu == Figure(1.1, 1.0)


def test_latency_is_the_mean_round_trip_and_a_silent_peer_has_none() -> None:
    found = node_figures(
        NODES,
        rtt_sum=[reading(0.05, origin="a", target="b.example"), reading(0.0, origin="b.example", target="a")],
        rtt_count=[reading(2.0, 9.0, origin="a", target="b.example"), reading(0.0, origin="b.example", target="a")],
    )
    assert found["a"].latencies == {"b.example": Figure(25.0, 9.0)}
    assert "b.example" not in found


def test_pairs_with_unknown_nodes_and_with_oneself_are_left_out() -> None:
    pairs = [("a", "a"), ("a", "gone"), ("gone", "a")]
    sums = [reading(1.0, origin=origin, target=target) for origin, target in pairs]
    assert node_figures(NODES, rtt_sum=sums, rtt_count=sums) == {}


def test_a_series_with_an_axis_that_no_probe_has_is_left_out() -> None:
    axes = ("0", "1", "height", "error", "²", "٣", "-1", "999999", "")
    found = node_figures(NODES, coordinates=[reading(1.0, origin="a", axis=axis) for axis in axes])
    assert set(found["a"].coordinates) == {"0", "1", "height", "error"}
