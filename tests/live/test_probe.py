"""The probe between network namespaces with planted delays and losses.

What it measures is compared with a capture of its packets, in windows of a few seconds of which the middle one must be right:
when this machine is late, packets wait where the wire cannot see it.
"""

from __future__ import annotations

import json
import math
from functools import partial
from itertools import pairwise
from pathlib import Path
from statistics import median

import pytest
from prometheus_client.parser import text_string_to_metric_families

from control_plane.processes import Child, wait_until
from control_plane.programs import ECOTONE, environment
from live.namespaces import Places, joined

ADDRESSES = {"origin": "10.77.0.1", "near": "10.77.0.2", "far": "10.77.0.3", "lossy": "10.77.0.4"}
DEAD = "10.77.0.9"
ONE_WAY_MS = {"near": 1.0, "far": 40.0, "lossy": 10.0}
LOSS = 0.1
PORT = 9464
PROBES = 600
WINDOWS = 6


def figures(places: Places) -> dict[tuple[str, str], float]:
    text = places.fetch("origin", f"http://{ADDRESSES['origin']}:{PORT}/metrics")
    return {
        (each.name.removeprefix("ecotone_probe_"), each.labels["target"]): each.value
        for family in text_string_to_metric_families(text)
        for each in family.samples
        if "target" in each.labels and "le" not in each.labels
    }


@pytest.mark.parametrize("how", ["icmp", "tcp"])
def test_planted_latencies_and_losses_are_measured_and_a_dead_peer_is_a_failure(how: str, tmp_path: Path) -> None:
    paths = [
        {"between": ["origin", name], "delay_ms": delay, "loss": LOSS if name == "lossy" else 0.0}
        for name, delay in ONE_WAY_MS.items()
    ]
    with joined(ADDRESSES, paths, tmp_path) as places:
        targets = tmp_path / "targets.json"
        targets.write_text(json.dumps({**ADDRESSES, "dead": DEAD}))
        children: list[Child] = [places.capture("origin")]
        try:
            # The origin comes last: a peer that does not listen yet would rightly count as lost.
            for short in ("near", "far", "lossy", "origin"):
                file = targets if short == "origin" else _nobody(tmp_path)
                children.append(places.start(short, f"probe-{how}", command(short, file, how), env=environment()))
                if short != "origin":
                    wait_until(partial(listens, places, short), timeout=60, what=f"probe of {short}", every=0.5)
            readings = []
            for window in range(1, WINDOWS + 1):
                wanted = window * PROBES // WINDOWS
                wait_until(
                    partial(has_sent, places, wanted),
                    timeout=90,
                    what=f"{wanted} probes",
                    child=children[-1],
                    every=1.0,
                )
                readings.append(reading(places))
            found = figures(places)
            log = (tmp_path / f"probe-{how}-origin.log").read_text()
        finally:
            for child in children:
                child.stop()
    assert f"probing by {how}" in log
    for name, delay in ONE_WAY_MS.items():
        windows = [each[name] for each in in_between(readings)]
        planted = median(held for held, _, _ in windows)
        assert abs(planted - 2 * delay) <= 0.1 * 2 * delay + 1.0, f"the wire to {name} held {planted:.3f} ms"
        wrong = median(abs(mean - took) - 0.05 * took for _, took, mean in windows)
        assert wrong <= 0.3, f"{name}: (held by the wire, captured, measured) in ms {windows}"
    # Those under way are sent and not lost yet, at most a second's worth.
    for name, share in (("near", 0.0), ("far", 0.0), ("lossy", LOSS)):
        sent, lost = found["sent_total", name], found["lost_total", name]
        low, high = interval(lost, sent)
        assert low <= share <= high, f"{name}: {lost:g} of {sent:g} lost"
    assert ("rtt_seconds_count", "dead") not in found
    assert found["lost_total", "dead"] >= 0.8 * found["sent_total", "dead"] > 0
    assert ("sent_total", "origin") not in found


Counted = tuple[float, float]
"""How many, and how many seconds in all."""
Reading = dict[str, tuple[Counted, Counted, Counted, Counted]]
"""By target, so far: held by the wire on the way there, and back; round trips captured, and measured by the probe."""


def reading(places: Places) -> Reading:
    found = figures(places)
    return {
        name: (
            places.held("origin", name),
            places.held(name, "origin"),
            places.took(name),
            (found["rtt_seconds_count", name], found["rtt_seconds_sum", name]),
        )
        for name in ONE_WAY_MS
    }


def in_between(readings: list[Reading]) -> list[dict[str, tuple[float, float, float]]]:
    """For each two readings in a row, by target: mean milliseconds held by the wire, captured, and measured."""
    found = []
    for before, after in pairwise(readings):
        means = {name: list(map(_mean_ms, before[name], after[name])) for name in ONE_WAY_MS}
        found.append({name: (there + back, took, told) for name, (there, back, took, told) in means.items()})
    return found


def _mean_ms(before: Counted, after: Counted) -> float:
    return 1000 * (after[1] - before[1]) / (after[0] - before[0])


def has_sent(places: Places, probes: int) -> bool:
    return figures(places).get(("sent_total", "lossy"), 0) >= probes


def listens(places: Places, short: str) -> bool:
    return "ok" in places.fetch(short, f"http://{ADDRESSES[short]}:{PORT}/healthz")


def command(short: str, targets: Path, how: str) -> list[str]:
    return [
        *ECOTONE,
        "serve",
        "probe",
        f"--node={short}",
        f"--targets={targets}",
        f"--listen={ADDRESSES[short]}:{PORT}",
        "--interval=1",
        "--count=20",
        "--rate=500",
        "--timeout=0.9",
        f"--{'' if how == 'icmp' else 'no-'}icmp",
    ]


def interval(lost: float, sent: float, *, z: float = 3.3) -> tuple[float, float]:
    """Wilson's interval at 99.9 % for a share."""
    share = lost / sent
    middle = (share + z * z / (2 * sent)) / (1 + z * z / sent)
    half = z * math.sqrt(share * (1 - share) / sent + z * z / (4 * sent * sent)) / (1 + z * z / sent)
    # Of nothing lost the lower end is nothing, exactly; the formula leaves a rounding error.
    return middle - half if lost else 0.0, middle + half


def _nobody(directory: Path) -> Path:
    file = directory / "nobody.json"
    file.write_text("{}")
    return file
