"""What a round notes while it may move nothing, and what it counts when a replacement lands elsewhere."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from ecotone.model.objects import WorkloadKey
from services.descheduler.paper import Paper, chain_of_two, put_replica

WEB = WorkloadKey("ns", "w0")


def one_round(paper: Paper, **spec: Any) -> None:
    asyncio.run(paper.descheduler.round("ns/shop", paper.group(**spec)))


def users(paper: Paper, rates: dict[str, float]) -> None:
    """So many a second enter at each node, measured just now."""
    for key, workload in list(paper.cache.workloads.items()):
        requests = {peer: rate for peer, rate in (workload.requests or {}).items() if not peer.startswith("users@")}
        if key == WEB:
            requests |= {f"users@{node}": rate for node, rate in rates.items()}
        traffic = {peer: 500 * rate for peer, rate in requests.items()}
        paper.cache.put_workload(replace(workload, requests=requests, traffic=traffic, measured_at=paper.now))
    for node in paper.cache.nodes.nodes:
        paper.cache.put_node(replace(node, measured_at=paper.now))


def predicted(paper: Paper) -> float:
    """Of the whole plan: each of its four pods has the same share, whichever stage it goes in."""
    return 4 * float(paper.writer.statuses[-1]["moves"][-1]["predictedGain"])


@pytest.mark.parametrize("held_back", [True, False], ids=["with rounds in between", "without"])
def test_of_a_partial_change_that_is_over_no_other_half_is_expected(held_back: bool) -> None:
    """Seven of ten users a second go from n1 to n0, and that is all; moving there saves 50 x (0.7 - 0.3) ms."""
    paper = chain_of_two(home="n1", entering={"n1": 10.0})
    one_round(paper)
    paper.now += 600
    users(paper, {"n0": 7.0, "n1": 3.0})
    for _ in range(4 if held_back else 0):
        one_round(paper, paused=True)
        paper.now += 40
    assert not paper.told
    one_round(paper)
    assert paper.told
    if held_back:
        assert predicted(paper) == pytest.approx(20.0, abs=1.0)
    else:
        assert predicted(paper) == pytest.approx(50.0, abs=1.0), "a first look at a change takes it for its first half"


def test_a_replacement_that_lands_elsewhere_is_counted_and_told() -> None:
    """Another scheduler took the room meanwhile, say, and ours found the pod another node."""
    paper = chain_of_two(home="n1", entering={"n0": 10.0})
    one_round(paper, window="1s")
    evicted = [key for what, key in paper.writer.written if what == "evict"]
    assert not evicted, "its calls may not all be counted yet"
    paper.now += 2
    one_round(paper, window="1s")
    evicted = [key for what, key in paper.writer.written if what == "evict"]
    assert evicted
    paper.now += 2
    for number, key in enumerate(evicted):
        pod = paper.cache.pod(key)
        assert pod is not None
        paper.cache.drop_pod(key)
        put_replica(paper, pod.kind.workload, f"{pod.name}-again", node="n1" if number == 0 else "n0")
    one_round(paper)
    ended = {one["pod"]: one for one in paper.writer.statuses[-1]["moves"] if one["outcome"] != "Started"}
    assert {one["outcome"] for one in ended.values()} == {"Done", "Elsewhere"}
    first = ended[evicted[0]]
    assert (first["outcome"], first["to"], first["landed"]) == ("Elsewhere", "n0", "n1")
    registry = paper.descheduler.metrics.registry
    counted = {
        name: registry.get_sample_value("ecotone_descheduler_outcomes_total", {"outcome": name})
        for name in ("Elsewhere", "Done")
    }
    assert counted == {"Elsewhere": 1, "Done": len(evicted) - 1}
