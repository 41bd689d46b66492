from asking import passing, reasons
from builders import cluster, node, pod
from ecotone.scheduling.plugin import Event
from ecotone.scheduling.plugins.kubernetes.node_name import WRONG_NAME, NodeName

plugin = NodeName()


def test_a_mirror_pod_belongs_to_its_node():
    state = cluster([node("a"), node("b")])
    static = pod("etcd-a", node="a", mirror=True)
    assert passing(plugin, state, static) == {"a"}
    assert reasons(plugin, state, static) == {"b": [(WRONG_NAME, True)]}
    assert passing(plugin, state, pod("etcd-x", node="gone", mirror=True)) == set()


def test_any_other_pod_is_free_even_when_it_runs_somewhere_now():
    state = cluster([node("a"), node("b")])
    assert passing(plugin, state, pod("web-0")) == {"a", "b"}
    assert passing(plugin, state, pod("web-0", node="a")) == {"a", "b"}
    assert reasons(plugin, state, pod("web-0")) == {}


def test_its_node_joining_may_help():
    static = pod("etcd-a", node="a", mirror=True)
    assert plugin.hint(Event("node", "add", None, node("a")), static)
    assert not plugin.hint(Event("node", "add", None, node("b")), static)
    assert not plugin.hint(Event("pod", "delete", static, None), static)
