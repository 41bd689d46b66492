"""What the thesis says in words about its results (chapter 5), each held against ours.

Three claims: at 10 ms and with few users Sophos and the default scheduler are alike; the gain grows with the latency; and
Sophos' own response times grow with the number of users.
"""

from __future__ import annotations

from itertools import pairwise

from ecotone.experiments.campaign.grid import BASELINE, Findings
from ecotone.experiments.campaign.statistics import mean

SOPHOS = "sophos"
ALIKE = 0.1  # relative difference in p95 that still counts as similar


def claims(findings: Findings) -> list[str]:
    """One sentence each, with the figures and whether it holds; none for what the grid does not cover."""
    grid = findings.grid
    found = []
    if 10.0 in grid.latencies:
        few = min(grid.users)
        ours, theirs = _p95(findings, SOPHOS, 10.0, few), _p95(findings, BASELINE, 10.0, few)
        if ours is not None and theirs:
            alike = abs(ours / theirs - 1.0) <= ALIKE
            found.append(
                f"claim: similar at 10 ms with few users. {_verdict(alike)}: with {few} users p95 is {ours:.4g} ms "
                f"under sophos and {theirs:.4g} ms under kube-default."
            )
    gains = [(latency, gain) for latency in grid.latencies if (gain := findings.gain(SOPHOS, latency)) is not None]
    if len(gains) > 1:
        grows = all(after >= before for (_, before), (_, after) in pairwise(gains))
        told = ", ".join(f"{100 * gain:.1f} % at {latency:g} ms" for latency, gain in gains)
        found.append(f"claim: the gain grows with latency. {_verdict(grows)}: {told}.")
    if len(grid.users) > 1:
        few, many = min(grid.users), max(grid.users)
        pairs = [
            (latency, low, high)
            for latency in grid.latencies
            if (low := _p95(findings, SOPHOS, latency, few)) and (high := _p95(findings, SOPHOS, latency, many))
        ]
        grown = all(high > low for _, low, high in pairs)
        told = ", ".join(f"{low:.4g} to {high:.4g} ms at {latency:g} ms" for latency, low, high in pairs)
        found.append(f"claim: Sophos' p95 grows from {few} to {many} users. {_verdict(grown)}: {told}.")
    return found


def _p95(findings: Findings, policy: str, latency: float, users: int) -> float | None:
    return mean(findings.p95(policy, latency, users))


def _verdict(holds: bool) -> str:
    return "Holds" if holds else "Does not hold"
