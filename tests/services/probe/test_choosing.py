"""Whom a node probes."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from ecotone.services.probe.choosing import ALL, SAMPLE, chosen

NODES = [f"node-{n}" for n in range(300)]


def test_up_to_the_limit_everybody_probes_everybody() -> None:
    names = NODES[:ALL]
    assert chosen("node-3", names) == sorted(set(names) - {"node-3"})


def test_above_it_everybody_has_a_sample_of_its_own() -> None:
    names = NODES[: ALL + 1]
    samples = {name: chosen(name, names) for name in names}
    assert all(len(sample) == SAMPLE and name not in sample for name, sample in samples.items())
    assert len({tuple(sample) for sample in samples.values()}) == len(names)


def test_nobody_is_left_unprobed() -> None:
    probed = Counter(target for name in NODES for target in chosen(name, NODES))
    assert min(probed[name] for name in NODES) >= 1


@given(st.sets(st.text("abc", min_size=1, max_size=5), max_size=150), st.text("abc", min_size=1, max_size=5))
def test_a_newcomer_changes_at_most_one_entry(names: set[str], newcomer: str) -> None:
    before = chosen("own", names, most=20, sample=8)
    after = chosen("own", names | {newcomer}, most=20, sample=8)
    if len(names - {"own"}) + 1 > 20:
        assert len(set(before) - set(after)) <= 1
        assert set(after) - set(before) <= {newcomer}
