"""Who has which node, and what conditions say."""

from __future__ import annotations

import asyncio

import virtual_time
from ecotone.manifests import wire
from ecotone.services.monitor.cluster_part import judge, shared_out
from ecotone.services.monitor.conditions import Condition, changed, merged, turned
from ecotone.services.monitor.reading import Answered
from ecotone.services.monitor.watched import Cluster, Meta, Node
from ecotone.services.monitor.writer import Pace
from ecotone.telemetry.families import Figure, Readings
from ecotone.telemetry.nodes import NodeFigures
from ecotone.telemetry.prometheus import Failure, Trouble


def cluster(name: str, created: str, **selector: str) -> Cluster:
    spec = wire.ClusterSpec(node_selector=selector)
    return Cluster(metadata=Meta(name=name, creation_timestamp=created), spec=spec)


def node(name: str, **labels: str) -> Node:
    return Node(metadata=Meta(name=name, labels=labels))


NODES = [node("a", tier="edge"), node("b", tier="edge"), node("c", tier="cloud")]
OLD = cluster("z-old", "2026-01-01T00:00:00Z", tier="edge")
NEW = cluster("a-new", "2026-02-01T00:00:00Z")


def test_the_older_cluster_has_the_nodes_that_two_select() -> None:
    shares = shared_out([NEW, OLD], NODES)
    assert {name: [each.metadata.name for each in nodes] for name, nodes in shares.nodes.items()} == {
        "z-old": ["a", "b"],
        "a-new": ["c"],
    }
    assert shares.lost == {"a-new": {"a": "z-old", "b": "z-old"}}


def full() -> NodeFigures:
    return NodeFigures(Figure(1, 1), Figure(1, 1), {"x": Figure(1, 1)})


def said(found: list[Condition]) -> dict[str, tuple[bool | None, str]]:
    return {each.type: (each.status, each.reason) for each in found}


def answered(*, failing: bool = False) -> Answered:
    one = Answered()
    one.take("cpu", Failure(Trouble.TIMEOUT, "slow") if failing else Readings([]))
    return one


def test_all_measured_is_ready() -> None:
    found = said(judge(NODES, {each.metadata.name: full() for each in NODES}, answered(), lost={}))
    assert found["Ready"] == (True, "Measured") and found["Overlapping"] == (False, "None")


def test_a_node_without_figures_is_named() -> None:
    found = judge(NODES, {"a": full(), "b": full()}, answered(), lost={"x": "other"})
    fresh = next(each for each in found if each.type == "DataFresh")
    assert fresh.status is False and "1 of 3 nodes without CPU (c)" in fresh.message
    assert said(found)["Ready"] == (False, "Missing") and said(found)["Overlapping"] == (True, "OlderClusterWins")


def test_a_prometheus_that_does_not_answer_is_told_with_its_trouble() -> None:
    found = said(judge(NODES, {}, answered(failing=True), lost={}))
    assert found["PrometheusReachable"] == (False, "Timeout") and found["Ready"] == (False, "Timeout")


def test_a_part_of_the_questions_that_failed_leaves_it_reachable() -> None:
    one = answered(failing=True)
    one.take("memory", Readings([]))
    assert one.reachable().status is True and "1 of 2 questions failed" in one.reachable().message


def test_the_time_of_a_condition_changes_only_with_its_status() -> None:
    first = merged([], [Condition("Ready", True, "Measured")], generation=1, now=100.0)
    again = merged(first, [Condition("Ready", True, "Measured", "3 nodes")], generation=2, now=200.0)
    assert again[0]["lastTransitionTime"] == first[0]["lastTransitionTime"]
    assert changed(first, first) == [] and changed(first, again) == ["Ready"]
    broken = merged(again, [Condition("Ready", False, "Timeout")], generation=2, now=300.0)
    assert broken[0]["lastTransitionTime"] != first[0]["lastTransitionTime"]
    assert [each["type"] for each in turned(again, broken)] == ["Ready"]
    assert turned([], first) == [] and turned(first, again) == []


def test_others_conditions_do_not_count() -> None:
    written = [{"type": "BreakerClosed", "status": "True"}]
    wanted = merged(written, [Condition("Ready", True, "x")], generation=1, now=1.0)
    assert [each["type"] for each in wanted] == ["Ready"]


def test_writes_to_workloads_keep_the_pace() -> None:
    async def main() -> float:
        loop = asyncio.get_running_loop()
        pace = Pace(50.0)
        started = loop.time()
        await asyncio.gather(*(pace.turn("shop") for _ in range(80)))
        return loop.time() - started

    # A second's worth at once, then one every fiftieth of a second.
    assert asyncio.run(main()) >= 29 / 50


def test_a_namespace_whose_figures_never_rest_holds_nobody_elses_up() -> None:
    """Six hundred writes of one namespace are waiting when another's ten come: they take turns."""

    async def main() -> float:
        loop = asyncio.get_running_loop()
        pace = Pace(5.0, clock=loop.time)
        restless = [asyncio.create_task(pace.turn("evil")) for _ in range(600)]
        await asyncio.sleep(1.0)
        started = loop.time()
        await asyncio.gather(*(pace.turn("shop") for _ in range(10)))
        waited = loop.time() - started
        for one in restless:
            one.cancel()
        await asyncio.gather(*restless, return_exceptions=True)
        return waited

    assert virtual_time.run(main()) <= 10 * 2 / 5.0 + 0.5
