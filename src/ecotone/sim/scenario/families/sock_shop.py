"""Sock Shop's scenarios: one template, five latencies, and the variants the evaluation asks for.

Everything that an experiment may vary is a parameter here; call graphs, CPU demands and the order of load are fixed in
the template files.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import resources
from string import Template

LATENCIES = (10, 100, 200, 300, 500)
ENTRIES = ("[cloud-1]", "[fog-1]", "[fog-2]", "[edge-1]", "[edge-2]", "[edge-3]", "[edge-1]", "all")

_PHASE = 300
_READY = 180  # seconds until the manifests' readiness probes let the slowest pods in


@dataclass(frozen=True, slots=True)
class SockShop:
    """One variant. `latency` is the round trip in milliseconds between tiers and between edge nodes."""

    latency: float
    users: int = 50
    think: bool = False
    full_chains: bool = False
    stock_limits: bool = False
    stock_readiness: bool = False
    entries: tuple[str, ...] = ENTRIES

    @property
    def name(self) -> str:
        return f"sock-shop{'-full' if self.full_chains else ''}-{self.latency:g}ms"

    def text(self) -> str:
        """The scenario file."""
        file = "sock-shop-full.template.yaml" if self.full_chains else "sock-shop.template.yaml"
        template = Template((resources.files("ecotone.sim") / "scenarios" / file).read_text(encoding="utf-8"))
        arrivals = f"{{users: {self.users}, {'think' if self.think else 'every'}: 1s}}"
        slow = self.stock_readiness
        start = 30 + (_READY if slow else 0)  # users come when the application is up
        return template.substitute(
            name=self.name,
            rtt=f"{self.latency:g}ms",
            users=self.users,
            arrivals=arrivals,
            limits="" if self.stock_limits else "# stock ",
            startup="5s",
            front_end_startup="30s" if slow else "5s",
            go_startup=f"{_READY}s" if slow else "5s",
            start=start,
            end=start + _PHASE * len(self.entries),
            **{f"at{number}": start + _PHASE * (number - 1) for number in range(1, len(self.entries) + 1)},
            **{f"entry{number}": entry for number, entry in enumerate(self.entries, start=1)},
        )


def sock_shop_scenarios() -> dict[str, str]:
    """The built-in ones by name."""
    variants = [*(SockShop(latency) for latency in LATENCIES), SockShop(100, full_chains=True)]
    return {variant.name: variant.text() for variant in variants}
