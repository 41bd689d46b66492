"""The resolver's worker: a process that solves one placement after the other and can be killed at any moment.

Why in a process of its own, behind two pipes and with a limit on its address space: docs/design/012-resolver-processes.md.
Frames are four bytes of length and JSON: a request comes in; progress, then an answer or an error, go out. End of
input ends it.
"""

from __future__ import annotations

import argparse
import resource
import sys
from typing import BinaryIO

import msgspec

from ecotone.model.errors import InputError
from ecotone.placement.exact.milp import Stage
from ecotone.placement.exact.pogonip_opt import pogonip_opt
from ecotone.placement.heuristic.improved_greedy import improved_greedy
from ecotone.placement.heuristic.pogonip import pogonip
from ecotone.placement.problem.checker import violations
from ecotone.placement.problem.instance import Instance
from ecotone.placement.problem.solution import Placement
from ecotone.services.resolver.api import (
    PlacementAnswer,
    PlacementRequest,
    Problem,
    StageAnswer,
    answer,
    build,
    stage_answer,
)

LENGTH = 4
NICENESS = 10
"""Solving, and loading what solves, give way to answering: whoever asks the service is not kept waiting by its solvers."""
COMMAND = f"import os; os.nice({NICENESS}); from {__name__} import main; main()"
"""What a new Python is told: to give way first, then to load the solvers."""


class Message(msgspec.Struct, omit_defaults=True):
    """One frame from the worker: exactly one of the three is set."""

    progress: StageAnswer | None = None
    answer: PlacementAnswer | None = None
    error: Problem | None = None


def frame(data: bytes) -> bytes:
    return len(data).to_bytes(LENGTH, "big") + data


def solve(request: PlacementRequest, send: BinaryIO) -> Message:
    """The answer to one request, progress on the way; every answer has passed the independent checker."""
    from time import monotonic

    def report(stage: Stage) -> None:
        _write(send, Message(progress=stage_answer(stage)))

    try:
        instance = build(request)
    except InputError as error:
        return Message(error=Problem(code="invalid", message=str(error)))
    stages: tuple[Stage, ...] = ()
    proven = False
    if request.policy == "pogonip-opt":
        exact = pogonip_opt(instance, time_limit=request.time_limit_seconds, clock=monotonic, report=report)
        placement, stages, proven = exact.placement, exact.stages, exact.proven
    else:
        placement = _heuristic(instance, request.policy)
    wrong = violations(instance, placement)
    if wrong:
        return Message(error=Problem(code="internal", message=f"the answer was refused by the checker: {wrong[0]}"))
    return Message(answer=answer(instance, placement, policy=request.policy, stages=stages, proven=proven))


def _heuristic(instance: Instance, policy: str) -> Placement:
    return pogonip(instance) if policy == "pogonip" else improved_greedy(instance)


def _write(stream: BinaryIO, message: Message) -> None:
    stream.write(frame(msgspec.json.encode(message)))
    stream.flush()


def _read(stream: BinaryIO) -> bytes | None:
    head = stream.read(LENGTH)
    if len(head) < LENGTH:
        return None
    size = int.from_bytes(head, "big")
    body = stream.read(size)
    return body if len(body) == size else None


def main() -> None:
    parser = argparse.ArgumentParser(description="worker of `ecotone serve resolver`; speaks frames on its pipes")
    parser.add_argument("--memory", type=int, default=4 << 30, help="bytes of address space")
    limit = parser.parse_args().memory
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    source, target = sys.stdin.buffer, sys.stdout.buffer
    decoder = msgspec.json.Decoder(PlacementRequest)
    while (body := _read(source)) is not None:
        try:
            message = solve(decoder.decode(body), target)
        except MemoryError:
            message = Message(error=Problem(code="too-large", message="the problem needs more memory than is allowed"))
        except Exception as error:  # a bug of ours must not take the queue with it
            message = Message(error=Problem(code="internal", message=f"{type(error).__name__}: {error}"))
        _write(target, message)
