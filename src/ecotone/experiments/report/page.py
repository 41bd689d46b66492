"""The page: which parts there are, and in which order."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Mapping, Sequence
from hashlib import sha256
from importlib import resources
from pathlib import Path
from types import MappingProxyType
from typing import Any
from zlib import compress

from ecotone.drawing import palette
from ecotone.drawing.html import Markup, element
from ecotone.drawing.numbers import count, ms, percent, small_share
from ecotone.experiments.report.headline import because, best, headline
from ecotone.experiments.report.results import Policy, read_policies
from ecotone.experiments.report.sections.breakdown import breakdown, breakdown_of_p95
from ecotone.experiments.report.sections.calls import calls
from ecotone.experiments.report.sections.cluster import cluster
from ecotone.experiments.report.sections.comparison import comparison
from ecotone.experiments.report.sections.curves.by_phase import by_phase
from ecotone.experiments.report.sections.curves.distribution import distribution
from ecotone.experiments.report.sections.curves.over_time import over_time
from ecotone.experiments.report.sections.curves.over_users import over_users
from ecotone.experiments.report.sections.curves.over_values import over_values
from ecotone.experiments.report.sections.footer import footer
from ecotone.experiments.report.sections.moves import decisions
from ecotone.experiments.report.sections.problems import failures, unplaced
from ecotone.experiments.report.sections.promises import promises
from ecotone.experiments.report.sections.talk import talk
from ecotone.experiments.report.sections.utilisation import utilisation
from ecotone.experiments.report.sections.where import mentioned_nodes, users_lane, where_pods_were
from ecotone.experiments.report.timeline import happenings, length, phases
from ecotone.sim.scenario import Scenario

_NOTHING: Mapping[str, Any] = MappingProxyType({})
_LONG = 1_000_000


def write_report(
    result: Mapping[str, Any], scenario: Scenario | None, directory: Path, *, extra: Mapping[str, Any] = _NOTHING
) -> Path:
    """Write `index.html` into the directory (made if missing) and return its path.

    `result` is what `simulate -o json` gives. `extra` may hold `title`, `notes` (sentences for the foot of the page), `command`
    (how the figures were made, if not by `simulate`) or else `source`, `arguments` and `text` (the scenario and the policies as
    they were given, and the text of the file), `users`, a sweep: [{"users": 50, "summary": [as in the result]}, ...], or
    `sweep`, over other values: [{"set": {path: value}, "name": text, "summary": ...}, ...], and `data`, if the page shall hold
    more than the result.
    """
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / "index.html"
    path.write_text(page(result, scenario, extra), encoding="utf-8", newline="\n")
    return path


def page(result: Mapping[str, Any], scenario: Scenario | None, extra: Mapping[str, Any] = _NOTHING) -> str:
    name = str(result.get("scenario") or (scenario.name if scenario is not None else "simulation"))
    title = str(extra.get("title") or name)
    return document(title, _content(result, scenario, extra, title), extra.get("data") or result)


def document(title: str, content: object, data: Mapping[str, Any]) -> str:
    """A whole page: the content with style and script, and the data it may be asked for."""
    body = element(
        "body",
        element("a", "Skip to the figures", href="#figures", class_="skip"),
        content,
        element("div", id="tooltip", aria_hidden="true", hidden=True),
        data_of(data),
        element("script", Markup(_resource("page.js"))),
    )
    return f"<!doctype html>\n{element('html', _head(title), body, lang='en')}\n"


def _content(
    result: Mapping[str, Any], scenario: Scenario | None, extra: Mapping[str, Any], title: str
) -> list[Markup | None]:
    sweep: Sequence[Mapping[str, Any]] = extra.get("users") or ()
    source = (
        result
        if result.get("summary") or result.get("runs") or not sweep
        else {**result, "summary": sweep[-1].get("summary")}
    )
    policies = read_policies(source)
    nodes = [node.name for node in scenario.nodes] if scenario is not None else []
    colours = palette.node_classes(scenario.nodes if scenario is not None else (), also=mentioned_nodes(policies))
    services = [service.name for service in scenario.application.services] if scenario is not None else []
    end = length(scenario, policies)
    load = phases(scenario, policies, end)
    events = happenings(scenario)
    users = users_lane(scenario)
    sections = [
        unplaced(policies),
        comparison(policies),
        promises(policies, scenario),
        over_users(sweep, policies),
        over_values(extra.get("sweep") or (), policies),
        where_pods_were(policies, end=end, services=services, colours=colours, users=users),
        over_time(policies, end=end, phases=load, happenings=events),
        failures(policies, end=end),
        _pair(by_phase(policies, load), distribution(policies)),
        _pair(breakdown(policies), breakdown_of_p95(policies)),
        _pair(cluster(scenario, colours), utilisation(policies, nodes)),
        talk(policies, scenario, end=end),
        calls(scenario),
        decisions(policies),
    ]
    description = scenario.description if scenario is not None else None
    return [
        _header(
            title,
            description,
            policies,
            because(policies, [each.start for each in load] + [each.at for each in events]),
        ),
        element("main", sections, id="figures"),
        footer(result, scenario, policies, extra),
    ]


def _pair(*halves: Markup | None) -> Markup | None:
    """Beside each other where there is room; one alone takes it all."""
    there = [half for half in halves if half is not None]
    return element("div", there, class_="pair") if there else None


def _head(title: str) -> Markup:
    """The policy forbids the page to load anything, and any script but its own."""
    script = b64encode(sha256(_resource("page.js").encode()).digest()).decode()
    allowed = (
        f"default-src 'none'; style-src 'unsafe-inline'; img-src data:; script-src 'sha256-{script}'; base-uri 'none'"
    )
    return element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=allowed),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("title", f"{title} – ecotone"),
        element("style", Markup(_resource("page.css") + palette.style())),
    )


def _header(title: str, description: str | None, policies: Sequence[Policy], why: str | None) -> Markup:
    return element(
        "header",
        element("p", element("span", "ecotone", class_="mark"), " simulation report", class_="over"),
        element("h1", title),
        element("p", description, class_="description") if description else None,
        element("p", headline(policies), class_="headline"),
        element("p", why, class_="because") if why else None,
        _tiles(policies),
    )


def _tiles(policies: Sequence[Policy]) -> Markup | None:
    leaders = best(policies)
    if not leaders:
        return None
    first, baseline, names = leaders[0], policies[0], ", ".join(each.name for each in leaders)
    tiles = [("95th percentile", ms(first.p95), names)]
    if baseline not in leaders and first.gain is not None:
        tiles.append(("against the baseline", percent(first.gain, signed=True), f"{baseline.name}: {ms(baseline.p95)}"))
    tiles.append(("failed requests", small_share(first.failed_share), names))
    if first.evictions is not None:
        tiles.append(("moves per trial", count(first.evictions), names))
    requests = sum(policy.requests or 0.0 for policy in policies)
    if requests:
        runs = sum(len(policy.runs) for policy in policies)
        tiles.append(("requests simulated", count(requests), f"in {runs} run{'s' if runs != 1 else ''}"))
    drawn = [
        element("div", element("dt", what), element("dd", figure), element("dd", whose, class_="whose"), class_="tile")
        for what, figure, whose in tiles
    ]
    return element("dl", drawn, class_="tiles")


def data_of(result: Mapping[str, Any]) -> Markup:
    """The result as JSON inside the page, where nothing in it ends an element or begins one; packed where it is long."""
    text = json.dumps(result, sort_keys=True, separators=(",", ":"), default=str)
    if len(text) > _LONG:
        packed = b64encode(compress(text.encode(errors="backslashreplace"), 9)).decode()
        return element("script", Markup(packed), type="application/octet-stream", id="data", data_packed="deflate")
    safe = text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")
    return element("script", Markup(safe), type="application/json", id="data")


def _resource(name: str) -> str:
    return (resources.files("ecotone.experiments.report") / name).read_text(encoding="utf-8")
