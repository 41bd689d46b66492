"""Why a pod goes where it goes, in the cases that are not plain."""

import pytest

from ecotone.model.errors import InputError
from ecotone.scheduling.explanation import NodeView, TermView, document, explain, sentence
from manifests.builders import node, owned, pod, snapshot_of, thing

NODES = [node("n1", cpu="1"), node("n2", cpu="2")]


def test_a_gated_pod_says_so_on_every_node(tmp_path):
    snapshot = snapshot_of(tmp_path, *NODES, pod("p", spec={"schedulingGates": [{"name": "quota"}]}))
    answer = explain(snapshot, "kube-default", "default/p")
    assert answer.node is None
    assert all("gate" in each.reasons[0].lower() for each in answer.nodes)


def test_a_pod_that_no_node_can_help_says_why_on_every_node(tmp_path):
    volumes = [{"name": "v", "persistentVolumeClaim": {"claimName": "missing"}}]
    answer = explain(snapshot_of(tmp_path, *NODES, pod("p", spec={"volumes": volumes})), "kube-default", "default/p")
    assert answer.node is None and all("missing" in each.reasons[0] for each in answer.nodes)


def test_preemption_that_would_help_is_told(tmp_path):
    low = [pod(f"low-{n}", cpu=cpu, spec={"nodeName": n, "priority": 0}) for n, cpu in (("n1", "1"), ("n2", "2"))]
    snapshot = snapshot_of(tmp_path, *NODES, *low, pod("high", cpu="2", spec={"priority": 1000}))
    answer = explain(snapshot, "kube-default", "default/high")
    assert answer.node is None
    assert answer.why.startswith("fits only on n2 after preempting default/low-n2")
    assert not any(each.feasible for each in answer.nodes)


def test_capacity_held_for_others_is_not_free_and_held_for_this_pod_it_is_taken(tmp_path):
    spec = {"node": "n2", "resources": {"cpu": "2"}, "expires": "2100-01-01T00:00:00Z"}
    things = [
        *NODES,
        pod("mine", cpu="500m", ownerReferences=owned("Deployment", "web")),
        pod("other", cpu="1", ownerReferences=owned("Deployment", "api")),
        thing("Reservation", "r", spec={**spec, "workload": "web"}),
    ]
    snapshot = snapshot_of(tmp_path, *things)
    mine = explain(snapshot, "first-fit", "default/mine")
    assert (mine.node, {each.name: each.feasible for each in mine.nodes}) == ("n2", {"n1": True, "n2": True})
    assert "is held for this pod" in mine.why
    other = explain(snapshot, "first-fit", "default/other")
    assert (other.node, {each.name: each.feasible for each in other.nodes}) == ("n1", {"n1": True, "n2": False})


def test_a_pod_that_is_not_there(tmp_path):
    with pytest.raises(InputError, match=r"no pod 'default/q' in the cluster \(did you mean 'default/p'"):
        explain(snapshot_of(tmp_path, *NODES, pod("p")), "first-fit", "default/q")


def test_a_memory_is_asked_before_it_moves_on(tmp_path):
    answer = explain(snapshot_of(tmp_path, *NODES, pod("p")), "round-robin", "default/p")
    totals = {each.name: each.total for each in answer.nodes}
    assert answer.node == max(totals, key=lambda name: totals[name] or 0.0)


def test_the_decision_explained_is_the_one_that_would_be_taken(tmp_path):
    running = pod("p", cpu="500m", spec={"nodeName": "n1"})
    answer = explain(snapshot_of(tmp_path, *NODES, running), "kube-default", "default/p")
    assert (answer.current, answer.node) == ("n1", "n2")
    shown = document(answer)
    assert shown["node"] == "n2" and shown["current"] == "n1"
    assert [each["name"] for each in shown["nodes"]] == ["n2", "n1"]


def test_a_solver_shows_filters_and_its_own_reason(tmp_path):
    queue = {"app-group": "g", "ecotone.dev/role": "message-queue"}
    bound = {"ecotone.dev/max-latency": "50ms"}
    snapshot = snapshot_of(
        tmp_path,
        node("cp", labels={"node-role.kubernetes.io/control-plane": "", "ecotone.dev/tier": "edge"}),
        node("edge", labels={"ecotone.dev/tier": "edge"}, annotations={"ecotone.dev/latencies": '{"cp": 5}'}),
        pod(
            "mq",
            labels=queue,
            annotations=bound,
            spec={"containers": [{"resources": {"requests": {"cpu": "1", "memory": "1Gi"}}}]},
        ),
    )
    answer = explain(snapshot, "pogonip", "default/mq")
    assert answer.node in ("cp", "edge") and "message queue of" in answer.why
    assert all(each.feasible and each.total is None for each in answer.nodes)


def view(name, total, tiebreak=None, **shares):
    return NodeView(
        name, True, (), {term: TermView(share, share, 1.0) for term, share in shares.items()}, total, tiebreak
    )


def test_sentences():
    assert sentence((view("a", 5.0), NodeView("b", False, ("full",)))) == "a is the only one of 2 nodes that fits"
    gain = sentence((view("a", 70.0, x=60.0, y=10.0), view("b", 60.0, x=20.0, y=40.0)))
    assert gain == "a beats b by 10: x gives it 40 more, though y gives it 30 less"
    tied = (view("a", 5.0, 10.0), view("b", 5.0, 9.0))
    assert sentence(tied) == "a ties with b of 2 nodes that fit; the default plugins break the tie (10 against 9)"
    assert sentence((view("a", 5.0), view("b", 5.0))).endswith("the first by name is taken")
    assert sentence((view("b", 5.0), view("a", 5.0)), drawn=True).endswith("the draw of this seed took it")
    many = tuple(view(name, 1.0) for name in "abcdef")
    assert "ties with b, c, d and 2 more of 6" in sentence(many)
