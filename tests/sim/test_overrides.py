"""Values of a scenario replaced by path: what is named changes, everything else stays, and a wrong path says so."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ecotone.model.errors import InputError
from ecotone.sim.scenario import builtin_scenarios, read_scenario
from ecotone.sim.scenario.overrides import with_values

TEXT = builtin_scenarios()["dag-workflow"]


@pytest.mark.parametrize("name", sorted(builtin_scenarios()))
def test_nothing_replaced_is_the_same_scenario(name: str) -> None:
    text = builtin_scenarios()[name]
    assert read_scenario(with_values(text, {}, file=name), file=name) == read_scenario(text, file=name)


def test_a_value_and_a_value_of_every_item_are_replaced_and_nothing_else() -> None:
    changed = with_values(TEXT, {"network.default.rtt": "7ms", "load.*.arrivals.users": 3}, file="x")
    before, after = read_scenario(TEXT, file="x"), read_scenario(changed, file="x")
    assert after.network.default.rtt == 0.007 and [load.users for load in after.load] == [3]
    kept = replace(after, network=before.network, load=before.load)
    assert kept == before


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("network.defualt.rtt", "there is no `defualt`"),
        ("load.7.for", "`7` is no item of a list of 1"),
        ("load.first.for", "`first` is no item"),
        ("duration.seconds", "below a plain value"),
    ],
)
def test_a_path_that_leads_nowhere_is_refused(path: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        with_values(TEXT, {path: 1}, file="x")
