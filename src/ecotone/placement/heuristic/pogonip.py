"""Pogonip's greedy heuristic (section V, Algorithms 1 and 2).

A queue goes to the edge node near the control node with the largest beta (spread the queues), a microservice to the
edge node near its queue with the smallest beta (fill what is open), and what finds no room on the edge to the cloud
node with the smallest beta. beta counts the further copies that would fit, by the scarcest resource.

Deviations from the text, each because the text leaves a hole:

* Order. Algorithm 1 walks application by application; the prototype's PriorityMqSort (section VI) takes every waiting
  queue of a delay bound before any microservice, and that is what the published runs did. `order="queues-first"` is
  the default; `order="application"` is the literal loop, which strands later queues behind earlier microservices.
* The placement is recorded, free capacity shrinks with every decision, and the list of forwarded microservices starts
  empty: the pseudo-code does none of the three.
* All or nothing. A microservice with no room in edge or cloud rejects its application and everything of it is undone.
* Queues never go to the cloud. The text forbids it; the released plugins did not.
* Ties in beta are common. By default the byte order of host names decides; `tie="latency"` prefers the nearest host
  (to the queue, or to the control node for a queue), `tie="random"` draws from a seeded hash as the prototype's
  framework drew at random. The cheaper host wins a tie before all of these, in the cloud and where edge nodes have prices.
* Requests of zero would divide by zero: the instance refuses them.
"""

from typing import Literal

import numpy as np

from ecotone.model.arrays import Floats, Ints, Mask
from ecotone.model.draw import draws, hash_texts
from ecotone.placement.problem.instance import Component, Instance
from ecotone.placement.problem.reasons import cloud_candidates, edge_candidates, explain, queue_candidates
from ecotone.placement.problem.remaining import Remaining
from ecotone.placement.problem.solution import Placement

Order = Literal["queues-first", "application"]
Tie = Literal["name", "latency", "random"]

UNPLACED = -1


class Greedy:
    """The steps of the heuristic, one component at a time, for callers that choose the order themselves."""

    def __init__(
        self,
        instance: Instance,
        *,
        tie: Tie = "name",
        seed: int = 0,
        spread_queues: bool = True,
        thrifty: bool = False,
    ) -> None:
        """`thrifty`: on the edge what costs least to open comes before beta."""
        self.instance = instance
        self.remaining = Remaining(instance)
        self.hosts = [[UNPLACED] * len(application.components) for application in instance.applications]
        self.reasons: dict[str, str] = {}
        self._tie = tie
        self._seed = seed
        self._spread = spread_queues
        self._thrifty = thrifty
        order = sorted(range(len(instance.hosts)), key=lambda i: instance.hosts[i].name.encode())
        self._name_rank = np.empty(len(order), dtype=np.int64)
        self._name_rank[order] = np.arange(len(order))
        self._keys = hash_texts(host.name for host in instance.hosts) if tie == "random" else None
        for a, application in enumerate(instance.applications):
            for i, component in enumerate(application.components):
                if component.pinned is not None:
                    self.hosts[a][i] = instance.index[component.pinned]

    def place_queue(self, a: int) -> bool:
        application = self.instance.applications[a]
        candidates = queue_candidates(self.instance, application)
        if application.queue.pinned is not None:
            return bool(candidates.any())
        candidates = self.remaining.fits(application.queue, candidates)
        host = self._choose(a, 0, candidates, largest=self._spread, distance_from=None)
        return self._settle(a, 0, host)

    def put_queue(self, a: int, host: int) -> None:
        """The queue on a host somebody else chose."""
        if self.instance.applications[a].queue.pinned is None:
            self._settle(a, 0, host)

    def place_microservice(self, a: int, i: int) -> bool:
        """Component i >= 1 of application a: near its queue if there is room, else in the cloud."""
        application = self.instance.applications[a]
        component = application.components[i]
        queue = self.hosts[a][0]
        if component.pinned is not None:
            return True
        near = self.remaining.fits(component, edge_candidates(self.instance, application, component, queue))
        host = self._choose(a, i, near, largest=False, distance_from=queue)
        if host == UNPLACED and len(self.instance.cloud):
            far = self.remaining.fits(component, cloud_candidates(self.instance, component, queue))
            host = self._choose(a, i, far, largest=False, distance_from=queue)
        return self._settle(a, i, host)

    def reject(self, a: int) -> None:
        """Gives back everything of the application and says why it could not stay."""
        application = self.instance.applications[a]
        self.reasons[application.name] = explain(self.instance, application, self.remaining)
        for i, component in enumerate(application.components):
            if component.pinned is None and self.hosts[a][i] != UNPLACED:
                self.remaining.give_back(component, self.hosts[a][i])
                self.hosts[a][i] = UNPLACED

    def result(self) -> Placement:
        names = [application.name for application in self.instance.applications]
        return Placement(
            hosts=tuple(
                None if name in self.reasons else tuple(hosts) for name, hosts in zip(names, self.hosts, strict=True)
            ),
            reasons=dict(self.reasons),
        )

    def _settle(self, a: int, i: int, host: int) -> bool:
        if host == UNPLACED:
            return False
        self.remaining.take(self.instance.applications[a].components[i], host)
        self.hosts[a][i] = host
        return True

    def _choose(self, a: int, i: int, mask: Mask, *, largest: bool, distance_from: int | None) -> int:
        candidates: Ints = np.flatnonzero(mask)
        if not len(candidates):
            return UNPLACED
        component = self.instance.applications[a].components[i]
        if self._thrifty:
            more = self._still_to_open()[candidates]
            candidates = candidates[more == more.min()]
        beta = self.remaining.beta(component, candidates)
        candidates = candidates[beta == (beta.max() if largest else beta.min())]
        if len(candidates) > 1:
            price = self.instance.price[candidates]
            candidates = candidates[price == price.min()]
        if len(candidates) > 1 and self._tie == "latency":
            delay = self._delay(component, distance_from)[candidates]
            candidates = candidates[delay == delay.min()]
        if len(candidates) > 1 and self._keys is not None:
            name = f"{self.instance.applications[a].name}/{component.name}"
            return int(candidates[np.argmax(draws(seed=self._seed, uid=name, names=self._keys[candidates]))])
        return int(candidates[np.argmin(self._name_rank[candidates])])

    def _still_to_open(self) -> Floats:
        """What using each host would add to the price of the edge."""
        found = np.where(self.instance.in_use, 0.0, self.instance.opening)
        found[[host for row in self.hosts for host in row if host != UNPLACED]] = 0.0
        return found

    def _delay(self, component: Component, origin: int | None) -> np.ndarray[tuple[int, ...], np.dtype[np.floating]]:
        return self.instance.control_distance if origin is None else self.instance.delay(component)[origin]


def pogonip(instance: Instance, *, order: Order = "queues-first", tie: Tie = "name", seed: int = 0) -> Placement:
    greedy = Greedy(instance, tie=tie, seed=seed)
    applications = instance.applications
    ascending = sorted(range(len(applications)), key=lambda a: applications[a].max_delay_ms)
    if order == "application":
        for a in ascending:
            place_application(greedy, a)
        return greedy.result()
    for bound in sorted({application.max_delay_ms for application in applications}):
        group = [a for a in ascending if applications[a].max_delay_ms == bound]
        admitted = [a for a in group if queue_or_reject(greedy, a)]
        for a in admitted:
            microservices_or_reject(greedy, a)
    return greedy.result()


def place_application(greedy: Greedy, a: int) -> None:
    if queue_or_reject(greedy, a):
        microservices_or_reject(greedy, a)


def queue_or_reject(greedy: Greedy, a: int) -> bool:
    if greedy.place_queue(a):
        return True
    greedy.reject(a)
    return False


def microservices_or_reject(greedy: Greedy, a: int) -> None:
    for i in range(1, len(greedy.instance.applications[a].components)):
        if not greedy.place_microservice(a, i):
            greedy.reject(a)
            return
