from asking import passing, reasons
from builders import cluster, node, pod, tolerating
from ecotone.scheduling.plugin import Cycle, Event
from ecotone.scheduling.plugins.kubernetes.node_unschedulable import CORDON, UNSCHEDULABLE, NodeUnschedulable

plugin = NodeUnschedulable()
brave = pod("agent-0", spec={"tolerations": (tolerating(CORDON.key, effect="NoSchedule"),)})


def test_cordoned_nodes_take_only_pods_that_tolerate_it():
    state = cluster([node("open"), node("closed", unschedulable=True)])
    assert passing(plugin, state, pod("web-0")) == {"open"}
    assert reasons(plugin, state, pod("web-0")) == {"closed": [(UNSCHEDULABLE, True)]}
    assert passing(plugin, state, brave) == {"open", "closed"}


def test_without_cordoned_nodes_there_is_nothing_to_say():
    state = cluster([node("a"), node("b")])
    assert plugin.filter(Cycle(state, pod("web-0")), state.nodes.all_rows) is None
    assert plugin.reject(Cycle(state, pod("web-0")), state.nodes.all_rows) == []


def test_uncordoning_and_tolerating_may_help():
    waiting = pod("web-0")
    closed, opened = node("a", unschedulable=True), node("a")
    assert plugin.hint(Event("node", "update", closed, opened), waiting)
    assert plugin.hint(Event("node", "add", None, opened), waiting)
    assert not plugin.hint(Event("node", "add", None, closed), waiting)
    assert not plugin.hint(Event("node", "update", opened, opened), waiting)
    assert plugin.hint(Event("pod", "update", pod("agent-0"), brave), pod("agent-0"))
    assert not plugin.hint(Event("pod", "update", waiting, waiting), waiting)
