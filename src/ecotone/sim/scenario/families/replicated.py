"""A family of scenarios with replicated services: what placements of single pods do not show.

Four services in a chain, each with two or three replicas, on one cloud node and three edge nodes, eighty milliseconds
apart. The variants: users who move from one edge to another or stand at two at once, kube-proxy's uniform choice or the
nearest pod first, a database that cannot leave the cloud, a link that turns bad, and edge nodes too small for the load.
"""

from __future__ import annotations

from dataclasses import dataclass

_SERVICES = ("front", "orders", "stock", "prices")
_STRETCH = 600


@dataclass(frozen=True, slots=True)
class Replicated:
    """One variant. `users`: `moving` from edge-1 to edge-2, at `two-sites` at once, or `staying` at edge-1."""

    replicas: int
    users: str
    near: bool = False
    database: bool = False
    link: bool = False
    small: bool = False

    @property
    def name(self) -> str:
        extras = [word for word in ("near", "database", "link", "small") if getattr(self, word)]
        return "-".join(["replicas", str(self.replicas), self.users, *extras])

    def text(self) -> str:
        """The scenario file."""
        rtt = 60 if self.users == "two-sites" else 80
        cpu = '"1"' if self.small else '"4"'
        rate = 60 if self.small else 20
        lines = [
            "apiVersion: ecotone.dev/v1alpha1",
            "kind: Scenario",
            "metadata:",
            f"  name: {self.name}",
            f"  description: '{self._description()}'",
            "spec:",
            f"  duration: {2 * _STRETCH}s",
            "  warmup: 60s",
            "  cluster:",
            "    nodes:",
            '      - {name: cloud-1, tier: cloud, cpu: "8", memory: 32Gi}',
            *(f"      - {{name: edge-{number}, tier: edge, cpu: {cpu}, memory: 8Gi}}" for number in (1, 2, 3)),
            f"    network: {{default: {{rtt: {rtt}ms}}{self._links()}}}",
            "  application:",
            "    name: shop",
            "    services:",
            *(self._service(number) for number in range(len(_SERVICES))),
            *(["      - " + _DATABASE] if self.database else []),
            "  load:",
            *self._load(rate),
            *self._events(),
        ]
        return "\n".join(lines) + "\n"

    def _description(self) -> str:
        words = {
            "moving": "users who move", "two-sites": "users at two edge nodes at once", "staying": "users at one edge node"
        }  # fmt: skip
        extras = {
            "near": "nearest pods first", "database": "a database in the cloud", "link": "a link that turns",
            "small": "an edge too small for the load",
        }  # fmt: skip
        told = [words[self.users], *(text for word, text in extras.items() if getattr(self, word))]
        return f"Four services with {self.replicas} replicas each: {', '.join(told)}"

    def _links(self) -> str:
        return ", links: [{between: [edge-1, edge-3], rtt: 5ms}]" if self.link else ""

    def _service(self, number: int) -> str:
        calls = []
        if number + 1 < len(_SERVICES):
            calls.append(f"{{call: {_SERVICES[number + 1]}.get}}")
        elif self.database:
            calls.append("{call: db.query, probability: 0.5}")
        stages = f", stages: [[{', '.join(calls)}]]" if calls else ""
        balance = ", balance: same-node" if self.near else ""
        return (
            f"      - {{name: {_SERVICES[number]}, replicas: {self.replicas}, index: {number}, startup: 5s{balance}, "
            f"requests: {{cpu: 100m, memory: 64Mi}}, endpoints: [{{name: get, cpu: 4ms{stages}}}]}}"
        )

    def _load(self, rate: int) -> list[str]:
        sites = {
            "moving": ("[edge-1]", "[edge-2]"), "two-sites": ("[edge-1, edge-3]",) * 2, "staying": ("[edge-1]",) * 2
        }[self.users]  # fmt: skip
        starts = (10, _STRETCH)
        return [
            f"    - {{at: {at}s, for: {_STRETCH * (number + 1) - at}s, entry: front.get, from: {site}, "
            f"arrivals: {{poisson: {rate}}}}}"
            for number, (at, site) in enumerate(zip(starts, sites, strict=True))
        ]

    def _events(self) -> list[str]:
        if not self.link:
            return []
        # The cloud, where the database is, comes near to edge-2 and goes far from the others.
        return [
            "  events:",
            f"    - {{at: {_STRETCH}s, link: [edge-1, edge-3], rtt: 80ms}}",
            f"    - {{at: {_STRETCH}s, link: [edge-1, cloud-1], rtt: 5ms}}",
        ]


_DATABASE = (
    "{name: db, index: 4, pinned: cloud-1, requests: {cpu: 200m, memory: 1Gi}, endpoints: [{name: query, cpu: 2ms}]}"
)

FAMILY = (
    Replicated(1, "moving"),
    Replicated(2, "moving"),
    Replicated(3, "moving"),
    Replicated(2, "moving", near=True),
    Replicated(2, "moving", database=True),
    Replicated(3, "moving", database=True),
    Replicated(2, "two-sites"),
    Replicated(3, "two-sites"),
    Replicated(2, "two-sites", near=True),
    Replicated(3, "two-sites", near=True, database=True),
    Replicated(2, "staying", database=True, link=True),
    Replicated(2, "moving", small=True),
    Replicated(3, "two-sites", near=True, small=True),
)


def replicated_scenarios() -> dict[str, str]:
    return {each.name: each.text() for each in FAMILY}
