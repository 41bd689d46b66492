"""Istio's standard metrics, in sidecar and in ambient meshes.

The destination's proxy sees what arrived, so `reporter="destination"` counts; in an ambient mesh that is the waypoint for
HTTP. The source's report fills in only for pairs whose destination reports nothing (a callee without a proxy). HTTP and
TCP bytes of a pair are added, since a pair may speak both, with one exception: ztunnel carries HTTP inside the TCP
connections that it reports, so its bytes count only for a pair that has no HTTP bytes.

Users are what an input proxy itself reports as source: its own pod tells the node they entered at.

The destination's report counts from its own pods, the source's from its own; waypoints and ztunnel speak for others where
the installation lists them. Whom a request comes from is the client's claim: it counts where the mesh vouches for it, that
is, where the certificate (`source_principal`) is of the namespace that is claimed.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from ecotone.telemetry.dialects.base import Answered, Directory, Pair, Pairs, Rates, collected, summed, users_at
from ecotone.telemetry.families import (
    MOST_PER_SECOND,
    SPEAKER_NAMESPACE,
    SPEAKER_NODE,
    SPEAKER_WORKLOAD,
    Family,
    Figure,
    Labels,
    Reading,
    believed,
)
from ecotone.telemetry.promql import quoted
from ecotone.telemetry.refs import Ref
from ecotone.telemetry.sources.speakers import Speaker, Voices

HTTP = {"request_bytes": "istio_request_bytes_sum", "response_bytes": "istio_response_bytes_sum"}
TCP = {"tcp_sent": "istio_tcp_sent_bytes_total", "tcp_received": "istio_tcp_received_bytes_total"}
REQUESTS = {"requests": "istio_requests_total"}

_ENDS = ("source_workload", "source_workload_namespace", "destination_workload", "destination_workload_namespace")
_BY = (*_ENDS, "reporter")
_USERS_BY = (SPEAKER_NAMESPACE, SPEAKER_WORKLOAD, SPEAKER_NODE, *_ENDS)
PRINCIPAL = "source_principal"
_PRINCIPALS_NAMESPACE = re.compile(r"(?:spiffe://)?[^/]+/ns/([^/]+)/sa/[^/]+")
_NAMED = 'source_workload!="unknown",destination_workload!="unknown"'
_ZTUNNEL = 'pod=~"ztunnel-.*"'
_NOT_ZTUNNEL = 'pod!~"ztunnel-.*"'
_REPORTERS = ("destination", "waypoint", "source")


class Istio:
    name = "istio"

    def presence(self, namespace: str, directory: Directory) -> Sequence[Family]:
        families = self.families(namespace, directory)
        return [
            families[name]
            for name in ("requests", "tcp_sent", "ztunnel_tcp_sent", "users_requests")
            if name in families
        ]

    def families(self, namespace: str, directory: Directory) -> dict[str, Family]:
        space = quoted(namespace)
        ends = (f"destination_workload_namespace={space},{_NAMED}", f"source_workload_namespace={space},{_NAMED}")
        voices = Voices(namespace=namespace, listed=True)

        def between(metric: str, selectors: tuple[str, ...], voices: Voices) -> Family:
            return Family(
                metric, _BY, selectors, asks=(PRINCIPAL,), voices=voices, admits=says_its_own, most=MOST_PER_SECOND
            )

        found = {name: between(metric, ends, voices) for name, metric in (HTTP | REQUESTS).items()}
        for name, metric in TCP.items():
            found[name] = between(metric, tuple(f"{each},{_NOT_ZTUNNEL}" for each in ends), voices)
            tunnels = tuple(f"{each},{_ZTUNNEL}" for each in ends)
            found["ztunnel_" + name] = between(metric, tunnels, Voices(listed=True))
        entrances = tuple(
            f'reporter="source",source_workload={quoted(proxy.name)},'
            f"source_workload_namespace={quoted(proxy.namespace)},destination_workload_namespace={space}"
            for proxy in directory.input_proxies()
        )
        if entrances:
            for name, metric in (HTTP | TCP | REQUESTS).items():
                found["users_" + name] = Family(
                    metric,
                    _USERS_BY,
                    entrances,
                    voices=voices,
                    admits=_is_the_source,
                    placed=True,
                    most=MOST_PER_SECOND,
                )
        return found

    def rates(self, answered: Answered, directory: Directory) -> Rates:
        def between(name: str) -> Pairs:
            return _between_workloads(answered.get(name, ()), directory)

        def users(name: str) -> Pairs:
            return collected((_entrance(each, directory), each) for each in answered.get("users_" + name, ()))

        http = summed(*(between(name) for name in HTTP))
        tcp = summed(*(between(name) for name in TCP))
        tunnel = summed(*(between("ztunnel_" + name) for name in TCP))
        tunnel = {pair: figure for pair, figure in tunnel.items() if pair not in http}
        return Rates(
            bytes=summed(http, tcp, tunnel, *(users(name) for name in (*HTTP, *TCP))),
            requests=summed(between("requests"), users("requests")),
        )


def _between_workloads(readings: Sequence[Reading], directory: Directory) -> Pairs:
    by_reporter: dict[str, Pairs] = {}
    for reporter in _REPORTERS:
        of_it = (each for each in readings if each.labels.get("reporter") == reporter)
        by_reporter[reporter] = collected((_pair(each, directory), each) for each in of_it)
    chosen: dict[Pair, Figure] = {}
    for reporter in _REPORTERS:
        for pair, figure in by_reporter[reporter].items():
            chosen.setdefault(pair, figure)
    return chosen


def _pair(reading: Reading, directory: Directory) -> Pair | None:
    source, target = _source(reading.labels), _target(reading.labels)
    # What an input proxy sends is counted where its users enter.
    if directory.lets_users_in(source) or not directory.exists(source) or not directory.exists(target):
        return None
    return source, target


def _entrance(reading: Reading, directory: Directory) -> Pair | None:
    labels = reading.labels
    node, proxy = labels.get(SPEAKER_NODE, ""), Ref(labels[SPEAKER_NAMESPACE], labels[SPEAKER_WORKLOAD])
    target = _target(labels)
    if not node or not directory.lets_users_in(proxy) or not directory.exists(target):
        return None
    return users_at(node), target


def says_its_own(labels: Labels, speaker: Speaker) -> bool:
    """Whether this speaker may tell this of a pair of workloads."""
    source, target, reporter = _source(labels), _target(labels), labels.get("reporter")
    principal = labels.get(PRINCIPAL, "")
    vouched = _PRINCIPALS_NAMESPACE.fullmatch(principal)
    if vouched is not None and vouched[1] != source.namespace:
        return False
    if believed(speaker):
        return reporter == "source" or source.namespace == target.namespace or vouched is not None
    if speaker.listed:
        return True
    if reporter == "source":
        return speaker.workload == source
    return reporter == "destination" and speaker.workload == target and vouched is not None


def _is_the_source(labels: Labels, speaker: Speaker) -> bool:
    return believed(speaker) or speaker.workload == _source(labels)


def _source(labels: Labels) -> Ref:
    return Ref(labels.get("source_workload_namespace", ""), labels.get("source_workload", ""))


def _target(labels: Labels) -> Ref:
    return Ref(labels.get("destination_workload_namespace", ""), labels.get("destination_workload", ""))
