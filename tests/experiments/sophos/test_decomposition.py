"""What the evaluation says about where time goes, and about gains that stay behind."""

from __future__ import annotations

import pytest

from ecotone.experiments.campaign.grid import Findings, Grid
from ecotone.experiments.campaign.record import Run
from ecotone.experiments.campaign.runs import Job, execute
from ecotone.experiments.sophos.decomposition import behind, decomposition, split
from ecotone.experiments.sophos.evaluation import Settings, variant
from ecotone.scheduling import POLICIES
from experiments.campaign.records import PARTS, record


def fake(p95: float, **parts: float) -> Run:
    found = {name: parts.get(name, 0.0) for name in PARTS}
    return record(
        p95,
        mean=sum(found.values()),
        requests=1000,
        failed=3,
        failures={"starting": 2, "unanswered": 1},
        breakdown_ms=found,
        p95_breakdown_ms=found,
        breakdown_with_failures_ms={**found, "disruption": 120.0, "unanswered": 60.0},
    )


def findings(**runs: Run) -> Findings:
    grid = Grid(latencies=[100.0], users=[10], trials=1, text=lambda *_: "")
    contenders = [POLICIES[name.replace("_", "-")] for name in runs]
    return Findings(grid, contenders, {(name.replace("_", "-"), 100.0, 10): [run] for name, run in runs.items()})


def test_a_gain_that_stays_behind_is_explained_by_its_parts() -> None:
    found = findings(
        kube_default=fake(400.0, network=380.0, work=10.0, waiting=10.0),
        sophos=fake(200.0, network=100.0, work=10.0, waiting=5.0, disruption=85.0),
        ecotone=fake(120.0, network=110.0, work=10.0),
    )
    (note,) = behind(found, {100: 0.6}, ("sophos", "ecotone"))
    assert note == (
        "100 ms, sophos: a gain of 50.0 %, 10.0 points less than published. Of kube-default's p95 it saves, in ms, 280 of "
        "network, 0.0 of service, 5.0 of CPU queueing, -85.0 of disruption; what is left is 100 of network, 10.0 of service, "
        "5.0 of CPU queueing, 85.0 of disruption. The published gain would need a p95 of 160 ms, and network alone takes 100."
    )


def test_policies_that_do_the_same_share_a_sentence() -> None:
    same = fake(300.0, network=300.0)
    found = findings(kube_default=fake(400.0, network=400.0), sophos=same, ecotone=same)
    (note,) = behind(found, {100: 0.6}, ("sophos", "ecotone"))
    assert note.startswith("100 ms, sophos and ecotone: a gain of 25.0 %")


def test_failures_are_told_apart() -> None:
    mean, p95 = decomposition(findings(kube_default=fake(400.0, network=380.0, disruption=20.0)))
    row = dict(zip(mean.header, mean.rows[0], strict=True))
    assert (row["mean ms"], row["network"], row["disruption"]) == (400, 380.0, 20.0)
    assert (row["failed by disruption"], row["never answered"]) == ("0.200 %", "0.100 %")
    assert row["disruption, failures as 60 s"] == 120.0
    assert dict(zip(p95.header, p95.rows[0], strict=True))["p95 ms"] == 400


def test_the_parts_of_a_campaign_add_up_to_its_mean_and_to_its_p95() -> None:
    text = variant(Settings(), 100.0, 5, 1, 0).text()
    found = findings(kube_default=execute(Job(text, "sock-shop.yaml", "kube-default", 0, 1)))
    run = found.runs["kube-default", 100.0, 10][0]
    assert sum(split(found, "kube-default", 100.0).values()) == pytest.approx(run.response_ms.mean, rel=1e-5)
    at_p95 = sum(split(found, "kube-default", 100.0, of="p95_breakdown_ms").values())
    assert at_p95 == pytest.approx(run.response_ms.p95, rel=0.011)
