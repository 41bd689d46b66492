"""Our greedy: Pogonip's two rules in a better order.

Two observations about the published heuristic. Queues are the largest components and the only ones bound to the edge,
so all of them come first, whatever their delay bounds. What is left of the edge then holds the most microservices if
the smallest go first; the large ones rent the cloud. On the paper's second scenario this alone reaches the optimum's
counts. No single order wins everywhere (without a cloud, smallest-first can strand a large microservice), so a few
orders are tried and the best answer by the lexicographic objective is kept; rejected applications get a second chance
on what the others left. Where edge nodes have prices, filling what is cheapest to open is one more try.
"""

from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np

from ecotone.placement.heuristic.pogonip import Greedy, Tie, place_application, queue_or_reject
from ecotone.placement.problem.instance import Component, Instance
from ecotone.placement.problem.solution import Placement, better

Order = Literal["smallest", "largest", "given"]

PORTFOLIO: tuple[tuple[Order, bool], ...] = (
    ("smallest", True),
    ("smallest", False),
    ("largest", True),
    ("largest", False),
)


def improved_greedy(instance: Instance, *, tie: Tie = "latency", seed: int = 0, portfolio: bool = True) -> Placement:
    """Queues first, smallest microservice first; with `portfolio`, the best of a few such orders."""
    tries = PORTFOLIO if portfolio else PORTFOLIO[:1]
    best: Placement | None = None
    for sequence, spread in tries:
        answer = one_order(instance, sequence=sequence, spread_queues=spread, tie=tie, seed=seed)
        best = answer if best is None else better(instance, best, answer)
        if portfolio and not spread and instance.edge_priced:
            cheap = one_order(instance, sequence=sequence, spread_queues=False, tie=tie, seed=seed, thrifty=True)
            best = better(instance, best, cheap)
    assert best is not None
    return best


def one_order(
    instance: Instance,
    *,
    sequence: Order,
    spread_queues: bool,
    tie: Tie = "latency",
    seed: int = 0,
    thrifty: bool = False,
) -> Placement:
    greedy = Greedy(instance, tie=tie, seed=seed, spread_queues=spread_queues, thrifty=thrifty)
    applications = instance.applications
    ascending = sorted(range(len(applications)), key=lambda a: applications[a].max_delay_ms)
    admitted = {a for a in ascending if queue_or_reject(greedy, a)}
    for a, i in _microservices(instance, ascending, sequence):
        if a in admitted and not greedy.place_microservice(a, i):
            greedy.reject(a)
            admitted.discard(a)
    for a in ascending:
        if a not in admitted:
            del greedy.reasons[applications[a].name]
            place_application(greedy, a)
    return greedy.result()


def replant(instance: Instance, queues: Sequence[int | None]) -> Placement | None:
    """Queues where somebody put them (None: not admitted), microservices placed anew: the best of a few orders.

    None when no order finds room for all of them.
    """
    best: Placement | None = None
    order = [a for a, host in enumerate(queues) if host is not None]
    orders: tuple[Order, ...] = ("smallest", "largest")
    for sequence in orders:
        greedy = Greedy(instance, tie="latency")
        for a in order:
            greedy.put_queue(a, queues[a] or 0)
        if all(greedy.place_microservice(a, i) for a, i in _microservices(instance, order, sequence)):
            for a, host in enumerate(queues):
                if host is None:
                    greedy.reject(a)
            found = greedy.result()
            best = found if best is None else better(instance, best, found)
    return best


def _microservices(instance: Instance, order: list[int], sequence: Order) -> list[tuple[int, int]]:
    pairs = [(a, i) for a in order for i in range(1, len(instance.applications[a].components))]
    if sequence == "given":
        return pairs
    size = dominant_share(instance)
    sign = 1.0 if sequence == "smallest" else -1.0
    return sorted(pairs, key=lambda pair: sign * size(instance.applications[pair[0]].components[pair[1]]))


def dominant_share(instance: Instance) -> Callable[[Component], float]:
    """A component's size: its largest share of what the edge has free of any resource."""
    total = np.maximum(instance.free[instance.is_edge].sum(axis=0), 1).astype(np.float64)
    shares: dict[tuple[int, ...], float] = {}

    def size(component: Component) -> float:
        if component.demand not in shares:
            shares[component.demand] = float((np.asarray(component.demand) / total).max())
        return shares[component.demand]

    return size
