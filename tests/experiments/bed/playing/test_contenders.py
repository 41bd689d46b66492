"""Contenders of a compressed schedule."""

from __future__ import annotations

from ecotone.experiments.bed.fitting import INFRASTRUCTURE, with_infrastructure
from ecotone.experiments.bed.playing.contenders import COMPRESSED, ECOTONE, KUBE_DEFAULT, LOW, SOPHOS
from ecotone.experiments.bed.scenarios import Schedule, sock_shop
from ecotone.scheduling import resolve


def test_a_cool_down_is_compressed_like_the_loops_and_stays_nothing_where_a_policy_has_none() -> None:
    settings = resolve("ecotone").descheduler
    assert settings is not None and ECOTONE.cool_down == settings.cool_down / COMPRESSED > 0
    assert [each.cool_down for each in (KUBE_DEFAULT, SOPHOS, LOW)] == [0.0, 0.0, 0.0]


def test_what_all_share_stands_on_a_node_that_no_application_goes_to() -> None:
    plain = sock_shop(100.0, Schedule())
    bed = with_infrastructure(plain, cpu=2000)
    assert bed.nodes[:-1] == plain.nodes
    apart = bed.nodes[-1]
    assert (apart.name, apart.cpu) == (INFRASTRUCTURE, 2000) and apart.taints
    near = {frozenset(between): link.rtt for between, link in bed.network.links}
    assert all(near[frozenset((INFRASTRUCTURE, node.name))] < 0.01 for node in plain.nodes)
