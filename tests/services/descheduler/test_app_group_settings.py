"""What an AppGroup says about its own descheduling, and how far back its figures reach."""

from __future__ import annotations

import pytest

from ecotone.manifests import wire
from ecotone.scheduling.profiles.policies import resolve
from ecotone.services.descheduler.settings import chosen


def group(*, window: str = "", said: wire.DeschedulerSpec | None = None) -> wire.AppGroup:
    spec = wire.AppGroupSpec(name="shop", window=window, descheduler=said)
    return wire.AppGroup(metadata=wire.Metadata(name="shop", namespace="ns"), spec=spec)


@pytest.mark.parametrize(("window", "seconds"), [("20s", 40.0), ("1m30s", 180.0), ("", 240.0), ("soon", 240.0)])
def test_figures_reach_back_twice_their_window(window: str, seconds: float) -> None:
    for said in (None, wire.DeschedulerSpec(cool_down_seconds=5.0)):
        _, settings = chosen(group(window=window, said=said), resolve("ecotone"))
        assert settings is not None
        assert settings.reach == seconds


def test_what_it_does_not_say_is_the_profiles() -> None:
    profile = resolve("ecotone")
    assert profile.descheduler is not None
    _, settings = chosen(group(said=wire.DeschedulerSpec(cool_down_seconds=5.0)), profile)
    assert settings is not None
    assert (settings.cool_down, settings.min_gain) == (5.0, profile.descheduler.min_gain)


def test_a_profile_without_a_descheduler_moves_nothing() -> None:
    assert chosen(group(), resolve("kube-default"))[1] is None
