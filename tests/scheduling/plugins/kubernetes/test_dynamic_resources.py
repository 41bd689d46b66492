from builders import cluster, node, pod
from ecotone.scheduling.decide import decide
from ecotone.scheduling.plugin import Event
from ecotone.scheduling.plugins.kubernetes.dynamic_resources import DynamicResources


def test_a_pod_with_resource_claims_waits_with_a_reason_and_the_next_one_goes_ahead():
    claiming = pod("train-0", spec={"resource_claims": ("gpu-claim",)})
    state = cluster([node("a")], [claiming, pod("web-0")])
    wait, bind = decide(state.freeze(), "kube-default").decisions
    assert wait.pod == "default/train-0"
    assert "resource claims (gpu-claim)" in wait.why
    assert wait.plugins == ("DynamicResources",)
    assert bind.node == "a"


def test_only_the_pod_itself_can_change_that():
    plugin, claiming = DynamicResources(), pod("train-0", spec={"resource_claims": ("gpu-claim",)})
    assert plugin.hint(Event("pod", "update", claiming, pod("train-0")), claiming)
    assert not plugin.hint(Event("pod", "update", claiming, claiming), claiming)
    assert not plugin.hint(Event("node", "add", None, node("a")), claiming)
