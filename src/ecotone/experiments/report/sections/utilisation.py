"""How busy each node's CPU was, per policy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ecotone.drawing.charts.legend import policy_legend
from ecotone.drawing.charts.rows import Row, bar, rows
from ecotone.drawing.charts.scale import Scale, from_zero
from ecotone.drawing.html import Markup
from ecotone.drawing.numbers import percent
from ecotone.drawing.tables import beside
from ecotone.experiments.report.results import Policy, average
from ecotone.experiments.report.sections.card import card

_MOST = 30
_BAR = 7


def utilisation(policies: Sequence[Policy], nodes: Sequence[str]) -> Markup | None:
    shares = {policy.name: _shares(policy) for policy in policies}
    measured = {node for each in shares.values() for node in each}
    names = [node for node in nodes if node in measured] + sorted(measured.difference(nodes))
    if not names:
        return None
    highest = max(value for each in shares.values() for value in each.values())
    scale = Scale(0.0, 1.0) if highest > 0.4 else from_zero([highest], least=0.01)
    shown = [policy for policy in policies if shares[policy.name]]
    height = max(20, _BAR * len(shown) + 8)
    drawn = [Row(node, _bars(node, shown, shares, scale, height)) for node in names[:_MOST]]
    picture = rows(
        drawn, scale=scale, axis=[(tick, percent(tick)) for tick in scale.ticks(4)], row_height=height,
        label="Mean CPU utilisation of each node under each policy", right=24,
    )  # fmt: skip
    table = beside(
        ["node", *(policy.name for policy in shown)],
        [[node, *(percent(shares[policy.name].get(node)) for policy in shown)] for node in names],
        caption="Mean CPU utilisation",
    )
    legend = policy_legend([(each.name, each.slot) for each in shown])
    reading = "Share of each node's CPU in use, the mean over the measured time and all trials."
    if len(names) > _MOST:
        reading += f" The first {_MOST} of {len(names)} nodes are drawn."
    return card("How busy the nodes were", legend, picture, table, reading=reading)


def _shares(policy: Policy) -> Mapping[str, float]:
    names = dict.fromkeys(node for run in policy.runs for node in run.get("utilisation") or ())
    means = {node: average((run.get("utilisation") or {}).get(node) for run in policy.runs) for node in names}
    return {node: value for node, value in means.items() if value is not None}


def _bars(
    node: str, shown: Sequence[Policy], shares: Mapping[str, Mapping[str, float]], scale: Scale, height: int
) -> list[Markup]:
    top = (height - _BAR * len(shown)) / 2
    marks = []
    for index, policy in enumerate(shown):
        value = shares[policy.name].get(node)
        if value is not None:
            title = f"{node} under {policy.name}: {percent(value)}"
            y = top + _BAR * index
            marks.append(bar(scale, 0.0, value, y=y, height=_BAR - 1, class_=f"f{policy.slot}", title=title))
    return marks
