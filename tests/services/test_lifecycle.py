"""Signals: the first asks, the deadline insists, the second ends."""

from __future__ import annotations

import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

SOURCES = str(Path(__file__).resolve().parents[2] / "src")


def child(body: str) -> subprocess.Popen[str]:
    """A program under ``lifecycle.serve`` that prints ``up`` when it runs."""
    script = f"""
import asyncio, logging, sys, time
sys.path.insert(0, {SOURCES!r})
logging.basicConfig(stream=sys.stderr, level=logging.INFO)
from ecotone.services import lifecycle

class Program:
    def __init__(self):
        self.over = asyncio.Event()
    def stop(self):
        self.over.set()
    async def run(self):
        print("up", flush=True)
{textwrap.indent(textwrap.dedent(body), " " * 8)}

lifecycle.serve(Program)
"""
    process = subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "up\n"
    return process


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_program_that_listens_ends_with_code_0(number: signal.Signals) -> None:
    process = child("await self.over.wait()")
    process.send_signal(number)
    _, told = process.communicate(timeout=10)
    assert process.returncode == 0
    assert f"{number.name}: stopping" in told


@pytest.mark.alone
@pytest.mark.parametrize(
    "body",
    [
        """
        async def stuck_on_purpose():
            while True:
                try:
                    await asyncio.sleep(3600)
                except asyncio.CancelledError:
                    pass
        await asyncio.create_task(stuck_on_purpose())
        """,
        """
        async def stuck_on_purpose():
            while True:
                time.sleep(0.01)
        await asyncio.create_task(stuck_on_purpose())
        """,
    ],
    ids=["deaf", "blocked"],
)
def test_what_does_not_end_is_named_and_ended_within_five_seconds(body: str) -> None:
    process = child(body)
    started = time.monotonic()
    process.send_signal(signal.SIGTERM)
    _, told = process.communicate(timeout=10)
    assert time.monotonic() - started < 5.0
    assert process.returncode == 4
    assert "stuck_on_purpose" in told


@pytest.mark.alone
def test_a_second_signal_ends_it_at_once() -> None:
    process = child("await asyncio.sleep(3600)")
    process.send_signal(signal.SIGTERM)
    assert process.stderr is not None
    while "stopping" not in process.stderr.readline():
        pass
    started = time.monotonic()
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=10)
    assert time.monotonic() - started < 2.0
    assert process.returncode == -signal.SIGTERM
