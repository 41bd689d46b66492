"""What a Prometheus' configuration lets the targets of each scrape pool write into their series' labels.

Without `honor_labels` a target's own labels stand on each of its series, whatever it exposes. `honor_labels` gives them
up, and so may relabelling of metrics, whose rules tenants write in a PodMonitor. A rule that sets a label to a constant
makes it certain again (the operator's `enforcedNamespaceLabel` ends every list of rules with one).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
import yaml

from ecotone.manifests.yaml.positions import LOADER
from ecotone.telemetry.samples import MalformedError

PATH = "status/config"
CONFIGURATION_LIMIT = 64 << 20
_ANY = ("", "(.*)", ".*", "^(?:(.*))$", "^(?s:(.*))$")


@dataclass(frozen=True, slots=True)
class Fixed:
    """Labels that a target's series have for certain."""

    labels: Mapping[str, str]
    may_drop: bool = False
    """True if some of them may be missing; they never have another value."""


@dataclass(frozen=True, slots=True)
class Pool:
    """One entry of `scrape_configs`."""

    honors: bool = False
    proxied: bool = False
    """True if scrapes go through a proxy: whatever address is scraped, the proxy answers."""
    rules: tuple[tuple[str, str, str | None], ...] = ()
    """Of each rule for metrics: its action, the label it writes ("" for any), and the constant it writes."""

    def fixed(self, labels: Mapping[str, str]) -> Fixed:
        """What is certain about the labels of a series from a target with these labels."""
        known = {} if self.honors else dict(labels)
        may_drop = False
        for action, label, constant in self.rules:
            if action in ("labeldrop", "labelkeep"):
                may_drop = True
            elif not label:
                known = {}
            else:
                known.pop(label, None)
                if constant:
                    known[label] = constant
        return Fixed(known, may_drop)


@dataclass(frozen=True, slots=True)
class Scraping:
    pools: Mapping[str, Pool]
    other_ways_in: tuple[str, ...] = ()
    """How series come in that no target exposed."""


class _Data(msgspec.Struct):
    yaml: str


class _Answer(msgspec.Struct):
    data: _Data


_answers = msgspec.json.Decoder(_Answer)


def configuration_text(body: bytes) -> str:
    try:
        return _answers.decode(body).data.yaml
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise MalformedError(f"the configuration cannot be read: {error}") from None


def read_configuration(text: str) -> Scraping:
    """The scrape pools of a Prometheus' configuration."""
    try:
        document = yaml.load(text, LOADER)  # noqa: S506 - a loader that builds plain values alone
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        raise MalformedError(f"the configuration is no YAML: {type(error).__name__}") from None
    if not isinstance(document, dict):
        raise MalformedError("the configuration is no mapping")
    pools = {}
    for entry in _list(document.get("scrape_configs")):
        pools[str(entry.get("job_name", ""))] = Pool(
            honors=entry.get("honor_labels") is True,
            proxied=bool(entry.get("proxy_url")) or entry.get("proxy_from_environment") is True,
            rules=tuple(
                rule for given in _list(entry.get("metric_relabel_configs")) if (rule := _rule(given)) is not None
            ),
        )
    return Scraping(pools, ("remote_read",) if document.get("remote_read") else ())


def _rule(given: Mapping[str, Any]) -> tuple[str, str, str | None] | None:
    """None for a rule that only chooses series."""
    action = str(given.get("action", "replace")).lower()
    target = str(given.get("target_label", ""))
    if action in ("keep", "drop", "keepequal", "dropequal"):
        return None
    if action in ("labeldrop", "labelkeep"):
        return action, "", None
    if "$" in target or action not in ("replace", "hashmod", "lowercase", "uppercase"):
        return action, "", None
    replacement = str(given.get("replacement", "$1"))
    constant = action == "replace" and "$" not in replacement and str(given.get("regex", "")) in _ANY
    return action, target, replacement if constant else None


def _list(given: Any) -> Sequence[Mapping[str, Any]]:
    return [one for one in given if isinstance(one, dict)] if isinstance(given, list) else []
