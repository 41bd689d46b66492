"""How requests walk their call trees.

A `Visit` is one service working on one step of one request: it arrives over the network, spends its CPU first, then runs
its stages one after the other, the branches of a stage in parallel, and answers its caller. The hot path of the whole
simulator is here, so it is written for few events per visit: a message within a node is a plain function call, and a
visit that needs no CPU of the cluster (a server outside, behind a free proxy) is one event from call to answer.

Each visit also adds up what the time on its critical path (the branch that ended last) went into: messages under way, CPU
at work, waiting for CPU, and disruption, each measured where it happens. Together they are the response time.

Disruption of an answered request is setting connections up again. Connections are kept, but not beyond the pods at their
ends: the first call between a pod that replaced another one and each of its peers costs a round trip. A request that finds
no ready pod, or whose pod goes away, fails; `Request.cause` says which.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Final

from ecotone.sim.call_tree import CallTree, Step
from ecotone.sim.cluster import SimPod, SimService
from ecotone.sim.kernel import Event, Kernel
from ecotone.sim.network import Network
from ecotone.sim.parts import KILLED, STARTING, UNPLACED, UNREACHABLE

# What a visit waits for.
ARRIVE: Final = 0  # its message, on a plain network
LAND: Final = 1  # its message
CONNECT: Final = 2  # a connection of its own
RECONNECT: Final = 3  # a connection that broke with a pod
WORK: Final = 4  # CPU
PROXY: Final = 5  # CPU of the output proxy
SERVE: Final = 6  # a server outside
ANSWER: Final = 7  # its answer, on a plain network
ANSWER_LAND: Final = 8  # its answer
GIVE_UP: Final = 9  # its caller, since its node is dead


class Asker:
    """Whoever sent a request and wants to know what became of it."""

    __slots__ = ()

    def answered(self, request: Request, success: bool) -> None:
        raise NotImplementedError


class Request:
    """What a user sent and waits for."""

    __slots__ = (
        "asker", "cause", "disruption", "draws", "entry", "flow", "network", "open", "plan", "sent", "skipped", "tag",
        "waiting", "work",
    )  # fmt: skip

    def __init__(  # noqa: PLR0917 - made a million times: positional is faster
        self, flow: Flow, plan: CallTree, draws: list[float], skipped: frozenset[int] | None, entry: int, sent: float,
        asker: Asker, tag: int,
    ) -> None:  # fmt: skip
        self.flow = flow
        self.plan = plan
        self.draws = draws
        self.skipped = skipped
        self.entry = entry
        self.sent = sent
        self.asker = asker
        self.open = True
        self.network = 0.0
        self.work = 0.0
        self.waiting = 0.0
        self.disruption = 0.0
        self.cause = ""  # of its failure
        self.tag = tag


class Visit(Event):
    """One service at work on one step: always waiting for one thing, and its own event when that comes."""

    __slots__ = (
        "awaits", "branch", "disruption", "ended", "network", "parent", "pending", "place", "pod", "request", "size",
        "source", "stage", "step", "waiting", "work",
    )  # fmt: skip

    def __init__(  # noqa: PLR0917
        self, request: Request, step: Step, pod: SimPod, parent: Visit | None, branch: tuple[Step, ...], place: int
    ) -> None:
        self.time = 0.0
        self.order = 0
        self.request = request
        self.step = step
        self.pod = pod
        self.parent = parent
        self.branch = branch
        self.place = place
        self.awaits = ARRIVE
        self.stage = 0
        self.pending = 0
        self.ended = False
        self.source = 0  # the node its message comes from
        self.size = 0.0  # of its message
        self.network = 0.0
        self.work = 0.0
        self.waiting = 0.0
        self.disruption = 0.0

    def happen(self) -> None:
        flow, awaits = self.request.flow, self.awaits
        if awaits == ARRIVE:
            flow.arrive(self)
        elif awaits == WORK:
            flow.worked(self)
        elif awaits == ANSWER:
            flow.answered(self)
        else:
            flow.came(self)


class Flow:
    """Moves requests through services, over a network, on stations."""

    def __init__(
        self,
        kernel: Kernel,
        network: Network,
        services: list[SimService],
        zones: list[str],
        *,
        balance: Random,
        timeout: float,
        drained: Callable[[SimPod], None],
    ) -> None:
        self._kernel = kernel
        self._network = network
        self._services = services
        self._zones = zones
        self._balance = balance.random
        self._timeout = timeout
        self._drained = drained
        self.calls = [[0] * len(zones) for _ in zones]  # from node to node
        self.bytes = [[0.0] * len(zones) for _ in zones]  # of those calls, both directions

    def came(self, visit: Visit) -> None:
        """The rarer things a visit may wait for."""
        awaits, now = visit.awaits, self._kernel.now
        if awaits == LAND:
            visit.network += now
            self.arrive(visit)
        elif awaits == ANSWER_LAND:
            visit.network += now
            self.answered(visit)
        elif awaits == CONNECT:
            visit.awaits = LAND
            self._network.send(visit.source, visit.pod.place, visit.size, visit)
        elif awaits == RECONNECT:
            self._send(visit, visit.source, False, visit.size)
        elif awaits == PROXY:
            visit.waiting += now
            self._go_outside(visit)
        elif awaits == GIVE_UP:
            self.fail(visit, UNREACHABLE)
        else:
            self._served(visit)

    def start(self, request: Request, *, handshake: bool = False, size: float = 0.0) -> None:
        """A user sends a request at the entry node."""
        step = request.plan.root
        service = self._services[step.service]
        ready = service.ready
        if not ready:
            request.cause = _why_not_ready(service)
            self._close(request, False)
            return
        pod = ready[0] if len(ready) == 1 else self._choose(service, request.entry)
        pod.inflight += 1
        visit = Visit(request, step, pod, None, (step,), 0)
        if pod.connected is not None and not handshake and request.entry not in pod.connected:
            pod.connected.add(request.entry)
            self._reconnect(visit, request.entry, size)
            return
        self._send(visit, request.entry, handshake, size)

    def _choose(self, service: SimService, source: int) -> SimPod:
        """One of several ready pods, as kube-proxy would choose for a caller on this node.

        Each has the same chance; with a traffic distribution those on the caller's node (`same-node`) or in its zone come
        first, and where there are none, the next wider circle is asked.
        """
        ready = service.ready
        if service.near:
            near = [pod for pod in ready if pod.place == source] if service.node_first else []
            zone = self._zones[source]
            if not near and zone:
                near = [pod for pod in ready if self._zones[pod.place] == zone]
            if near:
                ready = near
        return ready[int(self._balance() * len(ready))]

    def deliver_waiting(self, service: SimService) -> None:
        """A pod became ready: hand over the messages that waited for one."""
        waiting = list(service.waiting)
        service.waiting.clear()
        for request, step, source in waiting:
            self._detach(request, step, source)

    def kill(self, pod: SimPod) -> None:
        """The pod is gone: whatever it worked on fails."""
        pod.alive = False
        if pod.share is not None:
            for visit in pod.share.station.drop(pod.share):
                assert isinstance(visit, Visit)
                self.fail(visit)

    def lose(self, pod: SimPod) -> None:
        """The pod's node is dead: whoever waits for an answer gives up after a while."""
        pod.lost = True
        if pod.share is not None:
            for visit in pod.share.station.drop(pod.share):
                assert isinstance(visit, Visit)
                self._hang(visit)

    def _hang(self, visit: Visit) -> None:
        if visit.awaits != GIVE_UP:
            visit.awaits = GIVE_UP
            self._kernel.plan(visit, self._kernel.now + self._timeout)

    def fail(self, visit: Visit, cause: str = KILLED) -> None:
        """The error travels up at once; branches that still run elsewhere find nobody waiting for them."""
        here: Visit | None = visit
        while here is not None and not here.ended:
            here.ended = True
            self._leave(here.pod)
            here = here.parent
        root = visit
        while root.parent is not None:
            root = root.parent
        if root.step is root.request.plan.root:
            root.request.cause = root.request.cause or cause
            self._close(root.request, False)

    def _close(self, request: Request, success: bool) -> None:
        if request.open:
            request.open = False
            request.asker.answered(request, success)

    def _leave(self, pod: SimPod) -> None:
        pod.inflight -= 1
        if pod.terminating and pod.inflight == 0:
            self._drained(pod)

    def _reconnect(self, visit: Visit, source: int, size: float) -> None:
        """Set a connection up before sending: somebody at one of its ends is new."""
        wait = self._network.round_trip(source, visit.pod.place)
        visit.disruption += wait
        self._after_connecting(visit, source, size, wait, RECONNECT)

    def _after_connecting(self, visit: Visit, source: int, size: float, wait: float, awaits: int) -> None:
        visit.source, visit.size, visit.awaits = source, size, awaits
        self._kernel.plan(visit, self._kernel.now + wait)

    def _send(self, visit: Visit, source: int, handshake: bool, size: float) -> None:
        network, kernel = self._network, self._kernel
        target = visit.pod.place
        self.calls[source][target] += 1
        self.bytes[source][target] += size + visit.step.response
        if network.plain:
            one_way = network.delay[source][target]
            if handshake:
                one_way *= 3.0
            visit.network += one_way
            visit.awaits = ARRIVE
            if one_way > 0.0 or visit.step.mean <= 0.0:
                kernel.plan(visit, kernel.now + one_way)
            else:
                self.arrive(visit)
            return
        visit.network -= kernel.now
        if handshake:
            self._after_connecting(visit, source, size, network.round_trip(source, target), CONNECT)
        else:
            visit.awaits = LAND
            network.send(source, target, size, visit)

    def arrive(self, visit: Visit) -> None:
        pod = visit.pod
        if not pod.alive:
            self.fail(visit)
            return
        if pod.lost:
            self._hang(visit)
            return
        if pod.service.external:
            self._arrive_outside(visit)
            return
        demand = visit.step.demand(visit.request.draws)
        if demand > 0.0:
            visit.work += demand
            visit.waiting -= self._kernel.now + demand
            self._use_cpu(visit, demand, WORK)
        else:
            self._served(visit)

    def _use_cpu(self, visit: Visit, demand: float, awaits: int) -> None:
        share = visit.pod.share
        assert share is not None
        visit.awaits = awaits
        share.station.serve(share, demand, visit)

    def _arrive_outside(self, visit: Visit) -> None:
        """Through the output proxy, with its CPU if it costs any, to the server outside."""
        cost = visit.pod.service.proxy_cpu
        if cost > 0.0 and visit.pod.share is not None:
            visit.work += cost
            visit.waiting -= self._kernel.now + cost
            self._use_cpu(visit, cost, PROXY)
        else:
            self._go_outside(visit)

    def _go_outside(self, visit: Visit) -> None:
        demand, way = visit.step.demand(visit.request.draws), visit.pod.service.proxy_rtt
        visit.work += demand
        visit.network += way
        visit.awaits = SERVE
        self._kernel.plan(visit, self._kernel.now + (demand + way))

    def worked(self, visit: Visit) -> None:
        visit.waiting += self._kernel.now
        self._served(visit)

    def _served(self, visit: Visit) -> None:
        if visit.step.leaf:
            self._respond(visit)
        else:
            self._run_stages(visit)

    def _run_stages(self, visit: Visit) -> None:
        """Start stages until one has to be waited for."""
        stages = visit.step.stages
        skipped = visit.request.skipped
        while visit.stage < len(stages):
            stage = stages[visit.stage]
            if len(stage) == 1 and skipped is None and not stage[0][0].detached:
                visit.pending = 1
                self._call(visit, stage[0], 0, None)
                return
            waited: list[tuple[tuple[Step, ...], int]] = []
            for branch in stage:
                place = _next_place(branch, 0, skipped)
                if branch[0].detached:
                    self._detach_branch(visit, branch, place, skipped)
                elif place < len(branch):
                    waited.append((branch, place))
            if waited:
                visit.pending = len(waited)
                for branch, place in waited:
                    if visit.ended:
                        return
                    self._call(visit, branch, place, None)
                return
            visit.stage += 1
        self._respond(visit)

    def _detach_branch(
        self, visit: Visit, branch: tuple[Step, ...], place: int, skipped: frozenset[int] | None
    ) -> None:
        while place < len(branch):
            self._detach(visit.request, branch[place], visit.pod.place)
            place = _next_place(branch, place + 1, skipped)

    def _detach(self, request: Request, step: Step, source: int) -> None:
        """Send without waiting; without a ready pod the message is kept until there is one."""
        service = self._services[step.service]
        ready = service.ready
        if not ready:
            service.waiting.append((request, step, source))
            return
        if step.channel is not None:
            step.channel.calls += 1
            step.channel.bytes += step.size
        pod = ready[0] if len(ready) == 1 else self._choose(service, source)
        pod.inflight += 1
        self._send(Visit(request, step, pod, None, (step,), 0), source, step.handshake, step.request)

    def _call(self, parent: Visit, branch: tuple[Step, ...], place: int, before: Visit | None) -> None:
        """Make one call of a branch; `before` is the branch's last visit so far."""
        step = branch[place]
        service = self._services[step.service]
        ready = service.ready
        if not ready:
            self.fail(parent, _why_not_ready(service))
            return
        caller = parent.pod
        source = caller.place
        pod = ready[0] if len(ready) == 1 else self._choose(service, source)
        channel = step.channel
        if channel is not None:
            channel.calls += 1
            channel.bytes += step.size
        visit = Visit(parent.request, step, pod, parent, branch, place)
        if before is not None:
            visit.network = before.network
            visit.work = before.work
            visit.waiting = before.waiting
            visit.disruption = before.disruption
        new = not step.handshake and (
            (caller.connected is not None or pod.connected is not None) and _first_call(caller, pod)
        )
        if self._network.plain and step.leaf and service.shortcut and not pod.lost:
            demand = step.demand(parent.request.draws)
            travel = self._network.delay[source][pod.place] * (4.0 if step.handshake else 2.0)
            travel += service.proxy_rtt
            visit.network += travel
            visit.work += demand
            if new:
                wait = self._network.round_trip(source, pod.place)
                visit.disruption += wait
                travel += wait
            visit.awaits = ANSWER
            self._kernel.plan(visit, self._kernel.now + (travel + demand))
            return
        pod.inflight += 1
        if new:
            self._reconnect(visit, source, step.request)
            return
        self._send(visit, source, step.handshake, step.request)

    def _respond(self, visit: Visit) -> None:
        if visit.ended:
            return
        pod = visit.pod
        if not pod.alive:
            self.fail(visit)
            return
        if pod.lost:
            self._hang(visit)
            return
        parent = visit.parent
        if parent is not None:
            target = parent.pod.place
        elif visit.step.detached:
            visit.ended = True
            self._leave(pod)
            return
        else:
            target = visit.request.entry
        pod.inflight -= 1
        if pod.terminating and pod.inflight == 0:
            self._drained(pod)
        if self._network.plain:
            one_way = self._network.delay[pod.place][target]
            if one_way > 0.0:
                visit.network += one_way
                visit.awaits = ANSWER
                self._kernel.plan(visit, self._kernel.now + one_way)
            else:
                self.answered(visit)
            return
        visit.network -= self._kernel.now
        visit.awaits = ANSWER_LAND
        self._network.send(pod.place, target, visit.step.response, visit)

    def answered(self, visit: Visit) -> None:
        """The caller has the answer: next call of the branch, next stage, or the caller's own answer."""
        if visit.ended:
            return
        visit.ended = True
        parent = visit.parent
        if parent is None:
            request = visit.request
            request.network, request.work = visit.network, visit.work
            request.waiting, request.disruption = visit.waiting, visit.disruption
            self._close(request, True)
            return
        if parent.ended:
            return
        if not parent.pod.alive:
            self.fail(parent)
            return
        if parent.pod.lost:
            self._hang(parent)
            return
        branch = visit.branch
        place = visit.place + 1
        if place < len(branch):
            place = _next_place(branch, place, visit.request.skipped)
            if place < len(branch):
                self._call(parent, branch, place, visit)
                return
        parent.pending -= 1
        if parent.pending == 0:
            parent.network += visit.network
            parent.work += visit.work
            parent.waiting += visit.waiting
            parent.disruption += visit.disruption
            parent.stage += 1
            if parent.stage < len(parent.step.stages):
                self._run_stages(parent)
            else:
                self._respond(parent)


def _next_place(branch: tuple[Step, ...], place: int, skipped: frozenset[int] | None) -> int:
    """The first call of a branch from `place` on that happens this time."""
    if skipped is not None:
        while place < len(branch) and branch[place].draw in skipped:
            place += 1
    return place


def _first_call(caller: SimPod, pod: SimPod) -> bool:
    """True if these two have to set up a connection first; from now on they have one."""
    if pod.connected is not None:
        known, other = pod.connected, caller
    else:
        assert caller.connected is not None
        known, other = caller.connected, pod
    if other.uid in known:
        return False
    known.add(other.uid)
    return True


def _why_not_ready(service: SimService) -> str:
    bound = [pod for pod in service.pods if pod.place >= 0]
    if not bound:
        return UNPLACED
    return UNREACHABLE if all(pod.lost for pod in bound) else STARTING
