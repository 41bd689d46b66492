"""Columns over nodes and counts over pods, asked the way plugins ask them."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from ecotone.model.columns.kinds import KindIndex, fixed_pair
from ecotone.model.columns.nodes import NodeTable
from ecotone.model.columns.usage import Counts
from ecotone.model.draw import draws, hash_texts
from ecotone.model.errors import did_you_mean
from ecotone.model.objects import HostPort, Node, Pod, PodKind, PodSpec, WorkloadKey
from ecotone.model.selectors import (
    EVERYTHING,
    NOTHING,
    LabelSelector,
    NodeAffinity,
    NodeTerm,
    PodAffinity,
    PodTerm,
    Requirement,
    Taint,
    Toleration,
)
from ecotone.model.state import ClusterState


def nodes() -> NodeTable:
    return NodeTable(
        [
            Node("b", {"cpu": 1000, "memory": 1, "pods": 5}, labels={"zone": "x", "size": "4"}, tier="edge"),
            Node("a", {"cpu": 2000, "memory": 2, "gpu": 1}, labels={"zone": "y"}, tier="cloud", unschedulable=True),
            Node("ä", {"cpu": 3000, "memory": 3}, labels={"size": "12"}, taints=(Taint("k"),), images={"nginx": 7}),
        ]
    )


def test_columns_follow_the_nodes() -> None:
    table = nodes()
    assert table.resources == ("cpu", "memory", "ephemeral-storage", "gpu")
    assert table.allocatable[:, table.column("gpu")].tolist() == [0, 1, 0]
    assert table.max_pods.tolist() == [5, 110, 110]
    assert table.column("fpga") is None
    assert table.rank.tolist() == [1, 0, 2]
    assert table.names_in_order == [b"a", b"b", "ä".encode()]
    assert table.unschedulable.tolist() == [False, True, False]
    assert table.tier_is("edge").tolist() == [True, False, False]
    assert table.tier_codes(("cloud", "edge")).tolist() == [1, 0, 2]
    codes, values = table.labels("zone")
    assert [values[code] if code >= 0 else None for code in codes] == ["x", "y", None]
    assert table.taints[1] == [(), (Taint("k"),)]
    rows, sizes = table.images["nginx"]
    assert (rows.tolist(), sizes.tolist()) == ([2], [7])


@pytest.mark.parametrize(
    ("requirement", "expected"),
    [
        (Requirement("zone", "In", ("x",)), [True, False, False]),
        (Requirement("zone", "NotIn", ("x",)), [False, True, True]),
        (Requirement("zone", "Exists"), [True, True, False]),
        (Requirement("zone", "DoesNotExist"), [False, False, True]),
        (Requirement("size", "Gt", ("4",)), [False, False, True]),
        (Requirement("size", "Lt", ("12",)), [True, False, False]),
        (Requirement("zone", "Gt", ("1",)), [False, False, False]),
        (Requirement("size", "Gt", ()), [False, False, False]),
        (Requirement("zone", "Near", ("x",)), [False, False, False]),
    ],
)
def test_requirements_over_columns(requirement: Requirement, expected: list[bool]) -> None:
    table = nodes()
    assert table.meets(requirement).tolist() == expected
    assert [requirement.accepts(node.labels.get(requirement.key)) for node in table.nodes] == expected


def test_terms_and_affinities_over_columns() -> None:
    table = nodes()
    by_name = NodeTerm(fields=(Requirement("metadata.name", "In", ("a",)),))
    by_label = NodeTerm(expressions=(Requirement("zone", "Exists"), Requirement("size", "Exists")))
    assert table.matches_term(by_name).tolist() == [False, True, False]
    assert table.matches_term(NodeTerm()).tolist() == [False, False, False]
    assert table.matches_affinity(NodeAffinity()).all()
    assert table.matches_affinity(NodeAffinity(required=(by_name, by_label))).tolist() == [True, True, False]
    assert not table.matches_affinity(NodeAffinity(required=())).any()
    assert table.matches_selector((("zone", "x"), ("size", "4"))).tolist() == [True, False, False]


def test_derived_answers_are_computed_once_and_read_only() -> None:
    table = nodes()
    asked = []

    def compute(given: NodeTable) -> np.ndarray:
        asked.append(given)
        return np.zeros(len(given))

    def other_question(_: NodeTable, number: int) -> int:
        return number

    first = table.derived("question", compute)
    assert table.derived("question", compute) is first
    assert len(asked) == 1
    with pytest.raises(ValueError, match="read-only"):
        first[0] = 1.0
    for number in range(NodeTable.most_answers):
        table.derived(number, partial(other_question, number=number))
    assert table.derived("question", compute) is not first


@pytest.mark.parametrize(
    ("toleration", "taint", "expected"),
    [
        (Toleration("k", value="v"), Taint("k", "v"), True),
        (Toleration("k", value="w"), Taint("k", "v"), False),
        (Toleration("k", "Exists"), Taint("k", "v", "NoExecute"), True),
        (Toleration("", "Exists"), Taint("any"), True),
        (Toleration("", "Equal"), Taint("", ""), False),
        (Toleration("k", "Exists", effect="NoExecute"), Taint("k"), False),
        (Toleration("x", "Exists"), Taint("k"), False),
        (Toleration("k", "Gt", "5"), Taint("k", "9"), True),
        (Toleration("k", "Lt", "5"), Taint("k", "9"), False),
        (Toleration("k", "Like", "v"), Taint("k", "v"), False),
    ],
)
def test_tolerations(toleration: Toleration, taint: Taint, *, expected: bool) -> None:
    assert toleration.tolerates(taint) is expected


def test_selectors_and_terms_about_pods() -> None:
    web = LabelSelector.of_labels({"app": "web"})
    assert web.matches({"app": "web", "x": "y"})
    assert not web.matches({})
    assert EVERYTHING.matches({})
    assert not NOTHING.matches({"app": "web"})
    term = PodTerm(
        web, "zone", namespaces=frozenset({"shop"}), namespace_selector=LabelSelector.of_labels({"team": "a"})
    )
    labels = {"app": "web"}
    assert term.about(namespace="shop", namespace_labels={}, labels=labels)
    assert term.about(namespace="other", namespace_labels={"team": "a"}, labels=labels)
    assert not term.about(namespace="other", namespace_labels={}, labels=labels)
    assert not term.about(namespace="shop", namespace_labels={}, labels={})


def kind(app: str, **spec: object) -> PodKind:
    return PodKind("default", WorkloadKey("default", app), labels=(("app", app),), spec=PodSpec(**spec))  # type: ignore[arg-type]


def test_kinds_are_found_by_label_and_by_whom_their_rules_are_about() -> None:
    web, db = kind("web"), kind("db", host_ports=(HostPort(80),), claims=("disk",))
    shy = kind(
        "shy", pod_anti_affinity=PodAffinity(required=(PodTerm(LabelSelector.of_labels({"app": "web"}), "zone"),))
    )
    wary = kind("wary", pod_affinity=PodAffinity(preferred=(PodTerm(EVERYTHING, "zone", weight=1),)))
    index = KindIndex([web, db, shy, wary, web])
    assert len(index) == 4
    assert list(index.matching(LabelSelector.of_labels({"app": "db"}), None)) == [db]
    assert list(index.matching(LabelSelector.of_labels({"app": "db"}), frozenset({"other"}))) == []
    assert set(index.matching(EVERYTHING, frozenset({"default"}))) == {web, db, shy, wary}
    assert set(index.with_rules_about(web.labels)) == {shy, wary}
    assert set(index.with_rules_about(db.labels)) == {wary}
    assert index.labels(web) == {"app": "web"}
    assert index.labels(kind("new")) == {"app": "new"}
    assert index.with_ports == [db]
    assert index.with_claims == [db]
    assert fixed_pair(LabelSelector((Requirement("a", "In", ("1", "2")), Requirement("b", "Exists")))) is None


def test_host_ports_conflict_on_the_same_or_any_address() -> None:
    assert HostPort(80).conflicts(HostPort(80, ip="10.0.0.1"))
    assert not HostPort(80, ip="10.0.0.2").conflicts(HostPort(80, ip="10.0.0.1"))
    assert not HostPort(80).conflicts(HostPort(81))
    assert not HostPort(80).conflicts(HostPort(80, "UDP"))


def test_kinds_are_equal_by_what_they_say() -> None:
    assert kind("web") == kind("web")
    assert hash(kind("web")) == hash(kind("web"))
    assert kind("web") != kind("web", priority=1)
    assert kind("web") != "web"
    assert kind("web").label("app") == "web"
    assert kind("web").label("zone") is None
    assert str(WorkloadKey("shop", "web")) == "shop/web"


def test_counts_never_keep_a_zero_and_forget_old_vectors() -> None:
    counts = Counts({5: 2, 1: 1})
    assert [each.tolist() for each in counts.vectors] == [[1, 5], [1, 2]]
    counts.bump(5, -2)
    counts.bump(0, 1)
    assert [each.tolist() for each in counts.vectors] == [[0, 1], [1, 1]]
    counts.bump(9, 0)
    assert dict(counts) == {1: 1, 0: 1}


def test_pods_of_a_snapshot_are_found_wherever_they_are() -> None:
    state = ClusterState()
    state.put_node(Node("a", {"cpu": 1000}))
    for name, node in (("bound", "a"), ("lost", "gone"), ("waiting", None)):
        state.put_pod(Pod(name, name, kind("web"), node=node))
    snapshot = state.freeze()
    assert [pod.name for pod in snapshot.pods()] == ["bound", "lost", "waiting"]
    assert snapshot.find_pod("default/lost") is not None
    assert snapshot.find_pod("default/nobody") is None
    assert state.find_pod("default/bound") is not None
    assert state.find_pod("default/waiting") is not None
    assert state.usage.everywhere(kind("web"))[0].tolist() == [0]


def test_draws_are_uniform_and_independent_of_company() -> None:
    names = hash_texts([f"node-{number}" for number in range(4000)])
    luck = draws(seed=1, uid="pod", names=names)
    assert ((luck >= 0) & (luck < 1)).all()
    assert abs(luck.mean() - 0.5) < 0.02
    assert draws(seed=1, uid="pod", names=names[10:20]).tolist() == luck[10:20].tolist()
    assert draws(seed=2, uid="pod", names=names[:5]).tolist() != luck[:5].tolist()
    assert draws(seed=1, uid="dog", names=names[:5]).tolist() != luck[:5].tolist()


def test_hints_name_what_is_close() -> None:
    assert did_you_mean("sophs", ["sophos", "nas"]) == "did you mean 'sophos'?"
    assert did_you_mean("xyz", ["sophos"]) is None
