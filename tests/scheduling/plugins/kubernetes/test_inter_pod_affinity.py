import pytest

from asking import cycle_for, passing, raw_scores, reasons, scores
from builders import HOSTNAME, ZONE, cluster, labelled, near, node, pod
from ecotone.model.errors import InputError
from ecotone.model.selectors import EVERYTHING, PodAffinity, PodTerm
from ecotone.scheduling.plugin import Cycle, Event
from ecotone.scheduling.plugins.kubernetes.inter_pod_affinity import (
    NOT_APART,
    NOT_TOGETHER,
    THEY_OBJECT,
    InterPodAffinity,
)

plugin = InterPodAffinity()
NODES = ("e1", "e2", "w1", "x")


def zones(*pods, **more):
    return cluster([node("e1", zone="east"), node("e2", zone="east"), node("w1", zone="west"), node("x")], pods, **more)


def like(*terms: PodTerm, name: str = "web-9", soft: bool = False, **more):
    return pod(name, spec={"pod_affinity": PodAffinity(preferred=terms) if soft else PodAffinity(terms)}, **more)


def avoid(*terms: PodTerm, name: str = "web-9", soft: bool = False, **more):
    return pod(name, spec={"pod_anti_affinity": PodAffinity(preferred=terms) if soft else PodAffinity(terms)}, **more)


# Filtering


def test_required_affinity_needs_a_partner_in_the_domain():
    state = zones(pod("db-0", node="e1"))
    assert passing(plugin, state, like(near("db", key=ZONE))) == {"e1", "e2"}
    assert passing(plugin, state, like(near("db"))) == {"e1"}
    assert reasons(plugin, state, like(near("db", key=ZONE))) == {
        "w1": [(NOT_TOGETHER, True)],
        "x": [(NOT_TOGETHER, True)],
    }


def test_one_partner_must_meet_all_terms():
    state = zones(
        pod("db-0", node="e1", labels={"app": "db"}), pod("db-1", node="w1", labels={"app": "db", "tier": "gold"})
    )
    gold = PodTerm(labelled(tier="gold"), HOSTNAME, namespaces=frozenset({"default"}))
    assert passing(plugin, state, like(near("db", key=ZONE), gold)) == {"w1"}


def test_the_first_of_a_group_that_wants_its_own_kind_is_let_in_where_the_label_is():
    assert passing(plugin, zones(), like(near("web", key=ZONE))) == {"e1", "e2", "w1"}
    assert passing(plugin, zones(), like(near("db", key=ZONE))) == set()
    assert passing(plugin, zones(pod("web-0", node="w1")), like(near("web", key=ZONE))) == {"w1"}
    # A partner outside all domains does not count as one.
    assert passing(plugin, zones(pod("web-0", node="x")), like(near("web", key=ZONE))) == {"e1", "e2", "w1"}


def test_required_anti_affinity_keeps_out_of_the_domain_but_not_off_unlabelled_nodes():
    state = zones(pod("db-0", node="e1"), pod("db-1", node="x"))
    assert passing(plugin, state, avoid(near("db", key=ZONE))) == {"w1", "x"}
    assert reasons(plugin, state, avoid(near("db"))) == {"e1": [(NOT_APART, False)], "x": [(NOT_APART, False)]}


def test_running_pods_keep_others_out_of_their_domain():
    state = zones(avoid(near("web", key=ZONE), name="db-0", node="e1"), avoid(near("api"), name="db-1", node="w1"))
    assert passing(plugin, state, pod("web-0")) == {"w1", "x"}
    assert reasons(plugin, state, pod("web-0")) == {"e1": [(THEY_OBJECT, False)], "e2": [(THEY_OBJECT, False)]}
    assert passing(plugin, state, pod("other-0")) == set(NODES)


def test_each_node_is_told_its_first_reason():
    state = zones(avoid(near("web", key=ZONE), name="db-0", node="e1"), pod("api-0", node="e2"))
    choosy = pod(
        "web-9",
        spec={
            "pod_affinity": PodAffinity((near("db", key=ZONE),)),
            "pod_anti_affinity": PodAffinity((near("api"),)),
        },
    )
    assert reasons(plugin, state, choosy) == {
        "e1": [(THEY_OBJECT, False)],
        "e2": [(NOT_APART, False)],
        "w1": [(NOT_TOGETHER, True)],
        "x": [(NOT_TOGETHER, True)],
    }


def test_leaving_pods_still_count():
    assert passing(plugin, zones(pod("db-0", node="e1", deleting=True)), avoid(near("db"))) == {"e2", "w1", "x"}


def test_namespaces_are_those_named_or_selected_or_the_pods_own():
    state = zones(pod("db-0", node="e1", namespace="data"), namespaces={"data": {"team": "a"}})
    assert passing(plugin, state, avoid(near("db"))) == set(NODES)
    assert passing(plugin, state, avoid(near("db", namespaces=["data"]))) == {"e2", "w1", "x"}
    by_label = PodTerm(labelled(app="db"), HOSTNAME, namespace_selector=labelled(team="a"))
    assert passing(plugin, state, avoid(by_label)) == {"e2", "w1", "x"}
    other_label = PodTerm(labelled(app="db"), HOSTNAME, namespace_selector=labelled(team="b"))
    assert passing(plugin, state, avoid(other_label)) == set(NODES)
    everywhere = PodTerm(labelled(app="db"), HOSTNAME, namespace_selector=EVERYTHING)
    assert passing(plugin, state, avoid(everywhere)) == {"e2", "w1", "x"}
    own = PodTerm(labelled(app="db"), HOSTNAME)
    assert passing(plugin, state, avoid(own)) == set(NODES)
    assert passing(plugin, state, avoid(own, namespace="data")) == {"e2", "w1", "x"}


def test_a_selector_without_a_fixed_label_is_found_too():
    state = zones(avoid(PodTerm(EVERYTHING, HOSTNAME, namespaces=frozenset({"default"})), name="lonely-0", node="e1"))
    assert passing(plugin, state, pod("web-0")) == {"e2", "w1", "x"}
    nobody = avoid(PodTerm(EVERYTHING, HOSTNAME, namespaces=frozenset({"default"})))
    assert passing(plugin, state, nobody) == {"e2", "w1", "x"}


def test_without_any_terms_there_is_nothing_to_say():
    state = zones(pod("db-0", node="e1"))
    cycle, _ = cycle_for(plugin, state, pod("web-0"))
    assert plugin.filter(cycle, state.nodes.all_rows) is None
    assert list(plugin.reject(cycle, state.nodes.all_rows)) == []
    assert raw_scores(plugin, state, pod("web-0")) is None


def test_counts_follow_pods_that_come_and_go_during_the_cycle():
    state = zones()
    apart = avoid(near("web", key=ZONE))
    cycle, _ = cycle_for(plugin, state, apart)
    rows = state.nodes.all_rows
    assert plugin.filter(cycle, rows) is None
    plugin.add_pod(cycle, avoid(near("web", key=ZONE), name="web-8"), 0)
    assert plugin.filter(cycle, rows).tolist() == [False, False, True, True]
    plugin.remove_pod(cycle, avoid(near("web", key=ZONE), name="web-8"), 0)
    assert plugin.filter(cycle, rows).tolist() == [True, True, True, True]
    together = like(near("web", key=ZONE))
    cycle, _ = cycle_for(plugin, state, together)
    assert plugin.filter(cycle, rows).tolist() == [True, True, True, False]
    plugin.add_pod(cycle, together, 2)
    assert plugin.filter(cycle, rows).tolist() == [False, False, True, False]
    plugin.add_pod(cycle, pod("db-0"), 0)
    assert plugin.filter(cycle, rows).tolist() == [False, False, True, False]


# Scoring


def test_preferences_of_the_pod_add_up_and_are_stretched_from_least_to_most_liked():
    state = zones(pod("db-0", node="e1"), pod("db-1", node="e1"), pod("api-0", node="w1"))
    likes = pod(
        "web-9",
        spec={
            "pod_affinity": PodAffinity(preferred=(near("db", key=ZONE, weight=10), near("db", weight=7))),
            "pod_anti_affinity": PodAffinity(preferred=(near("api", weight=5),)),
        },
    )
    assert raw_scores(plugin, state, likes) == {"e1": 34, "e2": 20, "w1": -5, "x": 0}
    # (raw + 5) / 39 of 100, cut off
    assert scores(plugin, state, likes) == {"e1": 100, "e2": 64, "w1": 0, "x": 12}
    assert scores(plugin, state, likes, feasible=["e2"]) == {"e2": 0}


def test_the_cut_follows_floating_point():
    pods = [pod("db-0", node="e1"), *(pod(f"api-{place}", node="e2") for place in range(1))]
    state = zones(*pods)
    likes = like(near("db", weight=100), near("api", weight=29), soft=True)
    # 100 * (29 / 100) is a little less than 29 in floating point.
    assert scores(plugin, state, likes) == {"e1": 100, "e2": 28, "w1": 0, "x": 0}


def test_running_pods_have_preferences_too_and_their_required_affinity_counts_one():
    state = zones(
        like(near("web", key=ZONE), name="db-0", node="e1"),
        like(near("web", weight=4), name="db-1", node="w1", soft=True),
        avoid(near("web", weight=9), name="db-2", node="x", soft=True),
    )
    assert raw_scores(plugin, state, pod("web-0")) == {"e1": 1, "e2": 1, "w1": 4, "x": -9}
    strong = InterPodAffinity(hardPodAffinityWeight=50)
    assert raw_scores(strong, state, pod("web-0")) == {"e1": 50, "e2": 50, "w1": 4, "x": -9}
    none = InterPodAffinity(hardPodAffinityWeight=0)
    assert raw_scores(none, state, pod("web-0")) == {"e1": 0, "e2": 0, "w1": 4, "x": -9}


def test_preferences_of_others_can_be_ignored_for_pods_without_their_own():
    deaf = InterPodAffinity(ignorePreferredTermsOfExistingPods=True)
    state = zones(like(near("web", weight=4), name="db-1", node="w1", soft=True))
    assert raw_scores(deaf, state, pod("web-0")) is None
    assert raw_scores(deaf, state, like(near("db", weight=1), soft=True)) == {"e1": 0, "e2": 0, "w1": 5, "x": 0}
    cycle, _ = cycle_for(deaf, state, pod("web-0"))
    deaf.prescore(cycle)
    deaf.add_pod(cycle, pod("web-1"), 0)
    assert deaf.score(cycle, state.nodes.all_rows) is None


def test_a_replica_that_was_just_placed_counts_for_the_next():
    state = zones()
    shy = avoid(near("web", weight=3), soft=True)
    cycle, _ = cycle_for(plugin, state, shy)
    plugin.prescore(cycle)
    assert plugin.score(cycle, state.nodes.all_rows) is None
    plugin.add_pod(cycle, shy, 1)
    # It would rather be alone, and so would the one that is there.
    assert plugin.score(cycle, state.nodes.all_rows).tolist() == [0, -6, 0, 0]


def test_scoring_alone_counts_anew_each_time():
    state = zones()
    cycle = Cycle(state, like(near("db", weight=3), soft=True))
    plugin.prescore(cycle)
    assert plugin.score(cycle, state.nodes.all_rows) is None
    state.put_pod(pod("db-0", node="e2"))
    plugin.prescore(cycle)
    assert plugin.score(cycle, state.nodes.all_rows).tolist() == [0, 3, 0, 0]


def test_wrong_weight_is_an_input_error():
    with pytest.raises(InputError, match=r"0\.\.100"):
        InterPodAffinity(hardPodAffinityWeight=101)


# Waking up


def test_a_partner_that_comes_or_somebody_in_the_way_that_goes_may_help():
    wants, hates = like(near("db")), avoid(near("db"))
    database, gone = pod("db-0", node="e1"), pod("db-0", node="e1", labels={"app": "x"})
    assert plugin.hint(Event("pod", "add", None, database), wants)
    assert plugin.hint(Event("pod", "update", gone, database), wants)
    assert not plugin.hint(Event("pod", "update", database, database), wants)
    assert not plugin.hint(Event("pod", "delete", database, None), wants)
    assert not plugin.hint(Event("pod", "add", None, pod("db-0")), wants)
    assert not plugin.hint(Event("pod", "add", None, pod("db-0", node="e1", namespace="far")), wants)
    assert plugin.hint(Event("pod", "delete", database, None), hates)
    assert plugin.hint(Event("pod", "update", database, gone), hates)
    assert not plugin.hint(Event("pod", "add", None, database), hates)
    guard = avoid(near("web"), name="guard-0", node="e1")
    assert plugin.hint(Event("pod", "delete", guard, None), pod("web-0"))
    assert not plugin.hint(Event("pod", "delete", guard, None), pod("api-0"))
    assert plugin.hint(Event("pod", "update", wants, wants), wants)
    assert not plugin.hint(Event("service", "add"), wants)


def test_nodes_that_join_or_move_between_domains_may_help():
    wants, hates = like(near("db", key=ZONE)), avoid(near("db", key=ZONE))
    east, west, bare = node("n", zone="east"), node("n", zone="west"), node("n")
    assert plugin.hint(Event("node", "add", None, east), wants)
    assert not plugin.hint(Event("node", "add", None, bare), wants)
    assert plugin.hint(Event("node", "update", bare, east), wants)
    assert plugin.hint(Event("node", "update", west, east), wants)
    assert not plugin.hint(Event("node", "update", east, east), wants)
    assert plugin.hint(Event("node", "add", None, bare), hates)
    assert plugin.hint(Event("node", "update", east, bare), hates)
    assert not plugin.hint(Event("node", "update", bare, east), hates)
    assert plugin.hint(Event("node", "update", east, west), pod("web-0"))
    assert not plugin.hint(Event("node", "update", east, east), pod("web-0"))
