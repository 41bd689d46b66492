"""What a policy gets to see: probes, scrapes and the monitoring operators' averages, never the truth.

Counters are scraped every `scrape` seconds, as Prometheus would; every `monitor` seconds the operators compute rates over
a window of those scrapes and write them as the annotations that `manifests.keys` reads. What happened since the last write is
invisible, what was not probed is missing, and what nobody updates grows old.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from ecotone.sim.call_tree import PairCount
from ecotone.sim.cluster import SimNode, SimService
from ecotone.sim.kernel import MONITOR, SCRAPE, Kernel
from ecotone.sim.network import Network
from ecotone.sim.scenario.schema import Control
from ecotone.sim.users import Entrance

Matrix = list[list[float | None]]
Talk = list[dict[str, float]]  # by service, then by peer


@dataclass(slots=True)
class Scrape:
    at: float
    node_cpu: list[float]  # CPU seconds so far
    node_memory: list[float]  # bytes in use
    service_cpu: list[float]  # CPU seconds so far
    service_pods: list[int]
    channels: list[float]  # bytes so far
    calls: list[int]  # requests so far
    users: list[list[float]]  # bytes so far, per entrance and node
    user_calls: list[list[int]]  # requests so far
    latency: Matrix  # seconds; None where the probe failed


@dataclass(slots=True)
class NodeFigures:
    """What the cluster monitor wrote on one node."""

    available_cpu: float | None = None  # millicores
    available_memory: float | None = None  # bytes
    latencies: dict[str, float] = field(default_factory=dict)  # ms
    bandwidths: dict[str, float] = field(default_factory=dict)
    losses: dict[str, float] = field(default_factory=dict)
    measured_at: float | None = None


@dataclass(slots=True)
class WorkloadFigures:
    """What the application monitor wrote on one workload."""

    cpu_usage: float | None = None  # millicores per pod
    memory_usage: float | None = None  # bytes per pod
    traffic: dict[str, float] | None = None  # bytes per second
    requests: dict[str, float] | None = None  # per second, where a mesh can count them
    calls: dict[str, float] | None = None  # those of them that it sends
    measured_at: float | None = None


class Monitoring:
    def __init__(
        self,
        kernel: Kernel,
        network: Network,
        nodes: list[SimNode],
        services: list[SimService],
        *,
        channels: list[PairCount],
        entrances: list[tuple[str, Entrance]],
        control: Control,
        until: float,
    ) -> None:
        self._kernel = kernel
        self._network = network
        self._nodes = nodes
        self._services = services
        self._channels = channels
        self._entrances = entrances
        self._window = max(control.window, 2 * control.scrape)
        self._probes = max(1, int(control.scrape / control.probe))
        self._scrapes: deque[Scrape] = deque()
        self._matrix: tuple[object, Matrix] | None = None
        self.nodes = [NodeFigures() for _ in nodes]
        self.workloads = [WorkloadFigures() for _ in services]
        # The cluster was watched before the application came: its nodes are known to be idle, its latencies are known.
        self.scrape(None)
        self._write_nodes()
        kernel.every(control.scrape, self.scrape, first=control.scrape, until=until, priority=SCRAPE)
        kernel.every(control.monitor, self.write, first=control.monitor, until=until, priority=MONITOR)

    def scrape(self, _: None) -> None:
        kernel = self._kernel
        for node in self._nodes:
            node.station.catch_up()
        scrapes = self._scrapes
        scrapes.append(
            Scrape(
                at=kernel.now,
                node_cpu=[node.used() for node in self._nodes],
                node_memory=[float(sum(pod.service.spec.memory_in_use for pod in node.pods)) for node in self._nodes],
                service_cpu=[self._service_cpu(service) for service in self._services],
                service_pods=[sum(1 for pod in service.pods if pod.node is not None) for service in self._services],
                channels=[channel.bytes for channel in self._channels],
                calls=[channel.calls for channel in self._channels],
                users=[list(entrance.traffic) for _, entrance in self._entrances],
                user_calls=[list(entrance.requests) for _, entrance in self._entrances],
                latency=self._probe(),
            )
        )
        while scrapes[0].at < kernel.now - self._window - 1e-9:
            scrapes.popleft()

    def write(self, _: None) -> None:
        """One pass of both operators."""
        self._write_nodes()
        self._write_workloads()

    def recent_usage(self, service: SimService) -> float | None:
        """Millicores per pod between the last two scrapes: what metrics-server would tell the autoscaler."""
        if len(self._scrapes) < 2:
            return None
        before, last = self._scrapes[-2], self._scrapes[-1]
        pods = len(service.ready)
        if not pods or last.at <= before.at:
            return None
        spent = last.service_cpu[service.index] - before.service_cpu[service.index]
        return 1000.0 * spent / (last.at - before.at) / pods

    def recent_requests(self, service: SimService) -> float | None:
        """Requests per second and pod between the last two scrapes: what an adapter of custom metrics would tell it."""
        if len(self._scrapes) < 2:
            return None
        before, last = self._scrapes[-2], self._scrapes[-1]
        pods = len(service.ready)
        if not pods or last.at <= before.at:
            return None
        came = 0
        for number, (name, _) in enumerate(self._entrances):
            if name == service.name:
                came += sum(last.user_calls[number]) - sum(before.user_calls[number])
        for number, channel in enumerate(self._channels):
            if channel.peer == service.name:
                came += last.calls[number] - before.calls[number]
        return came / (last.at - before.at) / pods

    def _service_cpu(self, service: SimService) -> float:
        return service.retired + sum(pod.share.used for pod in service.pods if pod.share is not None)

    def _probe(self) -> Matrix:
        network, nodes = self._network, self._nodes
        state = (network.version, tuple(node.up for node in nodes))
        if network.plain and self._matrix is not None and self._matrix[0] == state:
            return self._matrix[1]
        count = len(nodes)
        matrix = [[self._measure(a, b) for b in range(count)] for a in range(count)]
        self._matrix = (state, matrix)
        return matrix

    def _measure(self, a: int, b: int) -> float | None:
        if not (self._nodes[a].up and self._nodes[b].up):
            return None
        if self._network.plain:
            return self._network.rtt(a, b)
        answers = [answer for _ in range(self._probes) if (answer := self._network.probe(a, b)) is not None]
        return sum(answers) / len(answers) if answers else None

    def _write_nodes(self) -> None:
        first, last = self._scrapes[0], self._scrapes[-1]
        span = last.at - first.at
        for node in self._nodes:
            if not node.up:
                continue  # its agent is silent: what was written stays, and ages
            figures, index = self.nodes[node.index], node.index
            busy = (last.node_cpu[index] - first.node_cpu[index]) / span * 1000.0 if span > 0 else 0.0
            figures.available_cpu = max(0.0, node.spec.cpu - busy)
            figures.available_memory = max(0.0, node.spec.memory - last.node_memory[index])
            figures.latencies = self._latencies(index)
            figures.losses = {
                other.name: self._network.loss(index, other.index)
                for other in self._nodes
                if other is not node and other.up
            }
            figures.bandwidths = {
                other.name: bandwidth
                for other in self._nodes
                if other is not node
                and other.up
                and (bandwidth := self._network.bandwidth(index, other.index)) < float("inf")
            }
            figures.measured_at = last.at

    def _latencies(self, origin: int) -> dict[str, float]:
        found: dict[str, float] = {}
        for target, node in enumerate(self._nodes):
            if target == origin:
                continue
            values = [value for scrape in self._scrapes if (value := scrape.latency[origin][target]) is not None]
            if values:
                found[node.name] = 1000.0 * sum(values) / len(values)
        return found

    def _write_workloads(self) -> None:
        if len(self._scrapes) < 2:
            return
        first, last = self._scrapes[0], self._scrapes[-1]
        span = last.at - first.at
        traffic, requests, calls = self._talk(first, last)
        for service in self._services:
            figures = self.workloads[service.index]
            spent = last.service_cpu[service.index] - first.service_cpu[service.index]
            pods = sum(scrape.service_pods[service.index] for scrape in self._scrapes) / len(self._scrapes)
            figures.cpu_usage = 1000.0 * spent / span / pods if pods > 0 else None
            spec = service.spec
            known = spec.memory_request is not None or spec.memory_use is not None
            figures.memory_usage = float(spec.memory_in_use) if known else None
            figures.traffic, figures.requests = traffic[service.index], requests[service.index]
            figures.calls = calls[service.index]
            figures.measured_at = last.at

    def _talk(self, first: Scrape, last: Scrape) -> tuple[Talk, Talk, Talk]:
        """Bytes and requests per second of each service and peer, told to both ends; and calls, told to the caller."""
        span = last.at - first.at
        traffic: list[dict[str, float]] = [{} for _ in self._services]
        requests: list[dict[str, float]] = [{} for _ in self._services]
        calls: list[dict[str, float]] = [{} for _ in self._services]
        index = {service.name: service.index for service in self._services}
        for number, channel in enumerate(self._channels):
            flow = (last.channels[number] - first.channels[number]) / span
            rate = (last.calls[number] - first.calls[number]) / span
            for own, peer in ((channel.source, channel.peer), (channel.peer, channel.source)):
                _add(traffic[index[own]], peer, flow)
                if channel.counted:
                    _add(requests[index[own]], peer, rate)
            if channel.counted:
                _add(calls[index[channel.source]], channel.peer, rate)
        for number, (service, _) in enumerate(self._entrances):
            for node in self._nodes:
                position, peer = node.index, f"users@{node.name}"
                _add(
                    traffic[index[service]], peer, (last.users[number][position] - first.users[number][position]) / span
                )
                rate = (last.user_calls[number][position] - first.user_calls[number][position]) / span
                _add(requests[index[service]], peer, rate)
        return traffic, requests, calls


def _add(pairs: dict[str, float], peer: str, value: float) -> None:
    if value > 0.0:
        pairs[peer] = pairs.get(peer, 0.0) + value
