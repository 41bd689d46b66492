"""The probe as a whole, on loopback by TCP."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import aiohttp
from prometheus_client.parser import text_string_to_metric_families

from ecotone.services.probe.exchange import fetch_place, measure_bandwidth
from ecotone.services.probe.metrics import BOUNDS, ProbeMetrics
from ecotone.services.probe.pinging import Target
from ecotone.services.probe.program import ProbeProgram
from ecotone.services.probe.settings import ProbeSettings


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
        return port


def samples(text: str) -> dict[tuple[str, str], float]:
    """(name, target or axis) -> value."""
    return {
        (each.name, each.labels.get("target") or each.labels.get("axis", "")): each.value
        for family in text_string_to_metric_families(text)
        for each in family.samples
        if "le" not in each.labels
    }


@asynccontextmanager
async def probing(
    directory: Path, targets: dict[str, str], **changed: object
) -> AsyncIterator[tuple[Target, ProbeProgram]]:
    file = directory / "targets.json"
    file.write_text(json.dumps(targets))
    port = free_port()
    settings = ProbeSettings(
        node="a", listen=f"127.0.0.1:{port}", peer_port=port, targets=file, interval=0.2, timeout=0.3, icmp=False
    )
    program = ProbeProgram(replace(settings, **changed), kubeconfig=None, context=None)  # type: ignore[arg-type]
    task = asyncio.create_task(program.run())
    try:
        yield Target("a", "127.0.0.1", port), program
    finally:
        program.stop()
        async with asyncio.timeout(5):
            await task


async def scraped(own: Target) -> dict[tuple[str, str], float]:
    async with aiohttp.ClientSession() as session, session.get(f"http://127.0.0.1:{own.port}/metrics") as answer:
        return samples(await answer.text())


async def until(own: Target, name: str, target: str, least: float) -> dict[tuple[str, str], float]:
    async with asyncio.timeout(15):
        while True:
            try:
                found = await scraped(own)
            except aiohttp.ClientError:
                found = {}
            if found.get((name, target), -1) >= least:
                return found
            await asyncio.sleep(0.05)


def test_a_living_peer_has_round_trips_and_a_dead_one_failures_only(tmp_path: Path) -> None:
    async def main() -> None:
        alive = await asyncio.start_server(lambda _, writer: writer.close(), "127.0.0.1", 0)
        port = alive.sockets[0].getsockname()[1]
        targets = {"alive": f"127.0.0.1:{port}", "dead": f"127.0.0.1:{free_port()}", "a": "127.0.0.1"}
        async with probing(tmp_path, targets) as (own, _):
            await until(own, "ecotone_probe_rtt_seconds_count", "alive", 10)
            found = await until(own, "ecotone_probe_lost_total", "dead", 10)
            assert 0 < found["ecotone_probe_rtt_seconds_sum", "alive"] < 5
            assert found["ecotone_probe_lost_total", "alive"] == 0
            assert ("ecotone_probe_rtt_seconds_count", "dead") not in found
            assert found["ecotone_probe_sent_total", "dead"] >= found["ecotone_probe_lost_total", "dead"]
            assert ("ecotone_probe_sent_total", "a") not in found, "a node does not probe itself"
        alive.close()

    asyncio.run(main())


def test_the_rate_is_bounded(tmp_path: Path) -> None:
    async def main() -> None:
        targets = {f"n{n}": f"127.0.0.1:{free_port()}" for n in range(20)}
        async with probing(tmp_path, targets, interval=0.1, count=10, rate=50.0) as (own, _):
            await asyncio.sleep(1.5)
            found = await scraped(own)
            sent = sum(value for (name, _), value in found.items() if name == "ecotone_probe_sent_total")
            assert 0 < sent <= 1.5 * 50 * 1.5

    asyncio.run(main())


def test_above_the_limit_a_sample_is_probed_and_coordinates_are_shown(tmp_path: Path) -> None:
    async def main() -> None:
        async with probing(tmp_path, {}) as (peer, _):
            targets = {f"n{n}": f"127.0.0.1:{peer.port}" for n in range(10)}
            other = tmp_path / "other"
            other.mkdir()
            async with probing(other, targets, most=5, sample=3, node="b") as (own, program):
                found = await until(own, "ecotone_probe_coordinate", "error", 0)
                assert len({target for name, target in found if name == "ecotone_probe_sent_total"}) == 3
                async with asyncio.timeout(10):
                    while program.coordinates.place.error >= 1.5:
                        await asyncio.sleep(0.05)
                async with aiohttp.ClientSession() as session:
                    place = await fetch_place(session, own, timeout=1)
                assert place is not None and len(place.vector) == 8

    asyncio.run(main())


def test_bandwidth_is_a_figure_or_a_failure_and_never_zero(tmp_path: Path) -> None:
    async def main() -> None:
        async with probing(tmp_path, {}) as (own, _):
            async with asyncio.timeout(10):
                while True:
                    async with aiohttp.ClientSession() as session:
                        reached = await measure_bandwidth(session, own, size=1 << 20)
                    if reached is not None:
                        break
                    await asyncio.sleep(0.05)
            assert reached > 1e6
            async with aiohttp.ClientSession() as session:
                assert await measure_bandwidth(session, own, size=1 << 30) is None
                assert await measure_bandwidth(session, Target("x", "127.0.0.1", free_port()), size=1000) is None

    asyncio.run(main())


def test_a_number_of_bytes_that_is_none_is_a_bad_request(tmp_path: Path) -> None:
    async def main() -> list[int]:
        async with probing(tmp_path, {}) as (own, _), aiohttp.ClientSession() as session:
            await until(own, "ecotone_probe_targets", "", 0)
            answers = []
            for text in ("", "-1", "0", "²", "٣", "9" * 5000, "1e6", "1 0"):
                async with session.get(f"http://127.0.0.1:{own.port}/bandwidth", params={"bytes": text}) as answer:
                    answers.append(answer.status)
            return answers

    assert asyncio.run(main()) == [400] * 8


def test_a_failed_transfer_takes_the_old_figure_away() -> None:
    metrics = ProbeMetrics("a")
    metrics.bandwidth("b", 1000.0)
    metrics.bandwidth_failed("b")
    names = {each.name for family in metrics.registry.collect() for each in family.samples}
    assert "ecotone_probe_bandwidth_bytes_per_second" not in names
    assert "ecotone_probe_bandwidth_failures_total" in names


def test_a_pair_has_at_most_eight_buckets_and_goes_with_its_peer() -> None:
    metrics = ProbeMetrics("a")
    metrics.sent("b")
    metrics.answered("b", 0.01)
    metrics.answered("b", 0.02)
    buckets = [
        each for family in metrics.registry.collect() for each in family.samples if each.name.endswith("_bucket")
    ]
    assert len(buckets) == len(BOUNDS) + 1 <= 8
    metrics.forget("b")
    assert not [each for family in metrics.registry.collect() for each in family.samples if each.labels.get("target")]
