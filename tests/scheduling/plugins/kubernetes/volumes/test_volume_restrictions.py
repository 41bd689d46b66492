import pytest

from asking import cycle_for, passing, reasons
from builders import cluster, node, pod
from ecotone.model.objects import Claim, Volume
from ecotone.scheduling.decide import decide
from ecotone.scheduling.plugin import Event
from ecotone.scheduling.plugins.kubernetes.volumes.volume_restrictions import (
    CLAIM_TAKEN,
    DISK_TAKEN,
    VolumeRestrictions,
    clash,
)

plugin = VolumeRestrictions()
EXCLUSIVE = Claim("default", "data", volume="v", access_modes=frozenset({"ReadWriteOncePod"}))
SHARED = Claim("default", "data", volume="v", access_modes=frozenset({"ReadWriteOnce"}))


def mounting(*disks: str, name: str = "web-0", on: str | None = None):
    return pod(name, node=on, spec={"restricted_volumes": disks})


def claiming(*claims: str, name: str = "web-0", **more):
    return pod(name, spec={"claims": claims, **more.pop("spec", {})}, **more)


@pytest.mark.parametrize(
    ("one", "other", "conflict"),
    [
        ("gce-pd:d1", "gce-pd:d1", True),
        ("gce-pd:d1", "gce-pd:d2", False),
        ("gce-pd:d1:ro", "gce-pd:d1", True),
        ("gce-pd:d1:ro", "gce-pd:d1:ro", False),
        ("aws-ebs:v1", "aws-ebs:v1", True),
        ("iscsi:iqn.2001:x", "iscsi:iqn.2001:x:ro", True),
        ("iscsi:iqn.2001:x:ro", "iscsi:iqn.2001:x:ro", False),
        ("rbd:pool/image@m1,m2", "rbd:pool/image@m2,m3", True),
        ("rbd:pool/image@m1", "rbd:pool/image@m2", False),
        ("rbd:pool/image@m1:ro", "rbd:pool/image@m1:ro", False),
        ("rbd:pool/image@m1:ro", "rbd:pool/other@m1", False),
    ],
)
def test_which_disks_exclude_each_other(one, other, conflict):
    assert clash((one,), (other,)) is conflict
    assert clash((other,), (one,)) is conflict


def test_a_disk_that_cannot_be_shared_keeps_the_second_pod_off_the_node():
    state = cluster([node("a"), node("b")], [mounting("gce-pd:d1", name="old-0", on="a")])
    assert passing(plugin, state, mounting("gce-pd:d1")) == {"b"}
    assert reasons(plugin, state, mounting("gce-pd:d1:ro")) == {"a": [(DISK_TAKEN, False)]}
    assert passing(plugin, state, mounting("gce-pd:d2")) == {"a", "b"}
    assert passing(plugin, state, pod("web-0")) == {"a", "b"}


def test_a_claim_for_one_pod_is_taken_on_every_node():
    state = cluster(
        [node("a"), node("b")], [claiming("data", name="old-0", node="a")], claims={"default/data": EXCLUSIVE}
    )
    assert passing(plugin, state, claiming("data")) == set()
    assert reasons(plugin, state, claiming("data")) == {"a": [(CLAIM_TAKEN, False)], "b": [(CLAIM_TAKEN, False)]}
    state.claims["default/data"] = SHARED
    assert passing(plugin, state, claiming("data")) == {"a", "b"}


def test_the_same_name_in_another_namespace_is_another_claim():
    other = Claim("other", "data", volume="w", access_modes=frozenset({"ReadWriteOncePod"}))
    state = cluster(
        [node("a")],
        [claiming("data", name="old-0", node="a", namespace="other")],
        claims={"default/data": EXCLUSIVE, "other/data": other},
    )
    assert passing(plugin, state, claiming("data")) == {"a"}


def test_a_claim_that_is_not_there_is_the_pods_problem():
    state = cluster([node("a")])
    assert reasons(plugin, state, claiming("data")) == {"a": [('persistentvolumeclaim "data" not found', True)]}


def test_of_two_replicas_only_one_gets_the_claim_batched_or_not():
    volume_ready = {"default/data": Claim("default", "data", access_modes=frozenset({"ReadWriteOncePod"}), volume="v")}
    state = cluster(
        [node("a"), node("b")],
        [claiming("data", name="web-0"), claiming("data", name="web-1")],
        claims=volume_ready,
        volumes={"v": Volume("v")},
    )
    batched = decide(state.freeze(), "kube-default", batch=True).decisions
    assert [type(each).__name__ for each in batched] == ["Bind", "Wait"]
    assert CLAIM_TAKEN in batched[1].why
    assert batched == decide(state.freeze(), "kube-default", batch=False).decisions


def test_the_use_of_a_claim_follows_pods_that_come_and_go_during_the_cycle():
    user = claiming("data", name="old-0", node="a")
    state = cluster([node("a")], [user], claims={"default/data": EXCLUSIVE})
    cycle, _ = cycle_for(plugin, state, claiming("data"))
    rows = state.nodes.all_rows
    plugin.remove_pod(cycle, user, 0)
    assert plugin.filter(cycle, rows) is None
    plugin.add_pod(cycle, user, 0)
    assert not plugin.filter(cycle, rows).any()
    cycle, _ = cycle_for(plugin, state, pod("web-0"))
    plugin.add_pod(cycle, user, 0)
    plugin.remove_pod(cycle, user, 0)
    assert plugin.filter(cycle, rows) is None


def test_what_may_help():
    waiting = claiming("data", spec={"restricted_volumes": ("gce-pd:d1",)})
    assert plugin.hint(Event("claim", "add", None, SHARED), waiting)
    assert not plugin.hint(Event("claim", "add", None, Claim("other", "data")), waiting)
    assert plugin.hint(Event("pod", "delete", claiming("data", name="old-0", node="a"), None), waiting)
    assert plugin.hint(Event("pod", "delete", mounting("gce-pd:d1", name="old-0", on="a"), None), waiting)
    assert not plugin.hint(Event("pod", "delete", pod("old-0", node="a"), None), waiting)
    assert plugin.hint(Event("node", "add", None, node("b")), waiting)
