"""A pod makes room for another one that needs its place more."""

from __future__ import annotations

from dataclasses import replace

from descheduling.applications import nodes, put
from ecotone.descheduling import deschedule
from ecotone.descheduling.plans import under_way
from ecotone.model import ClusterState, Evict, Pod, PodKind, PodSpec, WorkloadKey


def cluster(*, mails: float = 0.5, cpu: int = 1000) -> ClusterState:
    """web serves users at `near` from `far`, because mail, which the same users ask for seldom, fills `near`."""
    state = nodes("near", "far", "other", cpu=cpu)
    put(state, "web", ["far"], users={"near": 10.0}, cpu=600, use=20.0)
    put(state, "mail", ["near"], users={"near": mails}, cpu=700, use=20.0)
    return state


def moves(state: ClusterState) -> list[tuple[str, str]]:
    found = deschedule(state.freeze(), "ecotone").decisions
    return [(each.pod, each.target) for each in found if isinstance(each, Evict)]


def test_the_pod_that_loses_less_goes_and_the_other_one_follows() -> None:
    state = cluster()
    found, memory = deschedule(state.freeze(), "ecotone")
    (first,) = found
    assert isinstance(first, Evict)
    assert first.pod == "default/mail-0"
    mail = state.find_pod(first.pod)
    assert mail is not None
    state.drop_pod(mail.key)
    state.put_pod(replace(mail, name="mail-1", uid="u-mail-1", node=first.target))
    state.memory = dict(memory)
    assert moves(state) == [("default/web-0", "near")]


def test_the_other_one_follows_when_the_first_has_really_left() -> None:
    """A pod that is ending takes its room until it is gone: whoever comes would be put elsewhere, or wait."""
    state = cluster()
    found, memory = deschedule(state.freeze(), "ecotone")
    (first,) = found
    assert isinstance(first, Evict)
    mail = state.find_pod(first.pod)
    assert mail is not None
    state.put_pod(replace(mail, name="mail-1", uid="u-mail-1", node=first.target))
    state.drop_pod(mail.key)
    state.put_pod(replace(mail, ready=False, deleting=True))
    state.memory = dict(memory)
    found, memory = deschedule(state.freeze(), "ecotone")
    assert found == () and under_way(memory)
    state.memory = dict(memory)
    state.drop_pod(mail.key)
    assert moves(state) == [("default/web-0", "near")]


def test_a_plan_whose_target_is_gone_is_given_up() -> None:
    state = cluster()
    found, memory = deschedule(state.freeze(), "ecotone")
    (first,) = found
    assert isinstance(first, Evict)
    state.memory = dict(memory)
    mail = state.find_pod(first.pod)
    assert mail is not None
    state.drop_pod(mail.key)
    state.put_pod(replace(mail, name="mail-1", uid="u-mail-1", node=first.target))
    state.set_nodes(node for node in tuple(state.nodes.nodes) if node.name != "near")
    found, memory = deschedule(state.freeze(), "ecotone")
    assert found == () and not under_way(memory)


def test_nobody_goes_for_one_who_gains_less() -> None:
    assert moves(cluster(mails=10.0)) == []


def test_nobody_goes_where_there_is_room() -> None:
    assert moves(cluster(cpu=1600)) == [("default/web-0", "near")]


def test_a_guest_that_fits_nowhere_else_stays() -> None:
    state = cluster()
    for where in ("far", "other"):
        kind = PodKind(
            "default", WorkloadKey("default", f"full-{where}"), spec=PodSpec(requests=(("cpu", 350),), nonzero=(350, 0))
        )
        state.put_pod(Pod(f"full-{where}", f"u-{where}", kind, node=where, phase="Running", ready=True))
    assert moves(state) == []
