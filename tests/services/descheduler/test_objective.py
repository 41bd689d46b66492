"""Percentiles of response times, asked in the dialect that answers."""

from __future__ import annotations

import asyncio

import pytest

from ecotone.manifests import wire
from ecotone.model.objects import Workload, WorkloadKey
from ecotone.model.snapshot import Snapshot
from ecotone.model.state import ClusterState
from ecotone.services.descheduler.objective import entrances, percentile_ms, query
from ecotone.telemetry.prometheus import Failure, Trouble
from ecotone.telemetry.samples import Sample


class Script:
    """Answers by the metric that a query names."""

    def __init__(self, answers: dict[str, list[Sample] | Failure]) -> None:
        self._answers = answers
        self.asked: list[str] = []

    async def query(self, promql: str, *, at: float) -> list[Sample] | Failure:
        self.asked.append(promql)
        return next((answer for name, answer in self._answers.items() if name in promql), [])


def view(*workloads: Workload) -> Snapshot:
    state = ClusterState(now=1000.0, max_age=300.0)
    for one in workloads:
        state.put_workload(one)
    return state.freeze()


def workload(name: str, *, index: int | None = None, users: bool = False, group: str = "shop") -> Workload:
    traffic = {"users@edge-1": 10.0} if users else {"peer": 1.0}
    return Workload(WorkloadKey("ns", name), app_group=group, index=index, traffic=traffic)


def group(dialect: str = "auto") -> wire.AppGroup:
    spec = wire.AppGroupSpec(name="shop", dialect=dialect, slo=wire.Slo(percentile=95.0, milliseconds=100.0))
    return wire.AppGroup(metadata=wire.Metadata(name="shop", namespace="ns"), spec=spec)


def sample(value: float) -> list[Sample]:
    return [Sample({}, value, 1000.0)]


def test_entrances_are_where_users_come_in_else_level_0_else_everything() -> None:
    both = view(workload("front", index=1, users=True), workload("api", index=0), workload("other", group="x"))
    assert entrances(both, namespace="ns", app_group="shop") == ["front"]
    leveled = view(workload("front", index=0), workload("api", index=1))
    assert entrances(leveled, namespace="ns", app_group="shop") == ["front"]
    plain = view(workload("b"), workload("a"))
    assert entrances(plain, namespace="ns", app_group="shop") == ["a", "b"]


def test_names_cannot_leave_their_quotes() -> None:
    asked = query("istio", percentile=95, namespace='a"b', names=['x"} or up', "a.b"], window=120)
    assert '"} or up' not in asked.replace('\\"', "")
    assert r"a\\.b" in asked


@pytest.mark.parametrize(
    ("answers", "expected"),
    [
        ({"istio_request_duration": sample(120.0)}, 120.0),
        ({"istio_request_duration": sample(float("nan")), "envoy_cluster_upstream_rq_time": sample(80.0)}, 80.0),
        ({"traces_service_graph": sample(0.25)}, 250.0),
        ({"istio_request_duration": Failure(Trouble.TIMEOUT, "late"), "traces_service_graph": sample(0.5)}, 500.0),
        ({}, None),
    ],
)
def test_the_first_dialect_that_knows_answers(
    answers: dict[str, list[Sample] | Failure], expected: float | None
) -> None:
    assert asyncio.run(percentile_ms(Script(answers), group(), view(workload("front")))) == expected


def test_a_named_dialect_alone_is_asked() -> None:
    script = Script({"istio_request_duration": sample(1.0), "envoy_cluster_upstream_rq_time": sample(2.0)})
    assert asyncio.run(percentile_ms(script, group("envoy"), view(workload("front")))) == 2.0
    assert len(script.asked) == 1
