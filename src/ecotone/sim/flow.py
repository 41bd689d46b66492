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

from ecotone.sim.cluster import SimPod, SimService
from ecotone.sim.kernel import Kernel
from ecotone.sim.network import Network
from ecotone.sim.parts import KILLED, STARTING, UNPLACED
from ecotone.sim.plan import Plan, Step

Finish = Callable[["Request", bool], None]


class Request:
    """What a user sent and waits for."""

    __slots__ = (
        "cause", "demands", "disruption", "entry", "finish", "network", "open", "plan", "sent", "skipped", "tag", "waiting",
        "work",
    )  # fmt: skip

    def __init__(  # noqa: PLR0917 - made a million times: positional is faster
        self, plan: Plan, demands: list[float], skipped: frozenset[int] | None, entry: int, sent: float, finish: Finish
    ) -> None:
        self.plan = plan
        self.demands = demands
        self.skipped = skipped
        self.entry = entry
        self.sent = sent
        self.finish = finish
        self.open = True
        self.network = 0.0
        self.work = 0.0
        self.waiting = 0.0
        self.disruption = 0.0
        self.cause = ""  # of its failure
        self.tag = 0


class Visit:
    __slots__ = (
        "branch", "disruption", "ended", "network", "parent", "pending", "place", "pod", "request", "stage", "step",
        "waiting", "work",
    )  # fmt: skip

    def __init__(  # noqa: PLR0917
        self, request: Request, step: Step, pod: SimPod, parent: Visit | None, branch: tuple[Step, ...], place: int
    ) -> None:
        self.request = request
        self.step = step
        self.pod = pod
        self.parent = parent
        self.branch = branch
        self.place = place
        self.stage = 0
        self.pending = 0
        self.ended = False
        self.network = 0.0
        self.work = 0.0
        self.waiting = 0.0
        self.disruption = 0.0


class Flow:
    """Moves requests through services, over a network, on stations."""

    def __init__(
        self,
        kernel: Kernel,
        network: Network,
        services: list[SimService],
        *,
        balance: Random,
        drained: Callable[[SimPod], None],
    ) -> None:
        self._kernel = kernel
        self._network = network
        self._services = services
        self._balance = balance.random
        self._drained = drained

    def start(self, request: Request, *, handshake: bool = False, size: float = 0.0) -> None:
        """A user sends a request at the entry node."""
        step = request.plan.root
        ready = self._services[step.service].ready
        if not ready:
            request.cause = _why_not_ready(self._services[step.service])
            self._close(request, False)
            return
        pod = ready[0] if len(ready) == 1 else ready[int(self._balance() * len(ready))]
        pod.inflight += 1
        visit = Visit(request, step, pod, None, (step,), 0)
        if pod.connected is not None and not handshake and request.entry not in pod.connected:
            pod.connected.add(request.entry)
            self._reconnect(visit, request.entry, size)
            return
        self._send(visit, request.entry, handshake, size)

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
                self.fail(visit)

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
            request.finish(request, success)

    def _leave(self, pod: SimPod) -> None:
        pod.inflight -= 1
        if pod.terminating and pod.inflight == 0:
            self._drained(pod)

    def _reconnect(self, visit: Visit, source: int, size: float) -> None:
        """Set a connection up before sending: somebody at one of its ends is new."""
        node = visit.pod.node
        assert node is not None
        wait = self._network.round_trip(source, node.index)
        visit.disruption += wait
        self._kernel.after(wait, self._reconnected, (visit, source, size))

    def _reconnected(self, state: tuple[Visit, int, float]) -> None:
        visit, source, size = state
        self._send(visit, source, False, size)

    def _send(self, visit: Visit, source: int, handshake: bool, size: float) -> None:
        network = self._network
        node = visit.pod.node
        assert node is not None
        if network.plain:
            one_way = network.delay[source][node.index]
            if handshake:
                one_way *= 3.0
            visit.network += one_way
            if one_way > 0.0:
                self._kernel.after(one_way, self._arrive, visit)
            elif visit.step.mean > 0.0:
                self._arrive(visit)
            else:
                self._kernel.after(0.0, self._arrive, visit)
            return
        visit.network -= self._kernel.now
        if handshake:
            wait = network.round_trip(source, node.index)
            self._kernel.after(wait, self._connected, (visit, source, size))
        else:
            network.send(source, node.index, size, self._landed, visit)

    def _connected(self, state: tuple[Visit, int, float]) -> None:
        visit, source, size = state
        assert visit.pod.node is not None
        self._network.send(source, visit.pod.node.index, size, self._landed, visit)

    def _landed(self, visit: Visit) -> None:
        visit.network += self._kernel.now
        self._arrive(visit)

    def _arrive(self, visit: Visit) -> None:
        pod = visit.pod
        if not pod.alive:
            self.fail(visit)
            return
        if pod.service.external:
            self._arrive_outside(visit)
            return
        demand = visit.request.demands[visit.step.draw]
        if demand > 0.0:
            visit.work += demand
            visit.waiting -= self._kernel.now + demand
            share = pod.share
            share.station.add(share, demand, self._worked, visit)  # type: ignore[union-attr, arg-type]
        else:
            self._served(visit)

    def _arrive_outside(self, visit: Visit) -> None:
        """Through the output proxy, with its CPU if it costs any, to the server outside."""
        cost, share = visit.pod.service.spec.proxy_cpu, visit.pod.share
        if cost > 0.0 and share is not None:
            visit.work += cost
            visit.waiting -= self._kernel.now + cost
            share.station.add(share, cost, self._through_proxy, visit)
        else:
            self._go_outside(visit)

    def _through_proxy(self, visit: Visit) -> None:
        visit.waiting += self._kernel.now
        self._go_outside(visit)

    def _go_outside(self, visit: Visit) -> None:
        demand = visit.request.demands[visit.step.draw]
        visit.work += demand
        visit.network += visit.pod.service.spec.proxy_rtt
        self._kernel.after(demand + visit.pod.service.spec.proxy_rtt, self._served, visit)

    def _worked(self, visit: Visit) -> None:
        visit.waiting += self._kernel.now
        if visit.step.leaf:
            self._respond(visit)
        else:
            self._run_stages(visit)

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
        assert visit.pod.node is not None
        while place < len(branch):
            self._detach(visit.request, branch[place], visit.pod.node.index)
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
        pod = ready[0] if len(ready) == 1 else ready[int(self._balance() * len(ready))]
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
        pod = ready[0] if len(ready) == 1 else ready[int(self._balance() * len(ready))]
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
        caller = parent.pod
        source = caller.node.index  # type: ignore[union-attr]
        new = not step.handshake and (
            (caller.connected is not None or pod.connected is not None) and _first_call(caller, pod)
        )
        if self._network.plain and step.leaf and service.shortcut:
            demand = parent.request.demands[step.draw]
            travel = self._network.delay[source][pod.node.index] * (4.0 if step.handshake else 2.0)  # type: ignore[union-attr]
            travel += service.spec.proxy_rtt
            visit.network += travel
            visit.work += demand
            if new:
                wait = self._network.round_trip(source, pod.node.index)  # type: ignore[union-attr]
                visit.disruption += wait
                travel += wait
            self._kernel.after(travel + demand, self._answered, visit)
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
        node, parent = pod.node, visit.parent
        assert node is not None
        if parent is not None:
            target = parent.pod.node.index  # type: ignore[union-attr]
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
            one_way = self._network.delay[node.index][target]
            if one_way > 0.0:
                visit.network += one_way
                self._kernel.after(one_way, self._answered, visit)
            else:
                self._answered(visit)
            return
        visit.network -= self._kernel.now
        self._network.send(node.index, target, visit.step.response, self._answer_landed, visit)

    def _answer_landed(self, visit: Visit) -> None:
        visit.network += self._kernel.now
        self._answered(visit)

    def _answered(self, visit: Visit) -> None:
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
    """Whether these two have to set up a connection first; from now on they have one."""
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
    return STARTING if any(pod.node is not None for pod in service.pods) else UNPLACED
