"""Plans that last: node affinity instead of a single binding."""

from builders import cluster, pod
from ecotone.model.objects import Workload
from ecotone.model.selectors import NodeAffinity, NodeTerm, Requirement
from ecotone.placement.problem.taxi import scenario_1
from ecotone.planning.node_affinity import affinity_patches
from ecotone.scheduling.decide import decide
from placement.kubernetes import nodes_of, taxi_pods


def test_every_workload_is_tied_to_the_nodes_of_its_pods() -> None:
    pods = taxi_pods("taxi")
    workloads = [Workload(each.kind.workload, replicas=1) for each in pods]
    snapshot = cluster(nodes_of(scenario_1()), pods, workloads=workloads).freeze()
    decisions = decide(snapshot, "pogonip-opt").decisions
    patches, alone = affinity_patches(snapshot, decisions)
    target = {each.pod: each.node for each in decisions}
    assert alone == () and len(patches) == 5
    for each in pods:
        patch = next(one for one in patches if one.workload == each.kind.workload)
        assert patch.nodes == (target[each.key],)
    terms = patches[0].body["spec"]["template"]["spec"]["affinity"]["nodeAffinity"][
        "requiredDuringSchedulingIgnoredDuringExecution"
    ]["nodeSelectorTerms"]
    assert terms == [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": [patches[0].nodes[0]]}]}]


def test_running_replicas_keep_their_nodes() -> None:
    running = pod("web-0", node="w1", cpu="100m", memory="64Mi", workload="web")
    waiting = pod("web-1", cpu="100m", memory="64Mi", workload="web")
    state = cluster(nodes_of(scenario_1()), [running, waiting], workloads=[Workload(waiting.kind.workload)])
    patches, _ = affinity_patches(state.freeze(), decide(state.freeze(), "first-fit").decisions)
    assert patches[0].nodes == ("cn", "w1")


def test_affinity_that_somebody_wrote_is_left_alone_and_so_are_bare_pods() -> None:
    own = NodeAffinity(required=(NodeTerm(expressions=(Requirement("zone", "DoesNotExist", ()),)),))
    written = pod("own-0", cpu="100m", memory="64Mi", spec={"node_affinity": own})
    bare = pod("bare-0", cpu="100m", memory="64Mi")
    state = cluster(nodes_of(scenario_1()), [written, bare], workloads=[Workload(written.kind.workload)])
    patches, alone = affinity_patches(state.freeze(), decide(state.freeze(), "first-fit").decisions)
    assert patches == ()
    assert {one.workload.name: one.why.split()[0] for one in alone} == {"own": "it", "bare": "no"}
