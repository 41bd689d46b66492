"""Coordinates learnt by all nodes of a matrix, round by round."""

from __future__ import annotations

import random
from collections.abc import Iterator
from statistics import median

from ecotone.telemetry.vivaldi import Coordinates, predicted
from telemetry.geography import Matrix

NEIGHBOURS = 16
NOISE = 400
"""Shape of the gamma noise on each round trip: 5 % deviation around the true mean."""


def learning(matrix: Matrix, *, rounds: int, seed: int, every: int = 50) -> Iterator[tuple[int, list[float]]]:
    """(round, relative errors of all pairs); in a round each node observes one of its neighbours."""
    draw = random.Random(seed)
    nodes = range(len(matrix))
    neighbours = [draw.sample([other for other in nodes if other != own], NEIGHBOURS) for own in nodes]
    places = [Coordinates(f"node-{own}") for own in nodes]
    for number in range(1, rounds + 1):
        for own in nodes:
            peer = neighbours[own][number % NEIGHBOURS]
            rtt = matrix[own][peer] * draw.gammavariate(NOISE, 1 / NOISE)
            places[own].observe(str(peer), places[peer].place, rtt)
        if number % every == 0:
            shown = [each.place for each in places]
            yield (
                number,
                [
                    abs(predicted(shown[one], shown[other]) - matrix[one][other]) / matrix[one][other]
                    for one in nodes
                    for other in range(one)
                ],
            )


def median_error(matrix: Matrix, *, rounds: int, seed: int) -> float:
    return median(list(learning(matrix, rounds=rounds, seed=seed, every=rounds))[-1][1])
