from asking import passing, reasons
from builders import cluster, node, pod
from ecotone.model.objects import Claim, StorageClass, Volume
from ecotone.scheduling.plugin import Cycle, Event
from ecotone.scheduling.plugins.kubernetes.volumes.node_volume_limits import TOO_MANY, NodeVolumeLimits, attached

plugin = NodeVolumeLimits()
CSI = "csi.example.com"


def using(*claims: str, name: str = "web-0", on: str | None = None):
    return pod(name, node=on, spec={"claims": claims})


def disks(*pods, nodes=("a", "b"), limit: int = 2, other: int = 5):
    names = [f"c{place}" for place in range(6)]
    return cluster(
        [node(name, attachable={CSI: limit, "other.example.com": other}) for name in nodes] + [node("free")],
        pods,
        claims={f"default/{name}": Claim("default", name, volume=f"v-{name}") for name in names}
        | {
            "default/new": Claim("default", "new", storage_class="fast"),
            "default/nfs": Claim("default", "nfs", volume="nfs"),
        },
        volumes={f"v-{name}": Volume(f"v-{name}", driver=CSI) for name in names} | {"nfs": Volume("nfs")},
        storage_classes={"fast": StorageClass("fast", CSI, waits_for_consumer=True)},
    )


def test_a_node_holds_only_so_many_volumes_of_a_driver():
    state = disks(using("c0", name="x-0", on="a"), using("c1", name="y-0", on="a"), using("c2", name="z-0", on="b"))
    assert passing(plugin, state, using("c3")) == {"b", "free"}
    assert passing(plugin, state, using("c3", "c4")) == {"free"}
    assert reasons(plugin, state, using("c3")) == {"a": [(TOO_MANY, False)]}


def test_many_nodes_at_once_agree_with_one_by_one():
    names = [f"n{place}" for place in range(12)]
    state = disks(using("c0", name="x-0", on="n3"), using("c1", name="y-0", on="n3"), nodes=names)
    assert passing(plugin, state, using("c2")) == {*names, "free"} - {"n3"}


def test_a_volume_shared_on_a_node_counts_once():
    names = [f"n{place}" for place in range(12)]
    for nodes in (("a", "b"), ("a", *names)):
        state = disks(using("c0", name="x-0", on="a"), using("c0", "c1", name="y-0", on="a"), nodes=nodes)
        assert "a" in passing(plugin, state, using("c0"))
        assert "a" not in passing(plugin, state, using("c2"))
        assert "a" not in passing(plugin, state, using("c0", "c2"))


def test_a_claim_that_will_get_a_volume_counts_for_its_classes_driver():
    state = disks(using("c0", name="x-0", on="a"), using("c1", name="y-0", on="a"))
    assert attached(state, using("new").kind) == {"claim default/new": CSI}
    assert passing(plugin, state, using("new")) == {"b", "free"}


def test_other_volumes_and_unknown_claims_do_not_count():
    state = disks(limit=0)
    for who in (using("nfs"), using("unknown"), pod("web-0")):
        cycle = Cycle(state, who)
        assert plugin.filter(cycle, state.nodes.all_rows) is None
        assert plugin.reject(cycle, state.nodes.all_rows) == []
    assert passing(plugin, state, using("c0")) == {"free"}


def test_without_limits_there_is_nothing_to_say():
    state = cluster(
        [node("a")], claims={"default/c0": Claim("default", "c0", volume="v")}, volumes={"v": Volume("v", driver=CSI)}
    )
    assert plugin.filter(Cycle(state, using("c0")), state.nodes.all_rows) is None


def test_what_may_help():
    waiting = using("c0")
    assert plugin.hint(Event("pod", "delete", using("c1", name="x-0", on="a"), None), waiting)
    assert not plugin.hint(Event("pod", "delete", pod("x-0", node="a"), None), waiting)
    assert plugin.hint(Event("node", "update", node("a"), node("a", attachable={CSI: 3})), waiting)
    assert not plugin.hint(Event("node", "update", node("a"), node("a")), waiting)
    assert plugin.hint(Event("node", "add", None, node("a")), waiting)
    assert plugin.hint(Event("volume", "delete", Volume("v"), None), waiting)
