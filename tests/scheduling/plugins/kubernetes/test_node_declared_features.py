from asking import passing, reasons
from builders import cluster, node, pod
from ecotone.scheduling.plugin import Event
from ecotone.scheduling.plugins.kubernetes.node_declared_features import MISSING, NodeDeclaredFeatures

plugin = NodeDeclaredFeatures()
picky = pod("web-0", spec={"features": frozenset({"GuaranteedResize", "UserNamespaces"})})
able = node("able", declared_features=frozenset({"GuaranteedResize", "UserNamespaces", "More"}))
half = node("half", declared_features=frozenset({"UserNamespaces"}))


def test_a_node_must_declare_all_that_the_pod_needs():
    state = cluster([able, half, node("old")])
    assert passing(plugin, state, picky) == {"able"}
    assert reasons(plugin, state, picky) == {"half": [(MISSING, True)], "old": [(MISSING, True)]}
    assert passing(plugin, state, pod("web-0")) == {"able", "half", "old"}
    assert reasons(plugin, state, pod("web-0")) == {}


def test_a_node_that_learns_them_may_help():
    assert plugin.hint(Event("node", "update", half, able), picky)
    assert not plugin.hint(Event("node", "update", able, able), picky)
    assert not plugin.hint(Event("node", "add", None, half), picky)
    assert plugin.hint(Event("pod", "update", picky, pod("web-0")), picky)
    assert not plugin.hint(Event("pod", "delete", pod("other-0", node="a"), None), picky)
