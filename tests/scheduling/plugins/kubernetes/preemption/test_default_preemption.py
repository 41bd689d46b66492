from typing import Any

import pytest

from builders import HOSTNAME, ZONE, cluster, labelled, near, node, pod, spread, tolerating
from ecotone.model.decisions import Bind, Preempt, Wait
from ecotone.model.errors import InputError
from ecotone.model.objects import DisruptionBudget
from ecotone.model.selectors import EVERYTHING, PodAffinity, Taint
from ecotone.scheduling.decide import decide
from ecotone.scheduling.plugin import Event
from ecotone.scheduling.plugins.kubernetes.preemption.default_preemption import DefaultPreemption
from ecotone.scheduling.profiles.policies import POLICIES


def low(name: str, on: str, cpu: str = "1", priority: int = 0, started: float = 0.0, **more):
    return pod(
        name, node=on, cpu=cpu, created=started, **{**more, "spec": {"priority": priority, **more.get("spec", {})}}
    )


def vip(cpu: str = "1", name: str = "vip-0", **more):
    return pod(name, cpu=cpu, **{**more, "spec": {"priority": 1000, **more.get("spec", {})}})


def outcome(nodes, pods, waiting=None, profile="kube-default", **more):
    """The decision on the one that waits."""
    state = cluster(nodes, [*pods, waiting or vip()], now=100.0, **more)
    (decision,) = decide(state.freeze(), profile).decisions
    return decision


def small(*names: str, cpu: str = "1", **more):
    return [node(name, cpu=cpu, **more) for name in names]


def test_the_least_that_must_go_goes():
    pods = [low("a-0", "n", "500m", 1), low("b-0", "n", "500m", 2), low("c-0", "n", "500m", 3)]
    decision = outcome(small("n", cpu="1500m"), pods, vip("500m"))
    assert isinstance(decision, Preempt)
    assert (decision.pod, decision.node, decision.victims) == ("default/vip-0", "n", ("default/a-0",))
    assert "priority up to 1 (its own is 1000)" in decision.why
    assert outcome(small("n", cpu="1500m"), pods, vip("1")).victims == ("default/b-0", "default/a-0")


def test_a_more_important_pod_is_kept_if_a_less_important_one_frees_enough():
    pods = [low("big-0", "n", "2", 0), low("small-0", "n", "500m", 5), low("tiny-0", "n", "500m", 9)]
    assert outcome(small("n", cpu="3"), pods, vip("2")).victims == ("default/big-0",)


def test_of_equal_priority_the_one_that_runs_longest_is_kept():
    pods = [low("new-0", "n", "500m", started=9.0), low("old-0", "n", "500m", started=1.0)]
    assert outcome(small("n"), pods, vip("500m")).victims == ("default/new-0",)


def test_equal_or_higher_priority_and_policy_never_leave_things_alone():
    assert isinstance(outcome(small("n"), [low("a-0", "n", priority=1000)]), Wait)
    polite = vip(spec={"preemption_policy": "Never"})
    waits = outcome(small("n"), [low("a-0", "n")], polite)
    assert isinstance(waits, Wait)
    assert waits.plugins == ("NodeResourcesFit",)


def test_nodes_where_it_would_not_help_are_left_out():
    nodes = [node("tainted", cpu="1", taints=[Taint("t")]), node("too-small", cpu="500m"), node("good", cpu="1")]
    pods = [low("a-0", "tainted"), low("b-0", "too-small", "500m"), low("c-0", "good", priority=500)]
    assert outcome(nodes, pods).node == "good"
    assert isinstance(outcome(nodes[:2], pods[:2]), Wait)


def test_a_refused_pod_preempts_nobody():
    claiming = vip(spec={"claims": ("lost",)})
    assert isinstance(outcome(small("n"), [low("a-0", "n")], claiming), Wait)


# Choosing the node


def test_fewest_violated_budgets_first():
    budget = DisruptionBudget("default", "guard", labelled(app="a"), allowed=0)
    pods = [low("a-0", "n1", priority=1), low("b-0", "n2", priority=999)]
    assert outcome(small("n1", "n2"), pods, budgets=(budget,)).node == "n2"
    assert outcome(small("n1", "n2"), pods).node == "n1"


def test_then_the_lowest_of_the_highest_priorities():
    pods = [
        low("a-0", "n1", "500m", 5),
        low("a-1", "n1", "500m", 1),
        low("b-0", "n2", "500m", 4),
        low("b-1", "n2", "500m", 4),
    ]
    assert outcome(small("n1", "n2"), pods).node == "n2"


def test_then_the_lowest_sum_of_priorities():
    pods = [
        low("a-0", "n1", "500m", 5),
        low("a-1", "n1", "500m", 3),
        low("b-0", "n2", "500m", 5),
        low("b-1", "n2", "500m", 1),
    ]
    assert outcome(small("n1", "n2"), pods).node == "n2"
    # Fewer pods of negative priority are better than more of them.
    negative = [low("a-0", "n1", "500m", -5), low("a-1", "n1", "500m", -5), low("b-0", "n2", "1", -5)]
    assert outcome(small("n1", "n2"), negative).node == "n2"


def test_then_the_latest_start_then_the_name():
    pods = [low("a-0", "n1", started=1.0), low("b-0", "n2", started=9.0)]
    assert outcome(small("n1", "n2"), pods).node == "n2"
    same = [low("a-0", "n1", started=1.0), low("b-0", "n2", started=1.0)]
    assert outcome(small("n1", "n2"), same).node == "n1"
    assert outcome(small("n2", "n1"), same).node == "n1"


# Budgets


def test_protected_pods_are_given_back_first():
    budget = DisruptionBudget("default", "guard", labelled(app="a"), allowed=0)
    pods = [low("a-0", "n", "500m", 1), low("b-0", "n", "500m", 2)]
    assert outcome(small("n"), pods, vip("500m"), budgets=(budget,)).victims == ("default/b-0",)
    assert outcome(small("n"), pods, vip("500m")).victims == ("default/a-0",)


def test_what_a_budget_still_allows_is_not_a_violation():
    budget = DisruptionBudget("default", "guard", labelled(app="a"), allowed=1)
    pods = [low("a-0", "n1", "500m"), low("a-1", "n1", "500m"), low("b-0", "n2", priority=5)]
    # Both replicas would have to go, and one is allowed.
    assert outcome(small("n1", "n2"), pods, budgets=(budget,)).node == "n2"
    assert outcome(small("n1", "n2"), pods, vip("500m"), budgets=(budget,)).node == "n1"


def test_a_violation_is_told_or_forbidden():
    budget = DisruptionBudget("default", "everything", EVERYTHING, allowed=0)
    pods = [low("a-0", "n")]
    assert "violating 1 times a disruption budget" in outcome(small("n"), pods, budgets=(budget,)).why
    strict = POLICIES["kube-default"].with_args("DefaultPreemption", violateDisruptionBudgets=False)
    assert isinstance(outcome(small("n"), pods, profile=strict, budgets=(budget,)), Wait)
    elsewhere = DisruptionBudget("other", "everything", EVERYTHING, allowed=0)
    assert isinstance(outcome(small("n"), pods, profile=strict, budgets=(elsewhere,)), Preempt)


def test_victims_of_one_round_use_the_budget_up():
    budget = DisruptionBudget("default", "guard", labelled(app="a"), allowed=1)
    pods = [low("a-0", "n1"), low("a-1", "n2"), vip(name="vip-0"), vip(name="vip-1")]
    strict = POLICIES["kube-default"].with_args("DefaultPreemption", violateDisruptionBudgets=False)
    state = cluster(small("n1", "n2"), pods, now=100.0, budgets=(budget,))
    for batch in (True, False):
        kinds = [type(each) for each in decide(state.freeze(), strict, batch=batch).decisions]
        assert kinds == [Preempt, Wait]
    assert state.budgets == (budget,)


# With other plugins


def test_a_port_an_anti_affinity_or_a_skew_can_be_resolved_too():
    assert outcome([node("n")], [low("a-0", "n", ports=[80])], vip(ports=[80])).victims == ("default/a-0",)
    lonely = low("a-0", "n", spec={"pod_anti_affinity": PodAffinity((near("vip"),))})
    assert outcome([node("n")], [lonely, low("b-0", "n")]).victims == ("default/a-0",)
    hates = vip(spec={"pod_anti_affinity": PodAffinity((near("a"),))})
    assert outcome([node("n")], [low("a-0", "n"), low("b-0", "n")], hates).victims == ("default/a-0",)
    labels: dict[str, Any] = {"labels": {"app": "vip"}}
    skewed = vip(spec={"spread": (spread("vip", key=HOSTNAME),), "node_selector": ((ZONE, "z"),)}, **labels)
    nodes = [node("n", zone="z"), node("m", zone="z", unschedulable=True)]
    assert outcome(nodes, [low("a-0", "n", **labels)], skewed).victims == ("default/a-0",)


def test_affinity_to_a_victim_does_not_count_as_fitting():
    wants = vip(spec={"pod_affinity": PodAffinity((near("a"),))})
    assert isinstance(outcome(small("n"), [low("a-0", "n")], wants), Wait)


# Rounds


def test_the_place_of_one_preemptor_is_not_anothers():
    state = cluster(
        small("n1", "n2"), [low("a-0", "n1"), low("b-0", "n2", priority=1), vip(name="x-0"), vip(name="y-0")], now=100.0
    )
    for batch in (True, False):
        decisions = decide(state.freeze(), "kube-default", batch=batch).decisions
        assert [(type(each), each.node) for each in decisions] == [(Preempt, "n1"), (Preempt, "n2")]


def test_while_victims_of_before_are_leaving_the_pod_waits():
    promised = vip(nominated="n")
    assert isinstance(outcome(small("n"), [low("a-0", "n", deleting=True)], promised), Wait)
    elsewhere = [*small("n"), node("m", cpu="1")]
    pods = [low("a-0", "n", deleting=True), low("b-0", "m")]
    assert isinstance(outcome(elsewhere, pods, promised), Wait)
    # Unless the node became hopeless meanwhile.
    closed = [node("n", cpu="1", unschedulable=True), node("m", cpu="1")]
    assert outcome(closed, pods, promised).node == "m"


def test_a_node_promised_to_another_is_not_emptied_a_second_time():
    promised = vip(name="first-0", nominated="n1")
    leaving = low("a-0", "n1", deleting=True)
    state = cluster(
        small("n1", "n2"), [leaving, low("b-0", "n2", priority=900), promised, vip(name="second-0")], now=100.0
    )
    snapshot = state.freeze()
    second = snapshot.pending["default/second-0"]
    (decision,) = decide(snapshot, "kube-default", pods=[second]).decisions
    # n1 would be the cheaper one, but what a-0 leaves there is somebody else's.
    assert (decision.node, decision.victims) == ("n2", ("default/b-0",))


def test_who_waits_for_a_node_promised_to_another_is_told_what_it_lacks():
    promised = vip(name="first-0", nominated="n")
    state = cluster(small("n"), [promised, pod("late-0", cpu="500m")], now=100.0)
    snapshot = state.freeze()
    (decision,) = decide(snapshot, "kube-default", pods=[snapshot.pending["default/late-0"]]).decisions
    assert decision.why == "0/1 nodes are available: 1 Insufficient cpu."
    assert decision.plugins == ("NodeResourcesFit",)


def test_a_promised_pod_counts_for_spreading_too():
    promised = vip(name="web-0", nominated="n1", labels={"app": "web"})
    late = pod("web-1", labels={"app": "web"}, spec={"spread": (spread("web", key=HOSTNAME),)})
    state = cluster([node("n1"), node("n2")], [promised, late], now=100.0)
    snapshot = state.freeze()
    for seed in range(5):
        state.seed = seed
        (decision,) = decide(state.freeze(), "kube-default", pods=[snapshot.pending["default/web-1"]]).decisions
        assert decision.node == "n2"


def test_pods_placed_in_the_same_round_are_not_taken_away_again():
    first_the_low = POLICIES["sophos"]
    pods = [
        pod("early-0", cpu="1", app_group="shop", index=0),
        vip(app_group="shop", index=1),
    ]
    state = cluster(small("n"), pods, now=100.0)
    decisions = decide(state.freeze(), first_the_low).decisions
    assert [type(each) for each in decisions] == [Bind, Wait]


def test_looking_stops_when_there_are_enough_candidates():
    names = [f"n{place:02}" for place in range(30)]
    pods = [low(f"a-{place}", name, priority=place) for place, name in enumerate(names)]
    few = POLICIES["kube-default"].with_args(
        "DefaultPreemption", minCandidateNodesPercentage=0, minCandidateNodesAbsolute=1
    )
    best = outcome(small(*names), pods)
    assert best.victims == ("default/a-0",)
    seen = {outcome(small(*names), pods, profile=few, seed=seed).node for seed in range(8)}
    assert len(seen) > 1


@pytest.mark.parametrize(
    "arguments",
    [
        {"minCandidateNodesPercentage": 101},
        {"minCandidateNodesAbsolute": -1},
        {"minCandidateNodesPercentage": 0, "minCandidateNodesAbsolute": 0},
    ],
)
def test_wrong_arguments_are_input_errors(arguments):
    with pytest.raises(InputError, match="minCandidateNodes"):
        DefaultPreemption(**arguments)


def test_waking_up_is_left_to_the_plugins_that_refused():
    assert not DefaultPreemption().hint(Event("pod", "delete", low("a-0", "n"), None), vip())


def test_tolerations_still_matter_on_the_way():
    nodes = [node("tainted", cpu="1", taints=[Taint("t")])]
    tolerant = vip(spec={"tolerations": (tolerating("t"),)})
    assert outcome(nodes, [low("a-0", "tainted")], tolerant).node == "tainted"


def test_why_no_room_can_be_made_is_told_node_by_node_in_the_words_of_kube_scheduler():
    nodes = [
        node("empty-handed", cpu="1"),
        node("too-small", cpu="500m"),
        node("still-short", cpu="2"),
        node("tainted", cpu="4", taints=(Taint("down"),)),
    ]
    pods = [
        low("equal-0", "empty-handed", priority=1000),
        low("weak-0", "still-short", "500m"),
        low("strong-0", "still-short", "1500m", priority=2000),
    ]
    waits = outcome(nodes, pods)
    assert isinstance(waits, Wait)
    assert waits.why == "0/4 nodes are available: 1 node(s) had untolerated taint(s), 3 Insufficient cpu."
    assert waits.no_room == (
        "no new claims to deallocate, preemption: 0/4 nodes are available: 1 Insufficient cpu, "
        "1 No preemption victims found for incoming pod, 2 Preemption is not helpful for scheduling."
    )
    polite = outcome(nodes, pods, vip(spec={"preemption_policy": "Never"}))
    assert polite.no_room.endswith("preemption: not eligible due to preemptionPolicy=Never.")
    strict = POLICIES["kube-default"].with_args("DefaultPreemption", violateDisruptionBudgets=False)
    budget = DisruptionBudget("default", "b", EVERYTHING, allowed=0)
    kept = outcome(small("n"), [low("a-0", "n")], profile=strict, budgets=(budget,))
    assert kept.no_room.endswith("preemption: 0/1 nodes are available: 1 a disruption budget would be violated.")
