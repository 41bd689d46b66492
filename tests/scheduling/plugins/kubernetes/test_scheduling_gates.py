from builders import cluster, node, pod
from ecotone.scheduling.decide import decide
from ecotone.scheduling.plugin import Event
from ecotone.scheduling.plugins.kubernetes.scheduling_gates import SchedulingGates

plugin = SchedulingGates()


def test_a_gated_pod_waits_and_is_told_which_gates():
    gated = pod("web-0", spec={"gates": ("example.com/quota", "example.com/check")})
    state = cluster([node("a")], [gated])
    assert plugin.admit(state, gated) == "waiting for scheduling gates: [example.com/quota example.com/check]"
    assert plugin.admit(state, pod("web-1")) is None
    (decision,) = decide(state.freeze(), "kube-default").decisions
    assert decision.why == "waiting for scheduling gates: [example.com/quota example.com/check]"
    assert decision.plugins == ("SchedulingGates",)


def test_only_its_own_last_gate_wakes_it():
    gated = pod("web-0", spec={"gates": ("example.com/quota",)})
    assert plugin.hint(Event("pod", "update", gated, pod("web-0")), gated)
    assert not plugin.hint(Event("pod", "update", gated, gated), gated)
    assert not plugin.hint(Event("pod", "update", None, pod("other-0")), gated)
    assert not plugin.hint(Event("node", "add", None, node("a")), gated)
