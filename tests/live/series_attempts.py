"""What a tenant may try with series: what his pod exposes, and what his PodMonitor makes of it.

Each attempt draws its details from the random numbers it is given and says what it did.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from live.honest import ends, round_trip
from live.scraped_cluster import NODES, Pod, ScrapedCluster

Attempt = Callable[[ScrapedCluster, Random], str]
ATTEMPTS: dict[str, Attempt] = {}
OTHERS = (("shop", "web"), ("shop", "db"), ("bank", "ledger"))
MANY = 90_000
POD_MONITORS = frozenset({"relabels_its_series_to_a_probes", "honors_its_own_labels", "sends_its_scrapes_elsewhere"})
"""Kinds that set the tenant's PodMonitor."""
WRONG = (float("nan"), float("inf"), -float("inf"), -1e9, 1e300)


def attempt(made: Attempt) -> Attempt:
    ATTEMPTS[made.__name__] = made
    return made


def _mallory(world: ScrapedCluster) -> Pod:
    return world.one("evil/mallory")


def _two_nodes(draw: Random) -> tuple[str, str]:
    one, two = draw.sample(NODES, 2)
    return one, two


@attempt
def invents_round_trips(world: ScrapedCluster, draw: Random) -> str:
    origin, target = _two_nodes(draw)
    round_trip(_mallory(world).exporter, origin, target, milliseconds=draw.choice((0.01, 355.0, 9000.0)))
    return f"round trips from {origin} to {target}"


@attempt
def invents_calls_between_others(world: ScrapedCluster, draw: Random) -> str:
    source, target = draw.sample(OTHERS, 2)
    reporter = draw.choice(("destination", "source", "waypoint"))
    said = ends(source, target, reporter=reporter, principal=draw.choice((source[0], target[0], "evil")))
    exporter = _mallory(world).exporter
    exporter.counter("istio_requests_total", 5000.0, **said)
    exporter.counter(draw.choice(("istio_request_bytes_sum", "istio_tcp_sent_bytes_total")), 1e7, **said)
    return f"calls {said}"


@attempt
def invents_calls_of_its_own_to_others(world: ScrapedCluster, draw: Random) -> str:
    both = (("evil", "mallory"), draw.choice(OTHERS))
    source, target = both if draw.random() < 0.5 else both[::-1]
    said = ends(source, target, reporter=draw.choice(("destination", "source")), principal=source[0])
    _mallory(world).exporter.counter("istio_requests_total", 5000.0, **said)
    return f"own calls {said}"


@attempt
def invents_an_envoys_clusters(world: ScrapedCluster, draw: Random) -> str:
    space, name = draw.choice(OTHERS)
    more = {"workload": draw.choice(OTHERS)[1]} if draw.random() < 0.5 else {}
    exporter = _mallory(world).exporter
    for metric in ("rq_total", "cx_tx_bytes_total"):
        exporter.counter(f"envoy_cluster_upstream_{metric}", 5000.0, envoy_cluster_name=f"{space}/{name}", **more)
    return f"clusters {space}/{name} {more}"


@attempt
def invents_a_service_graph(world: ScrapedCluster, draw: Random) -> str:
    client, server = draw.sample(OTHERS, 2)
    spaces = {"client_k8s_namespace_name": client[0], "server_k8s_namespace_name": server[0]}
    more = spaces if draw.random() < 0.5 else {}
    exporter = _mallory(world).exporter
    exporter.counter("traces_service_graph_request_total", 5000.0, client=client[1], server=server[1], **more)
    return f"service graph {client} {server}"


@attempt
def poses_as_a_node(world: ScrapedCluster, draw: Random) -> str:
    name = draw.choice(NODES)
    label = draw.choice(("node", "nodename"))
    exporter = _mallory(world).exporter
    exporter.counter("node_cpu_seconds_total", 0.01, mode="idle", cpu="0", **{label: name})
    exporter.gauge("node_memory_MemAvailable_bytes", 1.0, **{label: name})
    return f"{label}={name}"


@attempt
def poses_as_a_kubelet(world: ScrapedCluster, draw: Random) -> str:
    victim = world.one("/".join(draw.choice(OTHERS)))
    labels = {"namespace": victim.namespace, "pod": victim.name, "container": draw.choice(("main", "more"))}
    exporter = _mallory(world).exporter
    exporter.counter("container_cpu_usage_seconds_total", 7.0, **labels)
    exporter.gauge("container_memory_working_set_bytes", 1e12, **labels)
    return f"containers of {labels}"


@attempt
def exposes_what_is_no_number(world: ScrapedCluster, draw: Random) -> str:
    wrong = draw.choice(WRONG)
    origin, target = _two_nodes(draw)
    exporter = _mallory(world).exporter
    exporter.gauge("node_memory_MemAvailable_bytes", wrong, node=origin)
    exporter.gauge("node_cpu_seconds_total", wrong, mode="idle", cpu="0", node=origin)
    for name in ("sum", "count"):
        exporter.gauge(f"ecotone_probe_rtt_seconds_{name}", wrong, origin=origin, target=target)
    said = ends(("shop", "web"), ("shop", "db"), reporter="destination", principal="shop")
    exporter.gauge("istio_requests_total", wrong, **said)
    return f"{wrong}"


@attempt
def exposes_very_many_series(world: ScrapedCluster, draw: Random) -> str:
    count = MANY if draw.random() < 0.2 else MANY // 30
    source, target = draw.sample(OTHERS, 2)
    said = ends(source, target, reporter="destination", principal=source[0])
    _mallory(world).exporter.many("istio_requests_total", count, **said)
    return f"{count} series"


@attempt
def asks_for_everything(world: ScrapedCluster, draw: Random) -> str:
    """An AppGroup's own queries, heavy or about others."""
    everything = '{__name__=~".+"}'
    queries = {
        "cpu": draw.choice((f"count by (namespace, pod) ({everything})", "container_cpu_usage_seconds_total * 0 + 7")),
        "requests": draw.choice(
            (
                f"{everything} * on () group_left () count({everything})",
                'label_replace(label_replace(vector(5000), "source", "web", "", ""), "destination", "db", "", "")',
                'label_replace(vector(5000), "source_namespace", "shop", "", "")',
            )
        ),
    }
    group = world.app_group("evil", name="greedy", window=draw.choice(("1s", "6s", "1h")), queries=queries)
    world.replace(f"/apis/ecotone.dev/v1alpha1/namespaces/evil/appgroups/{group['metadata']['name']}", group)
    return f"AppGroup with {queries}"


@attempt
def relabels_its_series_to_a_probes(world: ScrapedCluster, draw: Random) -> str:
    origin, target = _two_nodes(draw)
    round_trip(_mallory(world).exporter, origin, target, milliseconds=355.0)
    labels = world.one("kube-system/ecotone-probe", origin).labels
    rules = [{"target_label": name, "replacement": value} for name, value in labels.items()]
    where = draw.choice(("metric_relabel_configs", "relabel_configs"))
    world.monitors["podMonitor/evil/all/0"] = world.pod_monitor("evil", **{where: rules})
    world.reload()
    return f"{where} to {labels}"


@attempt
def honors_its_own_labels(world: ScrapedCluster, draw: Random) -> str:
    origin, target = _two_nodes(draw)
    labels = world.one("kube-system/ecotone-probe", origin).labels
    exporter = _mallory(world).exporter
    for name, rate in (("sum", 3.55), ("count", 10.0)):
        exporter.counter(f"ecotone_probe_rtt_seconds_{name}", rate, **labels, origin=origin, target=target)
    world.monitors["podMonitor/evil/all/0"] = world.pod_monitor("evil", honor_labels=True)
    world.reload()
    return f"honorLabels with {labels}"


@attempt
def sends_its_scrapes_elsewhere(world: ScrapedCluster, draw: Random) -> str:
    """Another namespace's pod is discovered, and the tenant's own is scraped."""
    origin, target = _two_nodes(draw)
    mallory = _mallory(world)
    round_trip(mallory.exporter, origin, target, milliseconds=355.0)
    away = [{"target_label": "__address__", "replacement": mallory.exporter.target}]
    if draw.random() < 0.5:
        away.append(
            {"target_label": "instance", "replacement": world.one("kube-system/ecotone-probe", origin).exporter.target}
        )
    world.monitors["podMonitor/evil/away/0"] = world.pod_monitor(
        "evil", discovers=["kube-system"], relabel_configs=away, job=draw.choice(("evil/away", "kube-system/all"))
    )
    world.reload()
    return f"scrapes of probes go to {mallory.exporter.target}"
