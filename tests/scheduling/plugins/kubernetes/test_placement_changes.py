"""What placing a replica changes for the next one: nothing, where the pod gives a plugin nothing to look at."""

from __future__ import annotations

from typing import Any

import pytest

from builders import HOSTNAME, cluster, labelled, near, node, pod, spread
from ecotone.model.objects import ServiceSelector
from ecotone.model.selectors import PodAffinity
from ecotone.scheduling.plugin import Cycle, Plugin, change_by_placement
from ecotone.scheduling.plugins.kubernetes.inter_pod_affinity import InterPodAffinity
from ecotone.scheduling.plugins.kubernetes.pod_topology_spread import PodTopologySpread
from ecotone.scheduling.plugins.kubernetes.volumes.volume_binding import VolumeBinding
from ecotone.scheduling.plugins.kubernetes.volumes.volume_restrictions import VolumeRestrictions

ASKED: list[tuple[Plugin, dict[str, Any]]] = [
    (InterPodAffinity(), {"pod_affinity": PodAffinity(required=(near("db"),))}),
    (InterPodAffinity(), {"pod_anti_affinity": PodAffinity(preferred=(near("web", key=HOSTNAME, weight=1),))}),
    (PodTopologySpread(), {"spread": (spread("web"),)}),
    (PodTopologySpread(), {"spread": (spread("web", soft=True),)}),
    (VolumeBinding(), {"claims": ("data",)}),
    (VolumeRestrictions(), {"claims": ("data",)}),
    (VolumeRestrictions(), {"restricted_volumes": ("ebs:disk",)}),
]


@pytest.mark.parametrize(("plugin", "spec"), ASKED)
def test_a_pod_that_asks_for_something_is_looked_at_after_every_placement(plugin: Plugin, spec: dict[str, Any]) -> None:
    state = cluster([node("a")])
    assert change_by_placement(plugin, Cycle(state, pod("web-0", spec=spec))) == "everything"
    assert change_by_placement(plugin, Cycle(state, pod("web-0"))) == "nothing"


def test_a_service_that_selects_a_pod_spreads_it() -> None:
    state = cluster([node("a")])
    state.set_services([ServiceSelector("default", "web", labelled(app="web"))])
    assert change_by_placement(PodTopologySpread(), Cycle(state, pod("web-0"))) == "everything"
    assert change_by_placement(PodTopologySpread(), Cycle(state, pod("db-0"))) == "nothing"
