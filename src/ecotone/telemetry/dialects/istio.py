"""Istio's standard metrics, in sidecar and in ambient meshes.

The destination's proxy sees what arrived, so `reporter="destination"` counts; in an ambient mesh that is the waypoint for
HTTP. The source's report fills in only for pairs whose destination reports nothing (a callee without a proxy). HTTP and
TCP bytes of a pair are added, since a pair may speak both, with one exception: ztunnel carries HTTP inside the TCP
connections that it reports, so its bytes count only for a pair that has no HTTP bytes.

Users are what an input proxy itself reports as source: its own pod tells the node they entered at.
"""

from __future__ import annotations

from collections.abc import Sequence

from ecotone.telemetry.dialects.base import Answered, Directory, Pair, Pairs, Rates, Ref, collected, summed, users_at
from ecotone.telemetry.families import Family, Figure, Reading
from ecotone.telemetry.promql import quoted

HTTP = {"request_bytes": "istio_request_bytes_sum", "response_bytes": "istio_response_bytes_sum"}
TCP = {"tcp_sent": "istio_tcp_sent_bytes_total", "tcp_received": "istio_tcp_received_bytes_total"}
REQUESTS = {"requests": "istio_requests_total"}

_ENDS = ("source_workload", "source_workload_namespace", "destination_workload", "destination_workload_namespace")
_BY = (*_ENDS, "reporter")
_USERS_BY = ("namespace", "pod", *_ENDS)
_NAMED = 'source_workload!="unknown",destination_workload!="unknown"'
_ZTUNNEL = 'pod=~"ztunnel-.*"'
_NOT_ZTUNNEL = 'pod!~"ztunnel-.*"'
_REPORTERS = ("destination", "waypoint", "source")


class Istio:
    name = "istio"

    def presence(self, namespace: str) -> str:
        space = quoted(namespace)
        both = "istio_requests_total|istio_tcp_sent_bytes_total"
        return (
            f'count({{__name__=~"{both}",destination_workload_namespace={space}}} '
            f'or {{__name__=~"{both}",source_workload_namespace={space}}})'
        )

    def families(self, namespace: str, directory: Directory) -> dict[str, Family]:
        space = quoted(namespace)
        ends = (f"destination_workload_namespace={space},{_NAMED}", f"source_workload_namespace={space},{_NAMED}")
        found = {name: Family(metric, _BY, ends) for name, metric in (HTTP | REQUESTS).items()}
        for name, metric in TCP.items():
            found[name] = Family(metric, _BY, tuple(f"{each},{_NOT_ZTUNNEL}" for each in ends))
            found["ztunnel_" + name] = Family(metric, _BY, tuple(f"{each},{_ZTUNNEL}" for each in ends))
        entrances = tuple(
            f'reporter="source",source_workload={quoted(proxy.name)},'
            f"source_workload_namespace={quoted(proxy.namespace)},destination_workload_namespace={space}"
            for proxy in directory.input_proxies()
        )
        if entrances:
            for name, metric in (HTTP | TCP | REQUESTS).items():
                found["users_" + name] = Family(metric, _USERS_BY, entrances)
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
    labels = reading.labels
    source = Ref(labels.get("source_workload_namespace", ""), labels.get("source_workload", ""))
    target = Ref(labels.get("destination_workload_namespace", ""), labels.get("destination_workload", ""))
    # What an input proxy sends is counted where its users enter.
    if directory.lets_users_in(source) or not directory.exists(source) or not directory.exists(target):
        return None
    return source, target


def _entrance(reading: Reading, directory: Directory) -> Pair | None:
    labels = reading.labels
    place = directory.pod(labels.get("namespace", ""), labels.get("pod", ""))
    target = Ref(labels.get("destination_workload_namespace", ""), labels.get("destination_workload", ""))
    if place is None or not place.node or not directory.lets_users_in(place.workload) or not directory.exists(target):
        return None
    return users_at(place.node), target
