"""Colours: which thing has which, in light and in dark.

Policies and nodes never share a hue. The first policy, the baseline, is grey: the others are what one looks at. Nodes are
blue in the cloud, green in the fog and orange at the edge, in up to four depths; hues and depths were chosen to stay apart
for eyes that do not tell red from green, and every colour is also said in words (labels, titles, tables).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

POLICY_LIGHT = ("#6f7483", "#531cc3", "#a80a3c", "#9a6a06", "#1f2a44", "#a83fd0", "#7a4a2b", "#b8486f")
POLICY_DARK = ("#aeb7be", "#8d88fb", "#fa537c", "#eec56c", "#d5def5", "#dd9bf5", "#c99a78", "#ffb3c8")
POLICY_SLOTS = len(POLICY_LIGHT)
_DASHES = ("", "", "", "", "6 3", "6 3", "2 3", "2 3")

TIERS = ("cloud", "fog", "edge", "other")
NODES_LIGHT = {
    "cloud": ("#1d5fa8", "#5b9bdc", "#0f3b6e", "#9cc6ee"),
    "fog": ("#0f8a72", "#5fc4ac", "#07584a", "#a5e0d2"),
    "edge": ("#e8820c", "#f9bd6b", "#a95405", "#fbdcae"),
    "other": ("#6e6a86", "#a9a5c0", "#3f3b57", "#cfcce0"),
}
NODES_DARK = {
    "cloud": ("#4f97e6", "#2b5f9e", "#9cc9f7", "#1d4372"),
    "fog": ("#35b597", "#1b7562", "#8fe0cb", "#125145"),
    "edge": ("#f39a35", "#b0640e", "#fbcb8c", "#7d4708"),
    "other": ("#918cb0", "#605c7d", "#c4c0dc", "#454159"),
}
_SHADES = 4
_ANY = tuple(
    f"{tier}{shade}" for shade in range(_SHADES) for tier in ("cloud", "edge", "fog", "other")
)  # without tiers


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
    known = [(node.name, tier_of(node.tier)) for node in nodes]
    known += [(name, next((tier for tier in TIERS if name.startswith(tier)), "other")) for name in also]
    tiers = dict(reversed(known))
    if all(tier == "other" for tier in tiers.values()):
        return {name: _ANY[index % len(_ANY)] for index, name in enumerate(dict(known))}
    classes: dict[str, str] = {}
    used = dict.fromkeys(TIERS, 0)
    for name in dict(known):
        tier = tiers[name]
        classes[name] = f"{tier}{used[tier] % _SHADES}"
        used[tier] += 1
    return classes


def style() -> str:
    """The part of the style sheet that says which class has which colour."""
    light, dark = _variables(POLICY_LIGHT, NODES_LIGHT), _variables(POLICY_DARK, NODES_DARK)
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
    places = [f"{tier}{shade}" for tier in TIERS for shade in range(_SHADES)]
    rules += [f".{index}{{fill:var(--{index})}}svg .on-{index}{{fill:var(--on-{index})}}" for index in places]
    return "\n".join(rules)


def file_style() -> str:
    """The policies' colours for a drawing on its own: literal, as not every reader of SVG files knows variables."""
    rules = []
    for slot, (colour, dash) in enumerate(zip(POLICY_LIGHT, _DASHES, strict=True)):
        dashes = f";stroke-dasharray:{dash}" if dash else ""
        rules.append(f".s{slot}{{stroke:{colour}{dashes}}}.f{slot}{{fill:{colour}}}")
    return "\n".join(rules)


def _variables(policies: Sequence[str], nodes: Mapping[str, Sequence[str]]) -> str:
    named = [f"--p{slot}:{colour}" for slot, colour in enumerate(policies)]
    named += [f"--{tier}{shade}:{colour}" for tier, shades in nodes.items() for shade, colour in enumerate(shades)]
    named += [
        f"--on-{tier}{shade}:{_ink(colour)}" for tier, shades in nodes.items() for shade, colour in enumerate(shades)
    ]
    return ";".join(named)


def contrast(one: str, other: str) -> float:
    """Between two colours, as the accessibility guidelines compute it: 1 is none, 21 the most."""
    bright, dim = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (bright + 0.05) / (dim + 0.05)


def _luminance(colour: str) -> float:
    shares = [int(colour[index : index + 2], 16) / 255.0 for index in (1, 3, 5)]
    red, green, blue = [each / 12.92 if each <= 0.04045 else ((each + 0.055) / 1.055) ** 2.4 for each in shares]
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _ink(ground: str) -> str:
    """The better readable of two inks."""
    return max(("#ffffff", "#10151d"), key=lambda ink: contrast(ink, ground))
