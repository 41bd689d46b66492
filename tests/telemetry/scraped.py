"""A Prometheus in memory: what it scrapes, what relabelling makes of it, and its HTTP API's answers to our questions.

Scraping follows Prometheus' rules: a target's labels win over exposed ones, which become `exported_...`, unless the pool has
`honor_labels`; rules for metrics come last. Questions are read no further than who is asked about whom: each series has the
value that a test gave it, as its rate or average.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import yaml

from ecotone.telemetry.prometheus import Failure, Trouble
from ecotone.telemetry.samples import Sample

WITHIN = 8.0
"""Samples that a window holds."""
_SELECTOR = re.compile(r'([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{((?:[^}"]|"(?:[^"\\]|\\.)*")*)\})?(?=[\[) ]| offset|$)')
_MATCHER = re.compile(r'([a-zA-Z_]\w*)(=~|!~|!=|=)"((?:[^"\\]|\\.)*)"')


@dataclass
class Scrape:
    """A target: where it is, what was discovered, and what relabelling made its labels."""

    pool: str
    url: str
    labels: dict[str, str]
    discovered: dict[str, str] = field(default_factory=dict)


@dataclass
class Scraped:
    now: float = 1000.0
    pools: dict[str, dict[str, Any]] = field(default_factory=dict)
    targets: list[Scrape] = field(default_factory=list)
    series: list[tuple[dict[str, str], float]] = field(default_factory=list)
    recordings: list[dict[str, Any]] = field(default_factory=list)
    flags: dict[str, str] = field(default_factory=dict)
    missing: set[str] = field(default_factory=set)
    """Pages that it does not serve."""
    asked: list[str] = field(default_factory=list)

    def pod(self, namespace: str, pod: str, address: str, port: int = 9000, **changed: Any) -> Scrape:
        """A pod's target, as a PodMonitor of its own namespace makes it."""
        pool = changed.pop("pool", f"podMonitor/{namespace}/all")
        labels = {"job": f"{namespace}/all", "instance": f"{address}:{port}", "namespace": namespace, "pod": pod}
        target = Scrape(
            pool,
            changed.pop("url", f"http://{address}:{port}/metrics"),
            labels | changed.pop("labels", {}),
            {
                "__address__": f"{address}:{port}",
                "__meta_kubernetes_namespace": namespace,
                "__meta_kubernetes_pod_name": pod,
            },
        )
        self.pools.setdefault(pool, {}).update(changed)
        self.targets.append(target)
        return target

    def exposes(self, target: Scrape, name: str, value: float, /, **labels: str) -> None:
        pool = self.pools.get(target.pool, {})
        if pool.get("honor_labels"):
            final = {**target.labels, **labels}
        else:
            taken = {f"exported_{key}" if key in target.labels else key: value for key, value in labels.items()}
            final = {**taken, **target.labels}
        for rule in pool.get("metric_relabel_configs", ()):
            _relabel(rule, final)
        self.series.append(({"__name__": name, **final}, value))

    async def page(self, path: str, fields: Mapping[str, str]) -> bytes | Failure:
        del fields
        if path in self.missing:
            return Failure(Trouble.REFUSED, "status 404")
        configuration = {"scrape_configs": [{"job_name": name, **given} for name, given in self.pools.items()]}
        targets = [
            {"labels": one.labels, "discoveredLabels": one.discovered, "scrapePool": one.pool, "scrapeUrl": one.url}
            for one in self.targets
        ]
        pages: dict[str, Any] = {
            "targets": {"activeTargets": targets, "droppedTargets": []},
            "status/config": {"yaml": yaml.safe_dump(configuration)},
            "rules": {"groups": [{"name": "g", "rules": [{"type": "recording", **one} for one in self.recordings]}]},
            "status/flags": self.flags,
        }
        return json.dumps({"status": "success", "data": pages[path]}).encode()

    async def query(self, promql: str, *, at: float, asker: str = "") -> list[Sample] | Failure:
        del asker
        self.asked.append(promql)
        grouped = re.fullmatch(r"(sum|max|min|count) by \(([^)]*)\) \((.*)\)", promql, re.DOTALL)
        assert grouped is not None, promql
        aggregation, names, inside = grouped[1], grouped[2].split(","), grouped[3]
        kind, together = _kind(aggregation, inside, at)
        signed = ">= -" in inside
        groups: dict[tuple[tuple[str, str], ...], list[float]] = {}
        for labels, value in self._selected(inside):
            sound = math.isfinite(value) and (value >= 0 or signed)
            shown = kind(value, sound)
            if shown is not None:
                key = tuple((name, labels[name]) for name in names if labels.get(name))
                groups.setdefault(key, []).append(shown)
        return [Sample(dict(key), together(values), at) for key, values in groups.items()]

    def _selected(self, promql: str) -> list[tuple[dict[str, str], float]]:
        wanted = {
            (name, matchers)
            for name, matchers in _SELECTOR.findall(promql)
            if matchers or any(labels["__name__"] == name for labels, _ in self.series)
        }
        parsed = [
            (name, [(key, how, _text(text)) for key, how, text in _MATCHER.findall(given)]) for name, given in wanted
        ]
        return [
            (labels, value)
            for labels, value in self.series
            if any(
                name == labels["__name__"] and all(_matches(labels.get(key, ""), how, text) for key, how, text in given)
                for name, given in parsed
            )
        ]


Shown = Callable[[float, bool], float | None]


def _kind(aggregation: str, inside: str, at: float) -> tuple[Shown, Callable[[list[float]], float]]:
    if aggregation == "sum":
        return (lambda value, sound: value if sound else None), sum
    if aggregation == "count":
        left_out = "unless" in inside
        return (lambda _, sound: None if left_out and sound else 1.0), sum
    if aggregation == "max":
        return (lambda _value, _sound: WITHIN), max
    if "count_over_time" in inside:
        return (lambda _value, _sound: 1.0), min
    return (lambda _value, _sound: at - 1.0), min


def _matches(there: str, how: str, text: str) -> bool:
    if how in ("=", "!="):
        return (there == text) == (how == "=")
    return (re.fullmatch(text, there) is not None) == (how == "=~")


def _text(quoted: str) -> str:
    return str(json.loads(f'"{quoted}"'))


def _relabel(rule: Mapping[str, Any], labels: dict[str, str]) -> None:
    source = ";".join(labels.get(name, "") for name in rule.get("source_labels", ()))
    found = re.fullmatch(str(rule.get("regex", "(.*)")), source)
    match rule.get("action", "replace"):
        case "replace" if found is not None:
            text = re.sub(r"\$\{?(\d+)\}?", lambda each: found[int(each[1])], str(rule.get("replacement", "$1")))
            labels[rule["target_label"]] = text
        case "labeldrop":
            for name in [name for name in labels if re.fullmatch(rule["regex"], name)]:
                del labels[name]
