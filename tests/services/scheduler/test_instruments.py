"""What is counted without prometheus_client reads as if it had been counted by it."""

from __future__ import annotations

import subprocess
import sys

from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from ecotone.services.scheduler.instruments import Instruments

BUCKETS = (0.5, 1, 4)
WORDS = st.sampled_from(["a", 'say "b"', "back\\slash", ""])
STEPS = st.lists(st.tuples(WORDS, st.floats(0, 8) | st.sampled_from([0.5, 1.0, 4.0])), max_size=20)


def lines(registry: CollectorRegistry) -> set[str]:
    """Without the moments of creation, which the client tells of its own counters."""
    return {line for line in generate_latest(registry).decode().splitlines() if "_created" not in line}


@given(STEPS)
def test_the_figures_read_as_those_of_the_client(steps: list[tuple[str, float]]) -> None:
    own, peer = Instruments(), CollectorRegistry()
    ours = (
        own.counters("done", "Done.", ["what"]),
        own.gauges("left", "Left.", ["what"]),
        own.histograms("took", "Took.", ["what"], buckets=BUCKETS),
    )
    theirs = (
        Counter("done", "Done.", ["what"], registry=peer),
        Gauge("left", "Left.", ["what"], registry=peer),
        Histogram("took", "Took.", ["what"], buckets=BUCKETS, registry=peer),
    )
    for counters, gauges, histograms in (ours, theirs):
        for word, value in steps:
            counters.labels(word).inc(value)
            gauges.labels(word).set(value)
            histograms.labels(word).observe(value)
    assert lines(own.registry) == lines(peer)


def test_figures_without_labels_are_told_before_anything_happened() -> None:
    own, peer = Instruments(), CollectorRegistry()
    own.counter("done", "Done.")
    own.gauge("left", "Left.")
    own.histogram("took", "Took.", buckets=BUCKETS)
    Counter("done", "Done.", registry=peer)
    Gauge("left", "Left.", registry=peer)
    Histogram("took", "Took.", buckets=BUCKETS, registry=peer)
    assert lines(own.registry) == lines(peer)


def test_a_scheduler_is_loaded_without_the_client() -> None:
    """Nobody reads metrics before the first pod is bound, and pods wait for what is loaded."""
    question = "import sys, ecotone.services.scheduler.program; print('prometheus_client' in sys.modules)"
    answer = subprocess.run([sys.executable, "-c", question], capture_output=True, text=True, check=True)
    assert answer.stdout.strip() == "False"
