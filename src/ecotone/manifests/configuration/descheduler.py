"""The `descheduler` of a profile as YAML, read with positions and written back.

    descheduler:
      rule: best-gain                 # every setting starts from what the rule comes with
      minGain: 1                      # in the unit of the profile's objective
      minRelativeGain: 0.1
      coolDownSeconds: 60
      singleReplicas: surge           # never, surge or evict
      windows: [Mon-Fri 22:00-06:00]  # UTC

`descheduler: null` leaves running pods where they are.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from ecotone.manifests.configuration.arguments import read_arguments
from ecotone.manifests.configuration.expecting import choice, expect, flag, number, only, whole_number, words
from ecotone.manifests.configuration.uses import known_plugin, read_uses, uses_document
from ecotone.manifests.yaml.positions import Node
from ecotone.model.errors import InputError
from ecotone.scheduling.profiles import registry
from ecotone.scheduling.profiles.descheduler import SINGLE_REPLICAS, DeschedulerSettings
from ecotone.scheduling.profiles.use import Use
from ecotone.scheduling.profiles.windows import parse_window


def _single_replicas(node: Node, what: str) -> str:
    return choice(node, SINGLE_REPLICAS, what)


def _most(node: Node, what: str) -> int | None:
    return None if node.is_null else whole_number(node, what)


def _names(node: Node, what: str) -> frozenset[str] | None:
    return None if node.is_null else frozenset(words(node, what))


def _windows(node: Node, what: str) -> tuple[str, ...]:
    given = words(node, what)
    for each, text in zip(node.elements(), given, strict=True):
        try:
            parse_window(text)
        except InputError as error:
            raise each.error(error.message, hint=error.hint) from None
    return given


def _queue_sort(node: Node, what: str) -> str | None:
    if node.is_null:
        return None
    name = choice(node, registry.plugin_names(), what)
    known_plugin(node, at="queueSort")
    return name


# key in files -> (field, how it is read, what it means), in the order in which they are written
KEYS: dict[str, tuple[str, Callable[[Node, str], Any], str]] = {
    "minGain": ("min_gain", number, "Least gain of a move, in the unit of the profile's objective."),
    "minRelativeGain": (
        "min_relative_gain",
        number,
        "Least gain of a move, as a share of what the pod costs where it is.",
    ),
    "lastReplicaGain": ("last_replica_gain", number, "The same for a workload's only ready pod."),
    "singleReplicas": (
        "single_replicas",
        _single_replicas,
        "What is done about that pod: `never` moved, `surge` (its replacement first), or `evict`.",
    ),
    "coolDownSeconds": ("cool_down", number, "How long a workload rests after a move."),
    "noReturnSeconds": ("no_return", number, "How long it does not go back to the node it left."),
    "minPodAgeSeconds": ("min_pod_age", number, "Younger pods are left alone."),
    "maxMovesPerRun": ("max_moves", _most, "At most so many moves in a run; null: no limit."),
    "maxGroup": ("max_group", whole_number, "At most so many pods move together; 0: each for itself."),
    "groupGain": ("group_gain", number, "What the application must gain by that, as a share."),
    "reserveSeconds": ("reserve_for", number, "How long the target's capacity is kept for the replacement."),
    "budget": (
        "budget",
        whole_number,
        "How much a round looks at for an application: placements x workloads x nodes; then the best so far is taken.",
    ),
    "rescueAfterSeconds": (
        "rescue_after",
        lambda node, what: None if node.is_null else number(node, what),
        "How long a node may not be ready until its pods without volumes are replaced, such as 60; null: Kubernetes' 300.",
    ),
    "windows": ("windows", _windows, "When moves are allowed (UTC); empty: always."),
    "localStorage": ("local_storage", flag, "Pods with local storage may be moved."),
    "volumeClaims": ("volume_claims", flag, "Pods with volume claims may be moved."),
    "resourceClaims": ("resource_claims", flag, "Pods with resource claims may be moved."),
    "schedulerNames": ("scheduler_names", _names, "Whose pods are moved; null: everybody's."),
    "score": (
        "score",
        lambda node, _: read_uses(node, at="score"),
        "What running pods are judged by, if not by what places them.",
    ),
    "queueSort": ("queue_sort", _queue_sort, "The order in which they are looked at, if not that of the queue."),
}


def read_descheduler(node: Node, base: DeschedulerSettings | None) -> DeschedulerSettings | None:
    """What a profile says, on top of the settings it starts from; another rule starts from its own."""
    if node.is_null:
        return None
    expect(node, "mapping", "descheduler")
    only(node, ("rule", *KEYS, "args"))
    rule = node.get("rule")
    if rule is not None:
        name = choice(rule, registry.rule_names(), "rule of descheduling")
        settings = base if base is not None and base.rule == name else registry.settings_of_rule(name)
    elif base is not None:
        settings = base
    else:
        hint = ", ".join(registry.rule_names())
        raise node.error("descheduler must name its rule, the profile starts from none", hint=f"one of {hint}")
    given = {field: read(found, key) for key, (field, read, _) in KEYS.items() if (found := node.get(key)) is not None}
    args = node.get("args")
    if args is not None and not args.is_null:
        given["args"] = {**settings.args, **read_arguments(args, registry.find_rule(settings.rule))}
    return replace(settings, **given)


def descheduler_document(settings: DeschedulerSettings) -> dict[str, Any]:
    """Every setting, so that nothing of a printed profile depends on a default."""
    shown = {key: _plain(getattr(settings, field)) for key, (field, _, _) in KEYS.items()}
    return {"rule": settings.rule, **shown, **({"args": dict(settings.args)} if settings.args else {})}


def _plain(value: Any) -> Any:
    if isinstance(value, frozenset):
        return sorted(value)
    if isinstance(value, tuple):
        return uses_document(value) if value and isinstance(value[0], Use) else list(value)
    return int(value) if isinstance(value, float) and value.is_integer() else value
