"""Metrics name tenants only to whoever shows the token; everybody else gets the same figures without names."""

from __future__ import annotations

import asyncio
from pathlib import Path

import aiohttp
import pytest
from prometheus_client import CollectorRegistry, Gauge, Histogram
from prometheus_client.parser import text_string_to_metric_families

from ecotone.model.errors import InputError
from ecotone.services.descheduler.metrics import DeschedulerMetrics
from ecotone.services.endpoints import Endpoints
from ecotone.services.http.tokens import read_token
from ecotone.services.nameless import NAMES, Nameless

TOKEN = "long-enough-to-be-a-token"


def moved() -> CollectorRegistry:
    metrics = DeschedulerMetrics()
    metrics.moves.labels("bank", "ledger").inc(3)
    metrics.moves.labels("shop", "checkout").inc(4)
    metrics.breaker.labels("bank/ledger").set(1)
    metrics.breaker.labels("shop/checkout").set(0)
    metrics.outcomes.labels("done").inc(5)
    metrics.outcomes.labels("worse").inc(2)
    return metrics.registry


def scrape(registry: CollectorRegistry, *, names_for: str | None, token: str | None) -> tuple[int, str]:
    async def main() -> tuple[int, str]:
        endpoints = Endpoints(registry, ready=lambda: None, names_for=names_for)
        await endpoints.start("127.0.0.1:0")
        assert endpoints.address is not None
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        url = f"http://127.0.0.1:{endpoints.address[1]}/metrics"
        try:
            async with aiohttp.ClientSession() as session, session.get(url, headers=headers) as answer:
                return answer.status, await answer.text()
        finally:
            await endpoints.stop()

    return asyncio.run(main())


def figures(text: str) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


@pytest.mark.parametrize(("names_for", "token"), [(None, None), (TOKEN, None), (None, TOKEN)])
def test_without_the_token_counts_are_sums_and_gauges_the_largest(names_for: str | None, token: str | None) -> None:
    status, text = scrape(moved(), names_for=names_for, token=token)
    assert status == 200
    assert "bank" not in text and "checkout" not in text
    told = figures(text)
    assert told["ecotone_descheduler_moves_total", ()] == 7
    assert told["ecotone_descheduler_breaker_open", ()] == 1
    assert told["ecotone_descheduler_outcomes_total", (("outcome", "worse"),)] == 2


def test_with_the_token_names_are_told() -> None:
    status, text = scrape(moved(), names_for=TOKEN, token=TOKEN)
    assert status == 200
    labels = (("app_group", "ledger"), ("namespace", "bank"))
    assert figures(text)["ecotone_descheduler_moves_total", labels] == 3


@pytest.mark.parametrize("token", ["another-token-of-some-length", TOKEN[:-1], TOKEN + "x"])
def test_another_token_is_refused(token: str) -> None:
    status, text = scrape(moved(), names_for=TOKEN, token=token)
    assert status == 401 and "ecotone_" not in text


def test_what_names_nobody_is_told_as_it_is() -> None:
    registry = CollectorRegistry()
    spread = Histogram("spread", "Spread.", ["part"], buckets=(1, 2), registry=registry)
    for value in (0.5, 1.5, 9.0):
        spread.labels("a").observe(value)
    Gauge("own", "Own.", registry=registry).set(-3)
    assert [(family.type, family.samples) for family in Nameless(registry).collect()] == [
        (family.type, family.samples) for family in registry.collect()
    ]


def test_histograms_of_tenants_are_added_up() -> None:
    registry = CollectorRegistry()
    spread = Histogram("spread", "Spread.", ["namespace"], buckets=(1, 2), registry=registry)
    spread.labels("bank").observe(0.5)
    spread.labels("shop").observe(1.5)
    (family,) = Nameless(registry).collect()
    told = {(one.name, one.labels.get("le")): one.value for one in family.samples}
    assert (told["spread_bucket", "1.0"], told["spread_bucket", "+Inf"], told["spread_count", None]) == (1, 2, 2)
    assert not any(NAMES & set(one.labels) for one in family.samples)


def test_a_token_that_is_short_or_missing_is_refused(tmp_path: Path) -> None:
    (tmp_path / "short").write_text("secret\n")
    for name, said in (("short", "at least 16 characters"), ("none", "cannot be read")):
        with pytest.raises(InputError, match=f"--metrics-token-file .*{said}"):
            read_token(tmp_path / name, option="--metrics-token-file")
