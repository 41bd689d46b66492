from asking import passing, reasons
from builders import ZONE, cluster, node, pod
from ecotone.model.objects import Claim, Volume
from ecotone.scheduling.plugin import Cycle, Event
from ecotone.scheduling.plugins.kubernetes.volumes.volume_zone import (
    OLD_REGION,
    OLD_ZONE,
    REGION,
    WRONG_ZONE,
    VolumeZone,
)

plugin = VolumeZone()
reader = pod("web-0", spec={"claims": ("data",)})


def zones(*labels: tuple[str, str], bound: bool = True):
    return cluster(
        [
            node("east", zone="east", labels={REGION: "r1"}),
            node("west", zone="west", labels={REGION: "r1"}),
            node("old", labels={OLD_ZONE: "east"}),
            node("bare"),
        ],
        claims={"default/data": Claim("default", "data", volume="v" if bound else None)},
        volumes={"v": Volume("v", labels=labels)},
    )


def test_a_labelled_volume_is_reachable_from_its_zones_and_from_nodes_without_any():
    assert passing(plugin, zones((ZONE, "east")), reader) == {"east", "bare"}
    assert passing(plugin, zones((ZONE, "east__west")), reader) == {"east", "west", "bare"}
    assert passing(plugin, zones((ZONE, "west"), (REGION, "r1")), reader) == {"west", "bare"}
    assert passing(plugin, zones((ZONE, "west"), (REGION, "r2")), reader) == {"bare"}
    assert reasons(plugin, zones((ZONE, "east")), reader) == {"west": [(WRONG_ZONE, True)], "old": [(WRONG_ZONE, True)]}


def test_old_label_names_on_the_volume_match_todays_on_the_node():
    assert passing(plugin, zones((OLD_ZONE, "east")), reader) == {"east", "old", "bare"}
    assert passing(plugin, zones((OLD_REGION, "r1")), reader) == {"east", "west", "bare"}


def test_no_labels_no_claims_or_no_volume_yet_say_nothing():
    for state, who in (
        (zones(("app", "x")), reader),
        (zones((ZONE, "east"), bound=False), reader),
        (zones(), pod("web-0")),
    ):
        cycle = Cycle(state, who)
        assert plugin.prefilter(cycle) is None
        assert plugin.filter(cycle, state.nodes.all_rows) is None
        assert plugin.reject(cycle, state.nodes.all_rows) == []


def test_a_volume_that_is_gone_is_the_pods_problem():
    state = cluster([node("a")], claims={"default/data": Claim("default", "data", volume="v")})
    assert reasons(plugin, state, reader) == {"a": [('persistentvolume "v" not found', True)]}


def test_what_may_help():
    assert plugin.hint(Event("claim", "update", None, Claim("default", "data", volume="v")), reader)
    assert not plugin.hint(Event("claim", "update", None, Claim("default", "logs")), reader)
    assert plugin.hint(Event("node", "add", None, node("a")), reader)
    assert plugin.hint(Event("node", "update", node("a"), node("a", zone="east")), reader)
    assert not plugin.hint(Event("node", "update", node("a"), node("a", labels={"x": "y"})), reader)
    assert plugin.hint(Event("volume", "add", None, Volume("v")), reader)
    assert not plugin.hint(Event("pod", "delete", pod("x-0", node="a"), None), reader)
