"""Who talks to whom across the cluster: calls between nodes under each policy, and how far apart the nodes are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ecotone.drawing.charts.heatmap import heatmap
from ecotone.drawing.html import Markup, element
from ecotone.drawing.numbers import ms, number, percent, three_digits
from ecotone.drawing.tables import beside
from ecotone.experiments.report.distances import Distances
from ecotone.experiments.report.results import Policy
from ecotone.experiments.report.sections.card import card
from ecotone.sim.scenario import Scenario

_MOST = 16
Pairs = dict[tuple[str, str], float]


def talk(policies: Sequence[Policy], scenario: Scenario | None, *, end: float) -> Markup | None:
    calls = {policy.name: _sums(policy, "calls") for policy in policies}
    sizes = {policy.name: _sums(policy, "bytes") for policy in policies}
    shown = [policy for policy in policies if calls[policy.name]]
    if not shown:
        return None
    busy: dict[str, float] = {}
    for found in calls.values():
        for (origin, target), number_ in found.items():
            busy[origin] = busy.get(origin, 0.0) + number_
            busy[target] = busy.get(target, 0.0) + number_
    order = [node.name for node in scenario.nodes] if scenario is not None else sorted(busy)
    names = sorted(
        sorted(busy, key=lambda each: -busy[each])[:_MOST], key=lambda each: order.index(each) if each in order else 0
    )
    figures = [_figure(policy, calls[policy.name], sizes[policy.name], names, end) for policy in shown]
    far = _distances(scenario, names) if scenario is not None else None
    reading = "Calls from the node in the row to the node in the column, the stronger the colour, the more; "
    reading += "users count where they enter. "
    reading += "What stands on the diagonal stays on its node and costs no round trip."
    if len(busy) > _MOST:
        reading += f" The {_MOST} busiest of {len(busy)} nodes are drawn."
    return card("Traffic between nodes", element("div", [*figures, far], class_="multiples"), reading=reading)


def _sums(policy: Policy, key: str) -> Pairs:
    """Per trial."""
    found: Pairs = {}
    for run in policy.runs:
        for each in run.get("talk") or ():
            pair = (str(each.get("from", "")), str(each.get("to", "")))
            found[pair] = found.get(pair, 0.0) + (number(each.get(key)) or 0.0) / len(policy.runs)
    return found


def _figure(policy: Policy, calls: Pairs, sizes: Pairs, names: Sequence[str], end: float) -> Markup:
    whole = sum(calls.values()) or 1.0
    most = max(calls.values())
    at_home = sum(number_ for (origin, target), number_ in calls.items() if origin == target) / whole
    said = {
        pair: f"{pair[0]} → {pair[1]}: {three_digits(number_ / end)} calls/s, {percent(number_ / whole)} of all, "
        f"{three_digits(sizes.get(pair, 0.0) / end)} B/s"
        for pair, number_ in calls.items()
    }
    picture = heatmap(
        names, {pair: number_ / most for pair, number_ in calls.items()}, said,
        label=f"Calls between nodes under {policy.name}", class_=f"f{policy.slot}",
    )  # fmt: skip
    rows = [
        [" → ".join(pair), *(three_digits(number_ / end), percent(number_ / whole), three_digits(sizes.get(pair, 0.0) / end))]
        for pair, number_ in sorted(calls.items(), key=lambda each: (-each[1], each[0]))
    ]  # fmt: skip
    table = beside(["from and to", "calls/s", "share", "B/s"], rows, caption=f"Calls between nodes under {policy.name}")
    name = element("span", policy.name, class_=f"policy c{policy.slot}")
    return element(
        "figure", element("h3", name, " ", element("small", f"{percent(at_home)} stay on their node")), picture, table
    )


def _distances(scenario: Scenario, names: Sequence[str]) -> Markup | None:
    """Round trips, the mean over the run where links change."""
    found = _mean_round_trips(scenario, names)
    most = max(found.values(), default=0.0)
    if not most:
        return None
    said = {pair: f"{pair[0]} – {pair[1]}: {ms(value)}" for pair, value in found.items()}
    shades: Mapping[tuple[str, str], float] = {pair: value / most for pair, value in found.items()}
    picture = heatmap(names, shades, said, label="Round trips between nodes", class_="part0")
    rows = [[f"{one} – {other}", ms(value)] for (one, other), value in found.items() if one < other]
    table = beside(["between", "round trip"], rows, caption="Round trips between nodes")
    small = element("small", f"up to {ms(most)}, the mean over the run")
    return element("figure", element("h3", "Round trips ", small), picture, table)


def _mean_round_trips(scenario: Scenario, names: Sequence[str]) -> Pairs:
    moments = sorted({0.0, *(change.at for change in scenario.link_changes if change.at < scenario.duration)})
    found: Pairs = {}
    for place, at in enumerate(moments):
        until = moments[place + 1] if place + 1 < len(moments) else scenario.duration
        distances = Distances(scenario.network, changes=[each for each in scenario.link_changes if each.at <= at])
        for one in names:
            for other in names:
                if one != other:
                    part = distances.between(one, other) * (until - at) / scenario.duration
                    found[one, other] = found.get((one, other), 0.0) + part
    return found
