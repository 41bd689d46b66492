from asking import passing, reasons
from builders import cluster, node, pod
from ecotone.model.objects import HostPort
from ecotone.scheduling.plugin import Cycle, Event
from ecotone.scheduling.plugins.kubernetes.node_ports import NO_FREE_PORTS, NodePorts

plugin = NodePorts()


def at(*ports: HostPort, name: str = "web-0", on: str | None = None):
    return pod(name, node=on, spec={"host_ports": ports})


def test_port_protocol_and_address_must_not_be_taken():
    state = cluster(
        [node(name) for name in "abcdefghij"],
        [
            at(HostPort(80), name="p-0", on="a"),
            at(HostPort(80, "UDP"), name="q-0", on="b"),
            at(HostPort(80, ip="10.0.0.1"), name="r-0", on="c"),
            at(HostPort(81), name="s-0", on="d"),
        ],
    )
    others = set("efghij")
    assert passing(plugin, state, at(HostPort(80))) == {"b", "d", *others}
    assert passing(plugin, state, at(HostPort(80, ip="10.0.0.2"))) == {"b", "c", "d", *others}
    assert passing(plugin, state, at(HostPort(80, ip="10.0.0.1"))) == {"b", "d", *others}
    assert passing(plugin, state, at(HostPort(7), HostPort(81))) == {"a", "b", "c", *others}
    assert reasons(plugin, state, at(HostPort(80))) == {"a": [(NO_FREE_PORTS, False)], "c": [(NO_FREE_PORTS, False)]}


def test_no_ports_nothing_to_say():
    state = cluster([node("a")])
    assert plugin.filter(Cycle(state, pod("web-0")), state.nodes.all_rows) is None
    assert plugin.reject(Cycle(state, pod("web-0")), state.nodes.all_rows) == []


def test_ports_come_back_when_a_pod_leaves():
    state = cluster([node(f"n{place}") for place in range(12)], [at(HostPort(80), name="p-0", on="n3")])
    assert "n3" not in passing(plugin, state, at(HostPort(80)))
    state.drop_pod("default/p-0")
    assert "n3" in passing(plugin, state, at(HostPort(80)))


def test_a_leaving_pod_with_the_port_or_a_new_node_may_help():
    waiting = at(HostPort(80))
    assert plugin.hint(Event("pod", "delete", at(HostPort(80), name="p-0", on="a"), None), waiting)
    assert not plugin.hint(Event("pod", "delete", at(HostPort(81), name="p-0", on="a"), None), waiting)
    assert not plugin.hint(Event("pod", "delete", at(HostPort(80), name="p-0"), None), waiting)
    assert plugin.hint(Event("node", "add", None, node("a")), waiting)
    assert not plugin.hint(Event("node", "update", node("a"), node("a")), waiting)
