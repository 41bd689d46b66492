"""From figures to each workload's and node's values."""

from __future__ import annotations

from ecotone.manifests import keys
from ecotone.services.monitor.annotations import SCALAR
from ecotone.services.monitor.desired import node_measured, workload_figures, workload_measured
from ecotone.telemetry.dialects.base import Rates, users_at
from ecotone.telemetry.families import Figure
from ecotone.telemetry.nodes import NodeFigures
from ecotone.telemetry.refs import Ref

WEB, DB, LEDGER = Ref("shop", "web"), Ref("shop", "db"), Ref("bank", "ledger")


def figure(value: float, at: float = 1.0) -> Figure:
    return Figure(value, at)


def values(table: dict[str, Figure]) -> dict[str, float]:
    return {peer: each.value for peer, each in table.items()}


def test_both_ends_are_told_of_a_pair_and_only_the_caller_of_the_direction() -> None:
    rates = Rates(bytes={(WEB, DB): figure(100)}, requests={(WEB, DB): figure(5)})
    found = workload_figures([WEB, DB], cpu={WEB: figure(0.2)}, memory={DB: figure(7)}, rates=rates)
    assert values(found[WEB].traffic) == {"db": 100} and values(found[DB].traffic) == {"web": 100}
    assert values(found[WEB].requests) == {"db": 5} and values(found[DB].requests) == {"web": 5}
    assert values(found[WEB].calls) == {"db": 5} and found[DB].calls == {}
    assert found[WEB].cpu == figure(0.2) and found[DB].memory == figure(7)


def test_calls_in_both_directions_are_one_conversation() -> None:
    rates = Rates(bytes={(WEB, DB): figure(100, 3), (DB, WEB): figure(10, 2)}, requests={})
    found = workload_figures([WEB], cpu={}, memory={}, rates=rates)
    assert found[WEB].traffic == {"db": figure(110, 2)}


def test_a_peer_of_another_namespace_carries_it_and_users_carry_their_node() -> None:
    rates = Rates(bytes={(WEB, LEDGER): figure(1), (users_at("edge-1"), WEB): figure(2)}, requests={})
    found = workload_figures([WEB], cpu={}, memory={}, rates=rates)
    assert values(found[WEB].traffic) == {"bank/ledger": 1, "users@edge-1": 2}
    assert set(found) == {WEB}


def test_unknown_bytes_are_no_zeros() -> None:
    found = workload_figures([WEB], cpu={}, memory={}, rates=Rates(bytes=None, requests={(WEB, DB): figure(5)}))
    measured = workload_measured(found[WEB], carries=lambda _: True)
    assert measured[keys.TRAFFIC].entries == {}
    assert measured[keys.CPU_USAGE].entries == {}


def test_up_to_two_hundred_nodes_carry_pairs_and_larger_clusters_coordinates() -> None:
    axes = {str(n): figure(n) for n in range(8)} | {"height": figure(1), "error": figure(0.1)}
    figures = NodeFigures(cpu=figure(1.5), latencies={"b": figure(9)}, coordinates=axes)
    small = node_measured(figures, nodes={"b"}, pairs=True)
    assert small[keys.LATENCIES].entries == {"b": figure(9)}
    assert small[keys.AVAILABLE_CPU].entries == {SCALAR: figure(1500)}
    large = node_measured(figures, nodes={"b"}, pairs=False)
    assert large[keys.LATENCIES].entries == {} and not large[keys.LATENCIES].carries("b")
    assert large[keys.COORDINATES].entries == axes


def test_half_a_place_is_no_place() -> None:
    figures = NodeFigures(coordinates={"0": figure(1), "2": figure(1), "height": figure(1), "error": figure(1)})
    assert node_measured(figures, nodes=(), pairs=False)[keys.COORDINATES].entries == {}
