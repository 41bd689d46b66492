import pytest
from msgspec.structs import replace

from asking import cycle_for, passing, reasons
from builders import HOSTNAME, ZONE, cluster, labelled, node, pod, within
from ecotone.model.objects import Claim, StorageClass, Volume
from ecotone.model.selectors import NodeAffinity, NodeTerm
from ecotone.scheduling.decide import decide
from ecotone.scheduling.plugin import Cycle, Event
from ecotone.scheduling.plugins.kubernetes.volumes.volume_binding import (
    NO_VOLUME_FREE,
    UNBOUND,
    UNREACHABLE,
    VOLUME_GONE,
    VolumeBinding,
)

plugin = VolumeBinding()
RWO = frozenset({"ReadWriteOnce"})
MADE = StorageClass("made", "csi.example.com", waits_for_consumer=True)
LOCAL = StorageClass("local", "kubernetes.io/no-provisioner", waits_for_consumer=True)
NOW = StorageClass("now", "csi.example.com")


def on(key: str, *values: str) -> NodeAffinity:
    return NodeAffinity((NodeTerm((within(key, *values),)),))


def claim(name: str, **more) -> Claim:
    return Claim("default", name, **{"access_modes": RWO, **more})


def local(name: str, host: str, size: int = 10, **more) -> Volume:
    return Volume(
        name,
        **{
            "node_affinity": on(HOSTNAME, host),
            "storage_class": "local",
            "capacity": size,
            "access_modes": RWO,
            **more,
        },
    )


def using(*claims: str, name: str = "web-0", **more):
    return pod(name, spec={"claims": claims}, **more)


def storage(claims, volumes=(), classes=(MADE, LOCAL, NOW), pods=()):
    return cluster(
        [node("e1", zone="east"), node("e2", zone="east"), node("w1", zone="west")],
        pods,
        claims={each.key: each for each in claims},
        volumes={each.name: each for each in volumes},
        storage_classes={each.name: each for each in classes},
    )


# Bound


def test_a_bound_volume_is_reached_from_where_its_node_affinity_says():
    state = storage([claim("data", volume="v")], [Volume("v", node_affinity=on(ZONE, "east"))])
    assert passing(plugin, state, using("data")) == {"e1", "e2"}
    assert reasons(plugin, state, using("data")) == {"w1": [(UNREACHABLE, True)]}


def test_several_volumes_must_all_be_reachable():
    volumes = [Volume("v", node_affinity=on(ZONE, "east")), local("w", "e2"), Volume("anywhere")]
    state = storage([claim("a", volume="v"), claim("b", volume="w"), claim("c", volume="anywhere")], volumes)
    assert passing(plugin, state, using("a", "b", "c")) == {"e2"}
    assert passing(plugin, state, using("c")) == {"e1", "e2", "w1"}


def test_a_volume_that_is_gone_leaves_no_node():
    state = storage([claim("data", volume="v")])
    assert reasons(plugin, state, using("data"))["e1"] == [(VOLUME_GONE, True)]


# Not judged on nodes at all


@pytest.mark.parametrize(
    ("claims", "why"),
    [
        ([], 'persistentvolumeclaim "data" not found'),
        ([claim("data", deleting=True)], 'persistentvolumeclaim "data" is being deleted'),
        ([claim("data", storage_class="now")], UNBOUND),
        ([claim("data")], UNBOUND),
        ([claim("data", storage_class="lost")], 'storageclass.storage.k8s.io "lost" not found'),
    ],
)
def test_claims_that_keep_the_pod_waiting(claims, why):
    assert reasons(plugin, storage(claims), using("data"))["w1"] == [(why, True)]


def test_pods_without_claims_are_none_of_its_business():
    state = storage([])
    cycle = Cycle(state, pod("web-0"))
    assert plugin.prefilter(cycle) is None
    assert plugin.filter(cycle, state.nodes.all_rows) is None
    assert plugin.reject(cycle, state.nodes.all_rows) == []
    plugin.add_pod(cycle, pod("web-1"), 0)
    assert plugin.reserve(cycle, 0) is None
    plugin.unreserve(cycle, 0)


# To be bound to an existing volume


def test_a_waiting_claim_goes_where_a_free_volume_suits():
    volumes = [
        local("small", "e1", size=3),
        local("taken", "e1", claim="default/other", available=False),
        local("wrong-class", "e1", storage_class="other"),
        local("wrong-mode", "e1", mode="Block"),
        local("wrong-access", "e1", access_modes=frozenset({"ReadOnlyMany"})),
        local("released", "e1", available=False),
        local("good", "w1"),
    ]
    state = storage([claim("data", storage_class="local", request=5)], volumes)
    assert passing(plugin, state, using("data")) == {"w1"}
    assert reasons(plugin, state, using("data")) == {"e1": [(NO_VOLUME_FREE, True)], "e2": [(NO_VOLUME_FREE, True)]}


def test_a_claim_may_select_its_volume_by_label():
    volumes = [local("a", "e1", labels=(("tier", "gold"),)), local("b", "e2")]
    state = storage([claim("data", storage_class="local", selector=labelled(tier="gold"))], volumes)
    assert passing(plugin, state, using("data")) == {"e1"}


def test_a_volume_promised_to_the_claim_is_the_only_one_for_it_unless_it_is_too_small():
    volumes = [local("mine", "e2", claim="default/data", available=False), local("free", "e1")]
    state = storage([claim("data", storage_class="local", request=5)], volumes)
    assert passing(plugin, state, using("data")) == {"e2"}
    cycle, _ = cycle_for(plugin, state, using("data"))
    assert plugin.reserve(cycle, 0) == NO_VOLUME_FREE
    assert plugin.reserve(cycle, 1) is None
    assert state.claims["default/data"].volume == "mine"
    plugin.unreserve(cycle, 1)
    state.volumes["mine"] = replace(state.volumes["mine"], capacity=1)
    assert passing(plugin, state, using("data")) == {"e1"}


def test_volumes_with_wider_affinity_are_found_too():
    two_terms = NodeAffinity((NodeTerm((within(HOSTNAME, "e1"),)), NodeTerm((within(ZONE, "west"),))))
    state = storage([claim("data", storage_class="local")], [local("v", "", node_affinity=two_terms)])
    assert passing(plugin, state, using("data")) == {"e1", "w1"}


def test_two_claims_of_a_pod_need_two_volumes():
    claims = [claim("a", storage_class="local"), claim("b", storage_class="local")]
    state = storage(claims, [local("v1", "e1"), local("v2", "e2"), local("v3", "e2")])
    assert passing(plugin, state, using("a", "b")) == {"e2"}


def test_the_smallest_volume_that_suits_is_taken_and_given_back():
    state = storage(
        [claim("a", storage_class="local", request=2), claim("b", storage_class="local", request=6)],
        [local("big", "e1", size=20), local("mid", "e1", size=8), local("tiny", "e1", size=1)],
    )
    cycle, _ = cycle_for(plugin, state, using("b", "a"))
    assert plugin.reserve(cycle, 0) is None
    assert state.claims["default/a"].volume == "mid"
    assert state.claims["default/b"].volume == "big"
    assert state.volumes["big"].claim == "default/b"
    plugin.unreserve(cycle, 0)
    assert state.claims["default/a"].volume is None
    assert state.volumes["big"].claim is None
    assert plugin.reserve(cycle, 2) == NO_VOLUME_FREE


# To be made


def test_a_volume_can_be_made_where_the_class_allows():
    west_only = replace(MADE, topologies=(on(ZONE, "west"), on(ZONE, "north")))
    assert passing(plugin, storage([claim("data", storage_class="made")]), using("data")) == {"e1", "e2", "w1"}
    state = storage([claim("data", storage_class="made")], classes=[west_only])
    assert passing(plugin, state, using("data")) == {"w1"}
    chosen = storage([claim("data", storage_class="made", selected_node="e2")])
    assert passing(plugin, chosen, using("data")) == {"e2"}
    gone = storage([claim("data", storage_class="made", selected_node="gone")])
    assert passing(plugin, gone, using("data")) == set()


def test_one_found_and_one_made():
    claims = [claim("a", storage_class="made"), claim("b", storage_class="made")]
    west_only = replace(MADE, topologies=(on(ZONE, "west"),))
    both = [local("v", "e1", storage_class="made"), local("w", "w1", storage_class="made")]
    # On e1 one claim finds a volume, and none can be made for the other.
    assert passing(plugin, storage(claims, both, [west_only]), using("a", "b")) == {"w1"}


def test_the_place_where_it_will_be_made_is_remembered():
    state = storage([claim("data", storage_class="made")])
    cycle, _ = cycle_for(plugin, state, using("data"))
    assert plugin.reserve(cycle, 1) is None
    assert state.claims["default/data"].selected_node == "e2"
    plugin.unreserve(cycle, 1)
    assert state.claims["default/data"].selected_node is None


# A round


@pytest.mark.parametrize("batch", [True, False])
def test_replicas_on_one_claim_follow_the_first(batch):
    pods = [using("data", name=f"web-{place}") for place in range(3)]
    state = storage([claim("data", storage_class="made")], pods=pods)
    snapshot = state.freeze()
    decisions = decide(snapshot, "kube-default", batch=batch).decisions
    assert len({each.node for each in decisions}) == 1
    assert snapshot.claims["default/data"].selected_node is None


@pytest.mark.parametrize("batch", [True, False])
def test_no_volume_is_given_away_twice(batch):
    claims = [claim(f"d{place}", storage_class="local") for place in range(3)]
    pods = [using(f"d{place}", name=f"db{place}-0") for place in range(3)]
    state = storage(claims, [local("v1", "e1"), local("v2", "w1")], pods=pods)
    decisions = decide(state.freeze(), "kube-default", batch=batch).decisions
    assert sorted(getattr(each, "node", "waits") for each in decisions) == ["e1", "w1", "waits"]


def test_what_may_help():
    waiting = using("data")
    assert plugin.hint(Event("claim", "update", None, claim("data", volume="v")), waiting)
    assert not plugin.hint(Event("claim", "update", None, claim("logs", volume="v")), waiting)
    assert plugin.hint(Event("volume", "add", None, Volume("v")), waiting)
    assert not plugin.hint(Event("volume", "delete", Volume("v"), None), waiting)
    assert plugin.hint(Event("storage-class", "add", None, MADE), waiting)
    assert plugin.hint(Event("node", "add", None, node("a")), waiting)
    assert plugin.hint(Event("node", "update", node("a"), node("a", zone="east")), waiting)
    assert not plugin.hint(Event("node", "update", node("a"), node("a", cpu="9")), waiting)
    assert not plugin.hint(Event("pod", "delete", pod("x-0", node="a"), None), waiting)
