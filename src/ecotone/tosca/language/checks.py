"""What Kubernetes asks of names, labels and quantities, checked where the template's author can see it.

Compiling something the API server then refuses would only move the error to a place without line numbers.
"""

from __future__ import annotations

import re
from typing import Any

from ecotone.manifests.yaml.positions import Node
from ecotone.model import quantity
from ecotone.model.errors import InputError
from ecotone.tosca.language.functions import Properties
from ecotone.tosca.language.problems import Problems

RESERVED_LABELS = ("app", "app-group", "ecotone.dev/index", "ecotone.dev/role")
_LONGEST_LABEL = 63
_LONGEST_NAME = 253
_DNS_LABEL = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")
_DNS_NAME = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_LABEL = re.compile(r"([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?")
_HOST = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.:]*[A-Za-z0-9])?")
_ENV = re.compile(r"[^=\x00]+")


def is_dns_label(text: str) -> bool:
    """Usable as the name of a Kubernetes Service: at most 63 of `a-z0-9-`, a letter first."""
    return len(text) <= _LONGEST_LABEL and _DNS_LABEL.fullmatch(text) is not None


def is_label_key(text: str) -> bool:
    prefix, slash, name = text.rpartition("/")
    if slash and not (len(prefix) <= _LONGEST_NAME and _DNS_NAME.fullmatch(prefix)):
        return False
    return bool(name) and is_label_value(name)


def is_label_value(text: str) -> bool:
    return len(text) <= _LONGEST_LABEL and _LABEL.fullmatch(text) is not None


def label_value_from(text: str) -> str:
    """The nearest usable name to any text."""
    cleaned = re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")
    if not cleaned or not cleaned[0].isalpha():
        cleaned = f"app-{cleaned}".strip("-")
    return cleaned[:_LONGEST_LABEL].strip("-")


class Checks:
    """Reports what Kubernetes would refuse."""

    def __init__(self, problems: Problems) -> None:
        self._problems = problems

    def name(self, name: str, at: Node) -> None:
        if not is_dns_label(name):
            self._problems.report(
                at,
                f"`{name}` cannot name a Kubernetes Service: at most 63 of a-z, 0-9 and -, a letter first",
                hint=f"for example `{label_value_from(name)}`",
            )

    def labels(self, properties: Properties, name: str, *, reserved: bool = False) -> None:
        for key, value, key_at, value_at in _pairs(properties, name):
            if not is_label_key(key):
                self._problems.report(key_at, f"`{key}` is no valid label key")
            elif reserved and key in RESERVED_LABELS:
                self._problems.report(key_at, f"the label `{key}` is set by the compiler", hint="remove it")
            if not is_label_value(value):
                self._problems.report(value_at, f"`{value}` is no valid label value")

    def annotations(self, properties: Properties, name: str) -> None:
        for key, _, key_at, _ in _pairs(properties, name):
            if not is_label_key(key.lower()):
                self._problems.report(key_at, f"`{key}` is no valid annotation key")

    def workload(self, properties: Properties) -> None:
        """Quantities, and that no request exceeds its limit."""
        amounts = {name: self._quantity(properties, name) for name in ("cpu", "memory", "cpuLimit", "memoryLimit")}
        for request, limit in (("cpu", "cpuLimit"), ("memory", "memoryLimit")):
            low, high = amounts[request], amounts[limit]
            if low is not None and high is not None and low > high:
                self._problems.report(
                    properties.place(limit),
                    f"{limit} `{properties.get(limit)}` is less than {request} `{properties.get(request)}`",
                )
        scheduler = properties.get("schedulerName")
        if scheduler is not None and not (len(scheduler) <= _LONGEST_NAME and _DNS_NAME.fullmatch(scheduler)):
            self._problems.report(properties.place("schedulerName"), f"`{scheduler}` is no valid scheduler name")
        self._image(properties)

    def _image(self, properties: Properties) -> None:
        image = properties.get("image")
        if image is not None and image != "".join(image.split()):
            self._problems.report(properties.place("image"), f"the image `{image}` contains white space")

    def _quantity(self, properties: Properties, name: str) -> Any:
        text = properties.get(name)
        if text is None:
            return None
        try:
            amount = quantity.parse(text)
        except InputError:
            message = f"{name} is `{text}`, which is no Kubernetes quantity"
            self._problems.report(properties.place(name), message, hint="for example 100m, 0.5 or 2Gi")
            return None
        if amount < 0:
            self._problems.report(properties.place(name), f"{name} cannot be negative")
            return None
        return amount

    def deployment(self, properties: Properties) -> None:
        self.labels(properties, "nodeSelector")
        for key, _, at, _ in _pairs(properties, "env"):
            if not _ENV.fullmatch(key):
                self._problems.report(at, f"`{key}` is no valid name of an environment variable")
        scaling = properties.get("autoscale")
        if scaling is not None and scaling["min"] > scaling["max"]:
            self._problems.report(
                properties.place("autoscale"), f"autoscale: min {scaling['min']} exceeds max {scaling['max']}"
            )
        if scaling is not None and not properties.has("cpu"):
            self._problems.report(
                properties.place("autoscale"), "autoscale needs a CPU request to measure against", hint="add `cpu`"
            )
        disruption = properties.get("disruption")
        if disruption is not None and len(disruption) != 1:
            self._problems.report(
                properties.place("disruption"), "disruption takes exactly one of minAvailable and maxUnavailable"
            )

    def host(self, properties: Properties, name: str) -> None:
        host = properties.get(name)
        if host is not None and not (len(host) <= _LONGEST_NAME and _HOST.fullmatch(host)):
            self._problems.report(properties.place(name), f"`{host}` is no host name or address")


def _pairs(properties: Properties, name: str) -> list[tuple[str, str, Node, Node]]:
    """A map property with the places of its keys and values."""
    value = properties.get(name) or {}
    place = properties.place(name)
    return [(key, text, place.key(key) or place, place.get(key) or place) for key, text in value.items()]
