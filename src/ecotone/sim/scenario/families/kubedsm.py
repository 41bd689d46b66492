"""KubeDSM's family of scenarios: loads that change every 90 s, six means and five deviations.

The published generator draws, for each service and cycle, max(1, round(N(m c, s c))) replicas, where c is how many replicas
would fill an even share of the edge, averaged over CPU and memory; at most ten, where the published autoscalers stop. A
cycle that would not fit on all nodes together is drawn again. Two minutes with one replica each come before, five after.

The load of a cycle is five requests a second for every replica it asks for, and autoscalers with the published settings
(5 requests per second and pod, 1 to 10 pods, scale-downs after 5 s) follow it, as on the authors' cluster: a quarter of a
minute late, at most four pods or twice as many at a time, and not at all within their tolerance. `replayed` gives the same
loads with the drawn counts as traces instead, for placers that are compared on given counts.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import resources
from string import Template

from ecotone.sim.randomness import stream

SERVICES = {"a": (1, 1), "b": (1, 2), "c": (1, 1), "d": (2, 2)}  # cores, units of 950 MiB
EDGE = ((4, 4), (3, 3), (4, 6))  # the same of the nodes
CLOUD = (16, 22)
_BEFORE, _CYCLE, _CYCLES, _END = 120, 90, 12, 1500
_MOST = 10
_PER_REPLICA = 5  # requests a second

Counts = dict[str, int]


@dataclass(frozen=True, slots=True)
class KubeDsm:
    """`mean` and `deviation` in multiples of an even share of the edge."""

    mean: float
    deviation: float

    @property
    def name(self) -> str:
        return f"kubedsm-{self.mean:g}-{self.deviation:g}"

    def cycles(self, number: int = 0) -> list[Counts]:
        """`number` of the draw: the built-in scenario is draw 0, an experiment's trials are others."""
        draws = stream(1 + number, "kubedsm", self.name)
        found: list[Counts] = []
        while len(found) < _CYCLES:
            counts = {
                service: min(_MOST, max(1, round(draws.gauss(self.mean * share, self.deviation * share))))
                for service, share in even_shares().items()
            }
            if _fits(counts):
                found.append(counts)
        return found

    def text(self, number: int = 0) -> str:
        """The scenario file of one draw, with autoscalers."""
        settings = f"{{requests: {_PER_REPLICA}, min: 1, max: {_MOST}, scale-down-window: 5s}}"
        autoscalers = dict.fromkeys(SERVICES, settings)
        return self._text(number, "autoscale", autoscalers, "Autoscalers with the published settings follow the load.")

    def replayed(self, number: int = 0) -> str:
        """The same with the drawn counts as traces."""
        traces = {service: _trace(found) for service, found in self._phases(number).items()}
        return self._text(number, "traces", traces, "Replica counts follow the drawn ones at once (`traces`).")

    def _phases(self, number: int) -> dict[str, list[tuple[int, int, int]]]:
        points = [(0, dict.fromkeys(SERVICES, 1))]
        points += [(_BEFORE + _CYCLE * cycle, counts) for cycle, counts in enumerate(self.cycles(number))]
        points.append((_BEFORE + _CYCLE * _CYCLES, dict.fromkeys(SERVICES, 1)))
        return {service: _stretches([(at, counts[service]) for at, counts in points]) for service in SERVICES}

    def _text(self, number: int, scaling: str, replicas: dict[str, str], driven: str) -> str:
        file = resources.files("ecotone.sim") / "scenarios" / "kubedsm.template.yaml"
        return Template(file.read_text(encoding="utf-8")).substitute(
            name=self.name,
            mean=f"{self.mean:g}",
            deviation=f"{self.deviation:g}",
            description=f"Four services of changing size, edge and cloud, {self.mean:g} and {self.deviation:g} (KubeDSM 2024)",
            driven=driven,
            scaling=scaling,
            replicas="\n".join(f"      {service}: {settings}" for service, settings in replicas.items()),
            load="\n".join(_load(service, *each) for service, found in self._phases(number).items() for each in found),
        )


FAMILY = (
    *(KubeDsm(mean, 0.4) for mean in (1.1, 1.2, 1.3, 1.4, 1.5, 1.6)),
    *(KubeDsm(1.5, deviation) for deviation in (0.1, 0.2, 0.3, 0.5)),
)


def kubedsm_scenarios() -> dict[str, str]:
    return {each.name: each.text() for each in FAMILY}


def even_shares() -> dict[str, float]:
    """Replicas of each service that fill its part of the edge, the mean over CPU and memory."""
    whole = [sum(node[kind] for node in EDGE) / len(SERVICES) for kind in (0, 1)]
    return {service: sum(whole[kind] / size[kind] for kind in (0, 1)) / 2 for service, size in SERVICES.items()}


def _fits(counts: Counts) -> bool:
    room = [sum(node[kind] for node in EDGE) + CLOUD[kind] for kind in (0, 1)]
    return all(sum(counts[name] * size[kind] for name, size in SERVICES.items()) <= room[kind] for kind in (0, 1))


def _stretches(points: list[tuple[int, int]]) -> list[tuple[int, int, int]]:
    """From, to, replicas; equal neighbours joined."""
    found: list[tuple[int, int, int]] = []
    for (at, count), following in zip(points, [*(at for at, _ in points[1:]), _END], strict=True):
        if found and found[-1][2] == count:
            found[-1] = (found[-1][0], following, count)
        else:
            found.append((at, following, count))
    return found


def _trace(found: list[tuple[int, int, int]]) -> str:
    return "[" + ", ".join(f"[{at}s, {count}]" for at, _, count in found) + "]"


def _load(service: str, at: int, end: int, count: int) -> str:
    # Regular, as the published load generator sends: a drawn rate would keep autoscalers guessing at their tolerance.
    arrivals = f"arrivals: {{users: {count * _PER_REPLICA}, every: 1s}}"
    return f"    - {{at: {at}s, for: {end - at}s, entry: {service}.ping, from: [gateway], {arrivals}}}"
