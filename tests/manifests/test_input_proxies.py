"""Traffic with input proxies under the thesis' key, `daff-<pod>`: users at the node of that pod, whatever comes first."""

from itertools import permutations

import pytest

from ecotone.manifests.store import ObjectStore
from ecotone.model.objects import WorkloadKey
from ecotone.model.state import ClusterState
from ecotone.scheduling.explanation import explain
from manifests.builders import node, owned, pod, thing, typed, wired

WEB = WorkloadKey("default", "web")
NEAR = [
    node("n1", annotations={"ecotone.dev/latencies": '{"n2": 40}'}),
    node("n2", annotations={"ecotone.dev/latencies": '{"n1": 40}'}),
]


def proxy(name, on=None):
    return pod(name, ownerReferences=owned("DaemonSet", "input-proxy"), spec={"nodeName": on} if on else {})


def web(**annotations):
    return thing("Deployment", "web", annotations=annotations)


def store(*things):
    found = ObjectStore(ClusterState())
    found.load(wired(*things))
    return found


def traffic(found):
    return found.sink.workloads[WEB].traffic


FRONT_END = web(**{"daff-input-proxy-a": "30", "daff-input-proxy-b": "5", "daff-orders": "7"})


@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_a_proxys_pod_stands_for_users_at_its_node_in_any_order(order):
    found = store(*NEAR)
    things = [("Deployment", FRONT_END), ("Pod", proxy("input-proxy-a", "n1")), ("Pod", proxy("input-proxy-b", "n2"))]
    for number in order:
        kind, given = things[number]
        found.put(kind, typed(given))
    assert traffic(found) == {"users@n1": 30.0, "users@n2": 5.0, "orders": 7.0}


def test_files_are_read_alike():
    found = store(FRONT_END, proxy("input-proxy-a", "n1"), proxy("input-proxy-b", "n2"), *NEAR)
    assert traffic(found) == {"users@n1": 30.0, "users@n2": 5.0, "orders": 7.0}


def test_a_proxy_without_a_node_is_nobody_yet_and_one_that_is_gone_nobody_any_more():
    found = store(FRONT_END, *NEAR)
    found.put("Pod", typed(proxy("input-proxy-a")))
    assert traffic(found) == {"input-proxy-a": 30.0, "input-proxy-b": 5.0, "orders": 7.0}
    found.put("Pod", typed(proxy("input-proxy-a", "n1")))
    assert traffic(found) == {"users@n1": 30.0, "input-proxy-b": 5.0, "orders": 7.0}
    found.drop("Pod", "default/input-proxy-a")
    assert traffic(found) == {"input-proxy-a": 30.0, "input-proxy-b": 5.0, "orders": 7.0}


def test_new_figures_replace_the_old_ones():
    found = store(FRONT_END, proxy("input-proxy-a", "n1"), *NEAR)
    found.put("Deployment", typed(web(**{"daff-input-proxy-a": "2"})))
    assert traffic(found) == {"users@n1": 2.0}
    found.put("Deployment", typed(web()))
    found.put("Pod", typed(proxy("input-proxy-a", "n2")))
    assert traffic(found) is None
    found.drop("Deployment", "default/web")
    found.drop("Pod", "default/input-proxy-a")
    assert WEB not in found.sink.workloads


def test_only_pods_of_daemon_sets_are_proxies_and_our_key_means_what_it_says():
    bare = pod("input-proxy-a", spec={"nodeName": "n1"})
    assert traffic(store(FRONT_END, bare, *NEAR)) == {"input-proxy-a": 30.0, "input-proxy-b": 5.0, "orders": 7.0}
    ours = web(**{"ecotone.dev/traffic": '{"input-proxy-a": 3}', "daff-input-proxy-a": "30"})
    assert traffic(store(ours, proxy("input-proxy-a", "n1"), *NEAR)) == {"input-proxy-a": 3.0}


def test_a_proxy_in_another_namespace_is_named_with_it():
    there = proxy("input-proxy-a", "n1")
    there["metadata"]["namespace"] = "ingress"
    assert traffic(store(web(**{"daff-ingress/input-proxy-a": "3"}), there, *NEAR)) == {"users@n1": 3.0}


@pytest.mark.parametrize(("busy", "idle", "chosen"), [("a", "b", "n1"), ("b", "a", "n2")])
def test_sophos_puts_the_front_end_where_its_users_enter(busy, idle, chosen):
    front_end = web(**{f"daff-input-proxy-{busy}": "300000", f"daff-input-proxy-{idle}": "1"})
    waiting = pod("web-5d-x", labels={"pod-template-hash": "5d"}, ownerReferences=owned("ReplicaSet", "web-5d"))
    found = store(front_end, waiting, proxy("input-proxy-a", "n1"), proxy("input-proxy-b", "n2"), *NEAR)
    answer = explain(found.sink.freeze(), "sophos", "default/web-5d-x")
    raw = {each.name: each.scores["NetworkAware"].raw for each in answer.nodes}
    far = "n2" if chosen == "n1" else "n1"
    assert answer.node == chosen
    assert raw == {chosen: -40.0, far: -40.0 * 300000}
