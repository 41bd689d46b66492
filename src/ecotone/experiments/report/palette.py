"""Colours: which thing has which, in light and in dark.

Policies and nodes never share a hue. The first policy, the baseline, is grey: the others are what one looks at. Nodes are
blue in the cloud, green in the fog and orange at the edge, in up to four depths; hues and depths were chosen to stay apart
for eyes that do not tell red from green, and every colour is also said in words (labels, titles, tables).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

POLICY_LIGHT = ("#737b87", "#6a3fd6", "#d0266b", "#8a6d00", "#1f2a44", "#b04bd8", "#7a4a2b", "#e07a9a")
POLICY_DARK = ("#9aa3b1", "#a990ff", "#ff6fa3", "#e2c044", "#d5def5", "#dd9bf5", "#c99a78", "#ffb3c8")
POLICY_SLOTS = len(POLICY_LIGHT)
_DASHES = ("", "", "", "", "6 3", "6 3", "2 3", "2 3")

TIERS = ("cloud", "fog", "edge", "other")
_NODES_LIGHT = {
    "cloud": ("#1d5fa8", "#5b9bdc", "#0f3b6e", "#9cc6ee"),
    "fog": ("#0f8a72", "#5fc4ac", "#07584a", "#a5e0d2"),
    "edge": ("#e8820c", "#f9bd6b", "#a95405", "#fbdcae"),
    "other": ("#6e6a86", "#a9a5c0", "#3f3b57", "#cfcce0"),
}
_NODES_DARK = {
    "cloud": ("#4f97e6", "#2b5f9e", "#9cc9f7", "#1d4372"),
    "fog": ("#35b597", "#1b7562", "#8fe0cb", "#125145"),
    "edge": ("#f39a35", "#b0640e", "#fbcb8c", "#7d4708"),
    "other": ("#918cb0", "#605c7d", "#c4c0dc", "#454159"),
}
_SHADES = 4


class Tiered(Protocol):
    """What is known of a node here."""

    @property
    def name(self) -> str: ...
    @property
    def tier(self) -> str | None: ...


def tier_of(tier: str | None) -> str:
    return tier if tier in TIERS else "other"


def node_classes(nodes: Sequence[Tiered], *, also: Sequence[str] = ()) -> Mapping[str, str]:
    """Node name -> class. Nodes that are only mentioned (`also`) take their tier from how their name begins."""
    classes: dict[str, str] = {}
    used = dict.fromkeys(TIERS, 0)
    known = [(node.name, tier_of(node.tier)) for node in nodes]
    guessed = [(name, next((tier for tier in TIERS if name.startswith(tier)), "other")) for name in also]
    for name, tier in known + guessed:
        if name not in classes:
            classes[name] = f"{tier}{used[tier] % _SHADES}"
            used[tier] += 1
    return classes


def style() -> str:
    """The part of the style sheet that says which class has which colour."""
    light, dark = _variables(POLICY_LIGHT, _NODES_LIGHT), _variables(POLICY_DARK, _NODES_DARK)
    rules = [
        f":root{{{light}}}",
        f"@media (prefers-color-scheme: dark){{:root:not([data-theme=light]){{{dark}}}}}",
        f":root[data-theme=dark]{{{dark}}}",
    ]
    for slot in range(POLICY_SLOTS):
        dash = f";stroke-dasharray:{_DASHES[slot]}" if _DASHES[slot] else ""
        rules.append(
            f".s{slot}{{stroke:var(--p{slot}){dash}}}.f{slot}{{fill:var(--p{slot})}}.c{slot}{{color:var(--p{slot})}}"
        )
        rules.append(f".hide-{slot} .s{slot},.hide-{slot} .chart .f{slot}{{display:none}}")
    rules += [f".{tier}{shade}{{fill:var(--{tier}{shade})}}" for tier in TIERS for shade in range(_SHADES)]
    return "\n".join(rules)


def _variables(policies: Sequence[str], nodes: Mapping[str, Sequence[str]]) -> str:
    named = [f"--p{slot}:{colour}" for slot, colour in enumerate(policies)]
    named += [f"--{tier}{shade}:{colour}" for tier, shades in nodes.items() for shade, colour in enumerate(shades)]
    return ";".join(named)
