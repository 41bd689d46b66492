"""Round trips between cities of the world, with access links, as a real wide-area network has them.

Great circles at two thirds of the speed of light, 1.4 times as long as the straight way, plus each node's own access delay
(a tail of a few milliseconds). A share of the pairs takes a detour of 1.2 to 2 times the direct way, which violates
triangles: `violated` counts how many.
"""

from __future__ import annotations

import math
import random

CITIES = (
    (40.7, -74.0), (51.5, -0.1), (48.9, 2.4), (37.5, 15.1), (52.5, 13.4), (41.9, 12.5), (40.4, -3.7), (37.8, -122.4),
    (47.6, -122.3), (35.7, 139.7), (1.4, 103.8), (19.1, 72.9), (-23.6, -46.6), (-33.9, 151.2), (55.8, 37.6), (59.3, 18.1),
    (25.2, 55.3), (22.3, 114.2), (43.7, -79.4), (32.8, -96.8),
)  # fmt: skip
Matrix = list[list[float]]


def world(nodes: int, *, seed: int, detours: float = 0.0) -> Matrix:
    """Milliseconds between every two nodes."""
    draw = random.Random(seed)
    places = []
    for _ in range(nodes):
        latitude, longitude = draw.choice(CITIES)
        access = 0.3 + draw.expovariate(1 / 6)
        places.append((latitude + draw.gauss(0, 1.5), longitude + draw.gauss(0, 1.5), access))
    matrix = [[0.0] * nodes for _ in range(nodes)]
    for one in range(nodes):
        for other in range(one):
            rtt = 2 * 1.4 * _kilometres(places[one], places[other]) / 200 + places[one][2] + places[other][2]
            if draw.random() < detours:
                rtt *= draw.uniform(1.2, 2.0)
            matrix[one][other] = matrix[other][one] = rtt
    return matrix


def _kilometres(one: tuple[float, float, float], other: tuple[float, float, float]) -> float:
    first, second = math.radians(one[0]), math.radians(other[0])
    across, along = math.radians(other[1] - one[1]), second - first
    part = math.sin(along / 2) ** 2 + math.cos(first) * math.cos(second) * math.sin(across / 2) ** 2
    return 2 * 6371 * math.asin(min(1.0, math.sqrt(part)))


def violated(matrix: Matrix, *, seed: int = 5, triples: int = 30_000) -> float:
    """The share of triples of nodes in which one way is longer than the detour over the third."""
    draw = random.Random(seed)
    bad = 0
    for _ in range(triples):
        a, b, c = draw.sample(range(len(matrix)), 3)
        sides = sorted((matrix[a][b], matrix[b][c], matrix[a][c]))
        bad += sides[2] > sides[0] + sides[1]
    return bad / triples
