"""The default plugins against plain loops, on random clusters."""

from __future__ import annotations

from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st

from ecotone.model.decisions import Bind, Preempt, Wait
from ecotone.model.snapshot import Snapshot
from ecotone.model.state import ClusterState
from ecotone.scheduling.decide import decide, framework_of
from ecotone.scheduling.evaluation import Evaluation
from ecotone.scheduling.plugin import Cycle
from ecotone.scheduling.profiles.policies import POLICIES
from random_clusters import clusters
from reference import kubernetes as reference

PROFILE = POLICIES["kube-default"]
checked = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def pod_of(snapshot: Snapshot, key: str):
    return next(pod for pod in snapshot.pods() if pod.key == key)


@checked
@given(clusters())
def test_every_filter_and_every_score_is_what_plain_loops_compute(state: ClusterState) -> None:
    plain = reference.Cluster.of(state.freeze())
    for pod in list(state.pending.values()):
        evaluation = Evaluation(framework_of(PROFILE), Cycle(state, pod))
        note(f"{pod}")
        assert evaluation.refusal is None
        for plugin, mask in zip(evaluation.framework.filters, evaluation.masks, strict=True):
            fails = reference.FILTERS.get(plugin.name)
            for row, node in enumerate(state.nodes.nodes):
                expected = fails is not None and fails(plain, pod, node)
                assert (mask is not None and not mask[row]) == expected, (plugin.name, node.name)
        names = [state.nodes.names[row] for row in evaluation.feasible]
        feasible = reference.feasible(plain, pod)
        assert names == [node.name for node in feasible]
        if not names:
            continue
        for term in evaluation.terms:
            wanted = reference.SCORES[term.scorer.name](plain, pod, feasible)
            values = [0] * len(names) if term.normalized is None else [int(value) for value in term.normalized]
            assert values == [wanted.get(name, 0) for name in names], term.scorer.name
        total = reference.totals(plain, pod, feasible)
        assert evaluation.total().tolist() == [total[name] for name in names]


@checked
@given(clusters())
def test_reasons_cover_exactly_the_nodes_that_fail(state: ClusterState) -> None:
    for pod in list(state.pending.values()):
        evaluation = Evaluation(framework_of(PROFILE), Cycle(state, pod))
        for plugin, mask in zip(evaluation.framework.filters, evaluation.masks, strict=True):
            if mask is not None:
                told = ~mask & False
                for each in plugin.reject(evaluation.cycle, evaluation.rows):
                    told |= each.mask
                assert (told == ~mask).all(), plugin.name


@checked
@given(st.one_of(clusters(), clusters(crowded=True)))
def test_no_decision_breaks_a_rule_when_it_is_taken(state: ClusterState) -> None:
    snapshot = state.freeze()
    plain = reference.Cluster.of(snapshot)
    for decision in decide(snapshot, "kube-default").decisions:
        pod = pod_of(snapshot, decision.pod)
        if isinstance(decision, Wait):
            assert not reference.feasible(plain, pod)
            continue
        if isinstance(decision, Preempt):
            assert not reference.feasible(plain, pod)
            assert decision.victims
            for key in decision.victims:
                victim = pod_of(snapshot, key)
                assert victim.spec.priority < pod.spec.priority
                assert victim.node == decision.node
                plain.remove(key)
        assert isinstance(decision, Bind | Preempt)
        fits = reference.feasible(plain, pod)
        assert decision.node in [node.name for node in fits]
        if isinstance(decision, Bind):
            totals = reference.totals(plain, pod, fits)
            assert totals[decision.node] == max(totals.values())
        plain.place(pod, decision.node)


@checked
@given(st.one_of(clusters(most_pending=14), clusters(crowded=True)))
def test_a_batch_decides_what_pod_by_pod_decides(state: ClusterState) -> None:
    snapshot = state.freeze()
    assert decide(snapshot, "kube-default", batch=True) == decide(snapshot, "kube-default", batch=False)


@checked
@given(clusters(crowded=True))
def test_looking_for_victims_leaves_the_cluster_as_it_was(state: ClusterState) -> None:
    for pod in list(state.pending.values()):
        cycle = Cycle(state, pod)
        framework = framework_of(PROFILE)
        evaluation = Evaluation(framework, cycle)
        if evaluation.best() is not None:
            continue
        before = picture(state)
        for last in framework.postfilters:
            last.postfilter(cycle, evaluation)
        assert picture(state) == before
        again = Evaluation(framework, Cycle(state, pod))
        for plugin, one, two in zip(framework.filters, evaluation.masks, again.masks, strict=True):
            now = plugin.filter(cycle, evaluation.rows)
            assert as_list(now) == as_list(one) == as_list(two), plugin.name


def as_list(mask):
    return None if mask is None else mask.tolist()


def picture(state: ClusterState):
    usage = state.usage
    return (
        usage.requested.tolist(),
        usage.nonzero.tolist(),
        usage.pod_count.tolist(),
        list(usage.pods_on),
        dict(usage.ports),
        {kind: dict(rows) for kind, rows in usage.placed.items() if rows},
        {kind: dict(rows) for kind, rows in usage.peers.items() if rows},
    )
