"""What was promised to services, and how it was kept under each policy."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ecotone.drawing.charts.legend import policy_legend
from ecotone.drawing.charts.rows import Row, dot, rows
from ecotone.drawing.charts.scale import from_zero
from ecotone.drawing.html import Markup
from ecotone.drawing.numbers import count, ms, percent, three_digits
from ecotone.drawing.tables import table
from ecotone.experiments.report.promises import Kept, Promises
from ecotone.experiments.report.results import Policy, average
from ecotone.experiments.report.sections.card import card
from ecotone.sim.scenario import Scenario

_MOST_SERVICES = 12


def promises(policies: Sequence[Policy], scenario: Scenario | None) -> Markup | None:
    asked = None if scenario is None else Promises(scenario)
    if asked is None or not asked.services:
        return None
    found = {each.name: [kept for run in each.runs if (kept := asked.of(run)) is not None] for each in policies}
    shown = [each for each in policies if found[each.name]]
    if not shown:
        return None
    services = asked.services[:_MOST_SERVICES]
    reading = (
        "Latency is counted: what the tiers of a service's pods are declared to cost, the mean over samples. A promise is kept "
        "in a sample if that is no more than promised; “of achievable” leaves out what no placement could have kept."
    )
    return card(
        "Promises to services",
        policy_legend([(each.name, each.slot) for each in shown]),
        _chart(shown, found, services),
        _table(shown, found, services),
        reading=reading,
    )


def _mean(found: Sequence[Kept], figure: Callable[[Kept], float | None]) -> float | None:
    return average(figure(each) for each in found)


def _service(name: str) -> Callable[[Kept], float | None]:
    return lambda each: each.latency.get(name)


def _chart(shown: Sequence[Policy], found: dict[str, list[Kept]], services: Sequence[str]) -> Markup:
    figures = {
        (policy.name, name): _mean(found[policy.name], _service(name)) or 0.0 for policy in shown for name in services
    }
    scale = from_zero(list(figures.values()), least=1.0)
    drawn = []
    for name in services:
        marks = []
        for policy in shown:
            value = figures[policy.name, name]
            title = f"{name} under {policy.name}: {ms(value)}"
            marks.append(dot(scale, value, y=14, class_=f"dot f{policy.slot}", title=title, radius=5))
        drawn.append(Row(name, marks))
    axis = [(tick, three_digits(tick)) for tick in scale.ticks(4)]
    return rows(drawn, scale=scale, axis=axis, row_height=28, label="Counted latency of each service, ms", right=28)


def _table(shown: Sequence[Policy], found: dict[str, list[Kept]], services: Sequence[str]) -> Markup:
    header = [
        *("policy", "mean", *services, "edge ratio", "utilisation", "fragmentation", "fairness"),
        *("kept", "of achievable", "migrations"),
    ]
    body = []
    for policy in shown:
        own = found[policy.name]
        achieved = _mean(own, lambda each: each.achieved)
        body.append(
            [
                policy.name,
                ms(_mean(own, lambda each: sum(each.latency.values()) / len(each.latency))),
                *(ms(_mean(own, _service(name))) for name in services),
                percent(_mean(own, lambda each: each.edge_ratio)),
                percent(_mean(own, lambda each: each.utilisation)),
                three_digits(_mean(own, lambda each: each.fragmentation) or 0.0),
                three_digits(_mean(own, lambda each: each.fairness) or 0.0),
                percent(_mean(own, lambda each: each.kept)),
                percent(achieved),
                count(policy.evictions),
            ]
        )
    return table(header, body, caption="Counted latency per service, and how promises were kept", class_="figures")
