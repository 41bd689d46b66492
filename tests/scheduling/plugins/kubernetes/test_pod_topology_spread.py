import math

import pytest

from asking import cycle_for, passing, raw_scores, reasons, scores
from builders import HOSTNAME, ZONE, cluster, labelled, node, pod, spread, tolerating
from ecotone.model.errors import InputError
from ecotone.model.objects import ServiceSelector, Workload, WorkloadKey
from ecotone.model.selectors import EVERYTHING, NOTHING, SpreadConstraint, Taint
from ecotone.scheduling.plugin import Cycle, Event
from ecotone.scheduling.plugins.kubernetes.pod_topology_spread import SKEWED, UNLABELLED, PodTopologySpread

plugin = PodTopologySpread()


def web(*constraints: SpreadConstraint, name: str = "web-9", **more):
    return pod(name, **{**more, "spec": {"spread": constraints, **more.get("spec", {})}})


def two_zones(*pods, **more):
    return cluster([node("e1", zone="east"), node("e2", zone="east"), node("w1", zone="west"), node("x")], pods, **more)


# Filtering


def test_no_domain_may_be_more_than_max_skew_ahead_of_the_emptiest():
    state = two_zones(pod("web-0", node="e1"), pod("web-1", node="e2"))
    assert passing(plugin, state, web(spread("web"))) == {"w1"}
    assert passing(plugin, state, web(spread("web", skew=2))) == {"w1"}
    assert passing(plugin, state, web(spread("web", skew=3))) == {"e1", "e2", "w1"}
    assert reasons(plugin, state, web(spread("web"))) == {
        "e1": [(SKEWED, False)],
        "e2": [(SKEWED, False)],
        "x": [(UNLABELLED, True)],
    }


def test_a_pod_that_does_not_match_its_own_selector_does_not_count_itself():
    state = two_zones(pod("db-0", node="e1"))
    assert passing(plugin, state, web(spread("db"))) == {"e1", "e2", "w1"}
    assert passing(plugin, state, pod("db-9", spec={"spread": (spread("db"),)})) == {"w1"}


def test_only_pods_of_the_namespace_that_are_not_leaving_count():
    state = two_zones(
        pod("web-0", node="e1", namespace="other"), pod("web-1", node="e1", deleting=True), pod("api-0", node="e1")
    )
    assert passing(plugin, state, web(spread("web"))) == {"e1", "e2", "w1"}


def test_an_empty_or_missing_selector_counts_nobody():
    state = two_zones(pod("web-0", node="e1"), pod("web-1", node="e1"))
    for selector in (EVERYTHING, NOTHING):
        assert passing(plugin, state, web(SpreadConstraint(1, ZONE, "DoNotSchedule", selector))) == {"e1", "e2", "w1"}


def test_too_few_domains_count_the_emptiest_as_zero():
    state = two_zones(pod("web-0", node="e1"), pod("web-1", node="w1"))
    assert passing(plugin, state, web(spread("web", min_domains=2))) == {"e1", "e2", "w1"}
    assert passing(plugin, state, web(spread("web", min_domains=3))) == set()


def test_nodes_that_the_pod_cannot_use_count_or_not_as_the_policies_say():
    state = cluster(
        [
            node("e1", zone="east", labels={"disk": "ssd"}),
            node("w1", zone="west"),
            node("n1", zone="north", taints=[Taint("t")]),
        ],
        [pod("web-0", node="e1")],
    )
    # Honoured, the west and north have no node the pod could use and are no domains; then the east is the emptiest.
    picky = {"node_selector": (("disk", "ssd"),)}
    assert "e1" in passing(plugin, state, web(spread("web"), spec=picky))
    assert "e1" not in passing(plugin, state, web(spread("web", node_affinity_policy="Ignore"), spec=picky))
    # The tainted north counts unless taints are honoured.
    state.put_pod(pod("web-1", node="w1"))
    assert passing(plugin, state, web(spread("web"))) == {"n1"}
    assert passing(plugin, state, web(spread("web", node_taints_policy="Honor"))) == {"e1", "w1", "n1"}
    tolerant = {"tolerations": (tolerating("t"),)}
    assert passing(plugin, state, web(spread("web", node_taints_policy="Honor"), spec=tolerant)) == {"n1"}


def test_all_constraints_must_hold_and_nodes_without_every_label_count_for_none():
    state = two_zones(pod("web-0", node="e1"), pod("web-1", node="x"), pod("web-2", node="w1"))
    both = web(spread("web"), spread("web", key=HOSTNAME))
    assert passing(plugin, state, both) == {"e2"}
    assert reasons(plugin, state, both)["x"] == [(UNLABELLED, True)]


def test_match_label_keys_narrow_the_selector_to_the_pods_own_value():
    old, new = {"app": "web", "version": "1"}, {"app": "web", "version": "2"}
    state = two_zones(pod("web-0", node="e1", labels=old), pod("web-1", node="w1", labels=new))
    narrowed = spread("web", match_label_keys=("version", "unknown"))
    assert passing(plugin, state, web(narrowed, labels=new)) == {"e1", "e2"}
    assert passing(plugin, state, web(spread("web"), labels=new)) == {"e1", "e2", "w1"}
    nothing = SpreadConstraint(1, ZONE, "DoNotSchedule", NOTHING, match_label_keys=("version",))
    assert passing(plugin, state, web(nothing, labels=new)) == {"e1", "e2", "w1"}


def test_counts_follow_pods_that_come_and_go_during_the_cycle():
    state = two_zones(pod("web-0", node="e1"))
    cycle, _ = cycle_for(plugin, state, web(spread("web"), spread("web", key=HOSTNAME, soft=True)))
    cycle.feasible = state.nodes.all_rows
    plugin.prescore(cycle)
    rows = state.nodes.all_rows
    assert plugin.filter(cycle, rows).tolist() == [False, False, True, False]
    before = plugin.score(cycle, rows).tolist()
    plugin.add_pod(cycle, pod("web-1"), 2)
    assert plugin.filter(cycle, rows).tolist() == [True, True, True, False]
    assert plugin.score(cycle, rows).tolist() != before
    plugin.remove_pod(cycle, pod("web-1"), 2)
    assert plugin.filter(cycle, rows).tolist() == [False, False, True, False]
    assert plugin.score(cycle, rows).tolist() == before
    for unrelated in (pod("api-0"), pod("web-1", namespace="other"), pod("web-1", deleting=True)):
        plugin.add_pod(cycle, unrelated, 2)
    assert plugin.filter(cycle, rows).tolist() == [False, False, True, False]


# Scoring


def test_a_soft_constraint_counts_by_the_logarithm_of_its_domains():
    state = two_zones(*(pod(f"web-{place}", node="e1") for place in range(3)), pod("web-3", node="w1"))
    soft = web(spread("web", soft=True, skew=2))
    weight = math.log(2 + 2)
    # Rounded half up; the node without the label is ignored.
    east, west = math.floor(3 * weight + 1 + 0.5), math.floor(weight + 1 + 0.5)
    assert raw_scores(plugin, state, soft) == {"e1": east, "e2": east, "w1": west, "x": 0}
    assert scores(plugin, state, soft) == {
        "e1": 100 * west // east,
        "e2": 100 * west // east,
        "w1": 100,
        "x": 0,
    }
    # Only domains with a feasible node count for the weight.
    fewer = math.floor(3 * math.log(1 + 2) + 1 + 0.5)
    assert raw_scores(plugin, state, soft, feasible=["e1", "e2"]) == {"e1": fewer, "e2": fewer}
    assert scores(plugin, state, soft, feasible=["e1", "e2"]) == {"e1": 100, "e2": 100}
    assert scores(plugin, state, soft, feasible=["x"]) == {"x": 0}


def test_for_host_names_every_candidate_is_a_domain_and_each_node_counts_its_own_pods():
    state = two_zones(pod("web-0", node="e1"), pod("web-1", node="e1"), pod("web-2", node="x"))
    soft = web(spread("web", key=HOSTNAME, soft=True))
    one, two = (math.floor(count * math.log(4 + 2) + 0.5) for count in (1, 2))
    assert raw_scores(plugin, state, soft) == {"e1": two, "e2": 0, "w1": 0, "x": one}
    assert scores(plugin, state, soft) == {"e1": 0, "e2": 100, "w1": 100, "x": 100 * (two - one) // two}


def test_nothing_to_tell_them_apart_is_100_for_all():
    assert scores(plugin, two_zones(), web(spread("web", key=HOSTNAME, soft=True))) == dict.fromkeys(
        ("e1", "e2", "w1", "x"), 100
    )


def test_pods_without_constraints_are_spread_by_default_if_a_service_or_owner_selects_them():
    pods = [pod("web-0", node="e1"), pod("web-1", node="x"), pod("web-2", node="x")]
    service = ServiceSelector("default", "web", labelled(app="web"))
    state = two_zones(*pods, services=(service, ServiceSelector("other", "all", EVERYTHING)))
    host, zone = math.log(4 + 2), math.log(3 + 2)  # the node without a zone is a domain of its own
    expected = {
        "e1": 1 * host + 2 + 1 * zone + 4,
        "e2": 0 * host + 2 + 1 * zone + 4,
        "w1": 0 * host + 2 + 0 * zone + 4,
        "x": 2 * host + 2,
    }
    assert raw_scores(plugin, state, pod("web-9")) == {
        name: math.floor(value + 0.5) for name, value in expected.items()
    }
    assert raw_scores(plugin, state, pod("api-9")) is None
    owned = two_zones(*pods, workloads=[Workload(WorkloadKey("default", "web"), selector=labelled(app="web"))])
    assert raw_scores(plugin, owned, pod("web-9")) == raw_scores(plugin, state, pod("web-9"))
    # Constraints of its own, even hard ones, replace the default ones.
    assert raw_scores(plugin, state, web(spread("web"))) is None


def test_a_deployments_pods_are_spread_among_those_of_the_same_template():
    labels = [{"app": "web", "pod-template-hash": each} for each in ("old", "new")]
    workload = Workload(WorkloadKey("default", "web"), selector=labelled(app="web"))
    state = two_zones(pod("web-0", node="e1", labels=labels[0]), workloads=[workload])
    old, new = (raw_scores(plugin, state, pod("web-9", labels=each)) for each in labels)
    assert old["e1"] > old["w1"]
    assert new["e1"] == new["w1"]


def test_jobs_and_daemon_sets_have_no_default_spreading():
    key = WorkloadKey("default", "work", "Job")
    state = two_zones(workloads=[Workload(key, selector=labelled(app="work"))])
    job = pod("work-0")
    object.__setattr__(job.kind, "workload", key)
    assert raw_scores(plugin, state, job) is None


def test_list_defaults_can_be_hard_and_need_every_label():
    hard = PodTopologySpread(
        defaultingType="List",
        defaultConstraints=[{"maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": "DoNotSchedule"}],
    )
    service = ServiceSelector("default", "web", labelled(app="web"))
    state = two_zones(pod("web-0", node="e1"), services=(service,))
    assert passing(hard, state, pod("web-9")) == {"w1"}
    assert passing(hard, state, pod("api-9")) == {"e1", "e2", "w1", "x"}
    none = PodTopologySpread(defaultingType="List")
    assert raw_scores(none, state, pod("web-9")) is None
    soft = PodTopologySpread(
        defaultingType="List",
        defaultConstraints=[{"maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": "ScheduleAnyway"}],
    )
    assert scores(soft, state, pod("web-9"))["x"] == 0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"defaultingType": "Cluster"}, "System or List"),
        ({"defaultConstraints": [{}]}, "List"),
        ({"defaultingType": "List", "defaultConstraints": [{"maxSkew": 1}]}, "topologyKey"),
        (
            {
                "defaultingType": "List",
                "defaultConstraints": [{"maxSkew": 0, "topologyKey": ZONE, "whenUnsatisfiable": "ScheduleAnyway"}],
            },
            "at least 1",
        ),
    ],
)
def test_wrong_arguments_are_input_errors(arguments, said):
    with pytest.raises(InputError, match=said):
        PodTopologySpread(**arguments)


def test_scoring_alone_counts_anew_each_time():
    state = two_zones()
    cycle = Cycle(state, web(spread("web", key=HOSTNAME, soft=True)), feasible=state.nodes.all_rows)
    plugin.prescore(cycle)
    assert plugin.score(cycle, state.nodes.all_rows).tolist() == [0, 0, 0, 0]
    state.put_pod(pod("web-0", node="e2"))
    plugin.prescore(cycle)
    assert plugin.score(cycle, state.nodes.all_rows).tolist() == [0, 2, 0, 0]


# Waking up


def test_pods_that_match_a_hard_constraint_may_help_when_they_come_go_or_change():
    waiting = web(spread("web"))
    match, other = pod("web-0", node="e1"), pod("web-0", node="e1", labels={"app": "api"})
    assert plugin.hint(Event("pod", "add", None, match), waiting)
    assert plugin.hint(Event("pod", "delete", match, None), waiting)
    assert plugin.hint(Event("pod", "update", other, match), waiting)
    assert plugin.hint(Event("pod", "update", waiting, waiting), waiting)
    assert not plugin.hint(Event("pod", "update", match, match), waiting)
    assert not plugin.hint(Event("pod", "add", None, other), waiting)
    assert not plugin.hint(Event("pod", "add", None, pod("web-1")), waiting)
    assert not plugin.hint(Event("pod", "delete", pod("web-1", node="e1", namespace="other"), None), waiting)
    assert not plugin.hint(Event("service", "add"), waiting)
    assert plugin.hint(Event("pod", "add", None, match), pod("web-8"))


def test_nodes_that_join_leave_or_move_between_domains_may_help():
    waiting = web(spread("web"))
    east, west, bare = node("n", zone="east"), node("n", zone="west"), node("n")
    assert plugin.hint(Event("node", "add", None, east), waiting)
    assert plugin.hint(Event("node", "delete", east, None), waiting)
    assert plugin.hint(Event("node", "update", east, west), waiting)
    assert plugin.hint(Event("node", "update", bare, east), waiting)
    assert plugin.hint(Event("node", "update", east, node("n", zone="east", taints=[Taint("t")])), waiting)
    assert not plugin.hint(Event("node", "update", east, east), waiting)
    assert not plugin.hint(Event("node", "add", None, bare), waiting)
    assert plugin.hint(Event("node", "add", None, bare), pod("web-8"))
