"""From an observed application: traffic annotations of a running AppGroup.

The monitor writes to every workload how many bytes per second it exchanges with each peer, both directions together.
That tells who talks and how much, not who calls whom: channels are directed away from where users enter, by distance
over the traffic graph. Priorities are the traffic's share of the busiest channel, 1 to 100, so that a template drafted
from observation places like the observation until somebody who knows better edits it.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable

from ecotone.manifests.keys import TRAFFIC
from ecotone.manifests.yaml.positions import Node
from ecotone.model.errors import InputError
from ecotone.tosca.importers.draft import Draft, DraftChannel
from ecotone.tosca.importers.guess import route_type
from ecotone.tosca.importers.kubernetes import import_manifests, service_name
from ecotone.tosca.importers.objects import WORKLOADS, at, json_mapping, kind, name, objects, strings

_OTHER_DIALECTS = ("traffic-", "traffic.")
_USERS = "users@"


def import_observed(texts: Iterable[tuple[str, str | bytes]], *, app_group: str | None = None) -> Draft:
    """A draft whose channels and priorities come from measured traffic."""
    sources = list(texts)
    draft = import_manifests(sources, app_group=app_group)
    static = {(channel.source, channel.target): channel.type for channel in draft.channels}
    draft.channels.clear()
    traffic, entries = _measured(objects(sources), draft)
    if not traffic:
        raise InputError(
            "no workload carries traffic annotations", file=sources[0][0] if sources else None,
            hint=f"the monitor writes `{TRAFFIC}`; import without it with `tosca import kubernetes`",
        )  # fmt: skip
    depth = _depths(list(draft.services), traffic, entries)
    busiest = max(traffic.values())
    position = {service: i for i, service in enumerate(draft.services)}
    for (first, second), amount in sorted(traffic.items(), key=lambda item: [position[end] for end in item[0]]):
        source, target = _directed(first, second, depth, static)
        kind_of = static.get((source, target)) or route_type(
            scheme=None, port=draft.services[target].endpoint.get("port")
        )
        priority = max(1, round(100 * amount / busiest))
        draft.connect(DraftChannel(source, target, kind_of, priority, why=f"observed {amount:.6g} bytes/s"))
    for service in draft.services.values():
        service.annotations = {
            key: value
            for key, value in service.annotations.items()
            if key != TRAFFIC and not key.startswith(_OTHER_DIALECTS)
        }
    return draft


def _measured(found: list[Node], draft: Draft) -> tuple[dict[tuple[str, str], float], set[str]]:
    """Traffic per unordered pair (the larger of what both sides say), and who is reached by users."""
    traffic: dict[tuple[str, str], float] = {}
    entries: set[str] = set()
    names = {name(item): service_name(item) for item in found if kind(item) in WORKLOADS}
    for item in found:
        if kind(item) not in WORKLOADS or service_name(item) not in draft.services:
            continue
        own = service_name(item)
        for peer, amount in _peers(item).items():
            if peer.startswith(_USERS):
                entries.add(own)
            other = names.get(peer.rpartition("/")[2], "")
            if other in draft.services and other != own:
                pair = (min(own, other), max(own, other))
                traffic[pair] = max(traffic.get(pair, 0.0), amount)
    return traffic, entries


def _peers(item: Node) -> dict[str, float]:
    annotations = strings(at(item, "metadata", "annotations"))
    values: dict[str, object] = {}
    for key, written in annotations.items():
        for prefix in _OTHER_DIALECTS:
            if key.startswith(prefix):
                values[key.removeprefix(prefix)] = written
    values |= json_mapping(annotations.get(TRAFFIC))
    peers = {}
    for peer, value in values.items():
        try:
            amount = float(str(value))
        except ValueError:
            continue
        if math.isfinite(amount) and amount > 0:
            peers[peer] = amount
    return peers


def _depths(names: list[str], traffic: dict[tuple[str, str], float], entries: set[str]) -> dict[str, int]:
    """Distance from where users enter; without users, from the first service of each connected part."""
    neighbours: dict[str, list[str]] = {service: [] for service in names}
    for first, second in traffic:
        neighbours[first].append(second)
        neighbours[second].append(first)
    depth: dict[str, int] = {}
    for starts in (sorted(entries), *([service] for service in names)):
        fresh = [service for service in starts if service not in depth]
        depth |= dict.fromkeys(fresh, 0)
        queue = deque(fresh)
        while queue:
            current = queue.popleft()
            for other in neighbours[current]:
                if other not in depth:
                    depth[other] = depth[current] + 1
                    queue.append(other)
    return depth


def _directed(first: str, second: str, depth: dict[str, int], static: dict[tuple[str, str], str]) -> tuple[str, str]:
    """Known channels keep their direction; others lead away from the users."""
    if (first, second) in static:
        return first, second
    if (second, first) in static:
        return second, first
    return (first, second) if depth[first] <= depth[second] else (second, first)
