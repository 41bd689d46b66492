"""kube-default's figures say what they count; communication-aware's say which peers pull, from where and how strongly."""

from __future__ import annotations

import re

from builders import ZONE, cluster, labelled, near, node, pod, within
from ecotone.model.objects import Workload, WorkloadKey
from ecotone.model.selectors import NodeAffinity, NodeTerm, PodAffinity, SpreadConstraint, Taint
from ecotone.scheduling.explanation import document, explain


def told(state, key, policy="kube-default"):
    shown = document(explain(state.freeze(), policy, key))
    return {each["name"]: each["told"] for each in shown["nodes"] if each["feasible"]}, shown


def test_soft_taints_room_and_evenness_are_told_in_words() -> None:
    state = cluster(
        [node("a", cpu="4", memory="4Gi"), node("b", taints=[Taint("busy", "", "PreferNoSchedule")])],
        [pod("web-0", cpu="2", memory="1Gi")],
    )
    words, _ = told(state, "default/web-0")
    assert words["a"]["TaintToleration"] == "no soft taints"
    assert words["b"]["TaintToleration"] == "1 soft taint not tolerated"
    assert words["a"]["NodeResourcesFit"] == "62 % of CPU and memory left"
    assert words["a"]["NodeResourcesBalancedAllocation"] == "use 14 points less even"


def test_no_scorer_of_the_default_scheduler_shows_a_bare_figure() -> None:
    spread = SpreadConstraint(1, ZONE, "ScheduleAnyway", labelled(app="web"))
    spec = {
        "spread": (spread,),
        "node_affinity": NodeAffinity(preferred=(NodeTerm((within("disk", "ssd"),), weight=7),)),
        "pod_affinity": PodAffinity(preferred=(near("db", weight=30),)),
        "images": ("app:1",),
    }
    state = cluster(
        [node("a", zone="x", labels={"disk": "ssd"}, images={"app:1": 300 * 1024**2}), node("b", zone="y")],
        [pod("db-0", node="a"), pod("web-1", node="b"), pod("web-0", cpu="1", memory="1Gi", spec=spec)],
    )
    words, shown = told(state, "default/web-0")
    for each in shown["nodes"]:
        assert each["scores"].keys() == each["told"].keys()
    assert words["a"]["NodeAffinity"] == "preferences of weight 7 met"
    assert words["a"]["ImageLocality"] == "has 300Mi of its images" and "none" in words["b"]["ImageLocality"]
    assert (words["a"]["PodTopologySpread"], words["b"]["PodTopologySpread"]) == (
        "0 alike in its zone",
        "1 alike in its zone",
    )
    assert "weight 30" in words["a"]["InterPodAffinity"]


def test_a_larger_mean_latency_that_wins_is_accounted_for_peer_by_peer() -> None:
    """Beside one strong peer `far` wins, though `mid` is nearer to all of them on average."""
    state = cluster(
        [
            node("far", latencies={"mid": 12.0, "p1": 30.0, "p2": 30.0}),
            node("mid", latencies={"p1": 12.0, "p2": 12.0}),
            node("p1", latencies={"p2": 10.0}, unschedulable=True),
            node("p2", unschedulable=True),
        ],
        [pod("db-0", node="far"), pod("api-0", node="p1"), pod("log-0", node="p2"), pod("web-0")],
        workloads=[Workload(WorkloadKey("default", "web"), affinity={"db": 100.0, "api": 100.0, "log": 100.0})],
    )
    words, shown = told(state, "default/web-0", "communication-aware")
    means = {name: float(explained.split("; ")[1].split()[0]) for name, explained in table(state).items()}
    assert shown["node"] == "far" and means["far"] > means["mid"]
    account = words["far"]["CommunicationAware"]
    assert "db (affinity 100 x gamma 0.2 on the same node) pulls 20" in account
    assert "api (affinity 100 x 1/30 ms) pulls 3.33" in account
    pulls = [float(each) for each in re.findall(r"pulls ([\d.]+)", account)]
    raw = next(each for each in shown["nodes"] if each["name"] == "far")["scores"]["CommunicationAware"]["raw"]
    assert abs(sum(pulls) - raw) < 0.02
    assert account in shown["why"] and words["mid"]["CommunicationAware"] in shown["why"]


def table(state):
    answer = explain(state.freeze(), "communication-aware", "default/web-0")
    return {each.name: each.scores["CommunicationAware"].told for each in answer.nodes if each.feasible}
