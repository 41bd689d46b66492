"""Percentiles of response times, asked in the dialect that answers."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

import pytest

from ecotone.manifests import wire
from ecotone.model.objects import Workload, WorkloadKey
from ecotone.model.snapshot import Snapshot
from ecotone.model.state import ClusterState
from ecotone.services.descheduler.objective import buckets, entrances, percentile_ms
from ecotone.telemetry.prometheus import Failure, Trouble
from ecotone.telemetry.samples import Sample
from telemetry.fake_prometheus import believing
from telemetry.scraped_world import World


class Script:
    """Answers by the metric that a query names."""

    def __init__(self, answers: dict[str, list[Sample] | Failure]) -> None:
        self._answers = answers
        self.asked: list[str] = []

    async def page(self, path: str, fields: Mapping[str, str]) -> bytes | Failure:
        raise AssertionError(f"{path} {fields}: a Prometheus that is believed is not asked about itself")

    async def query(self, promql: str, *, at: float, asker: str = "") -> list[Sample] | Failure:
        del asker
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


def answered(value: float) -> list[Sample]:
    """Buckets of which every percentile is that value, almost."""
    bounds = [(value - 1e-6, 0.0), (value, 8.0), (2 * value, 8.0), (float("inf"), 8.0)]
    return [Sample({"le": "+Inf" if bound == float("inf") else repr(bound)}, count, 1000.0) for bound, count in bounds]


def percentile(script: Script, dialect: str = "auto") -> float | None:
    asked = percentile_ms(believing(script), group(dialect), view(workload("front")), at=1000.0)
    return asyncio.run(asked)


def test_entrances_are_where_users_come_in_else_level_0_else_everything() -> None:
    both = view(workload("front", index=1, users=True), workload("api", index=0), workload("other", group="x"))
    assert entrances(both, namespace="ns", app_group="shop") == ["front"]
    leveled = view(workload("front", index=0), workload("api", index=1))
    assert entrances(leveled, namespace="ns", app_group="shop") == ["front"]
    plain = view(workload("b"), workload("a"))
    assert entrances(plain, namespace="ns", app_group="shop") == ["a", "b"]


def test_names_cannot_leave_their_quotes() -> None:
    asked = buckets("istio", namespace='a"b', names=['x"} or up', "a.b"]).value(120)
    assert '"} or up' not in asked.replace('\\"', "")
    assert r"a\\.b" in asked


@pytest.mark.parametrize(
    ("answers", "expected"),
    [
        ({"istio_request_duration": answered(120.0)}, 120.0),
        ({"istio_request_duration": answered(0.0)[:1], "envoy_cluster_upstream_rq_time": answered(80.0)}, 80.0),
        ({"traces_service_graph": answered(0.25)}, 250.0),
        ({"istio_request_duration": Failure(Trouble.TIMEOUT, "late"), "traces_service_graph": answered(0.5)}, 500.0),
        ({}, None),
    ],
)
def test_the_first_dialect_that_knows_answers(
    answers: dict[str, list[Sample] | Failure], expected: float | None
) -> None:
    found = percentile(Script(answers))
    assert found == (None if expected is None else pytest.approx(expected, rel=1e-3))


def test_a_tenant_neither_breaks_nor_saves_the_objective_of_others() -> None:
    """Of all who tell how long `shop/web` took, its own pods are heard."""
    world = World()
    said = {"reporter": "destination", "destination_workload_namespace": "shop", "destination_workload": "web"}
    for target, slow in ((world.target("shop", "web-1"), 100.0), (world.mallory, 9000.0)):
        for bound, count in (("0", 0.0), (f"{slow:g}", 8.0), ("+Inf", 8.0)):
            world.prometheus.exposes(target, "istio_request_duration_milliseconds_bucket", count, le=bound, **said)

    async def seen() -> float | None:
        spec = wire.AppGroupSpec(name="shop", slo=wire.Slo(percentile=100.0, milliseconds=100.0))
        shop = wire.AppGroup(metadata=wire.Metadata(name="shop", namespace="shop"), spec=spec)
        web = Workload(WorkloadKey("shop", "web"), app_group="shop", traffic={"users@edge-1": 1.0})
        return await percentile_ms(world.reader, shop, view(web), at=await world.reader.moment())

    assert asyncio.run(seen()) == pytest.approx(100.0)
    assert not world.tally.left_out


def test_a_named_dialect_alone_is_asked() -> None:
    script = Script({"istio_request_duration": answered(1.0), "envoy_cluster_upstream_rq_time": answered(2.0)})
    assert percentile(script, "envoy") == pytest.approx(2.0, rel=1e-3)
    assert len(script.asked) == 1
