"""How much CPU a node gets, and in which slices."""

from __future__ import annotations

import pytest

from ecotone.testbed.node.cgroups import SLICE_US, bandwidth


@pytest.mark.parametrize("cores", [0.02, 0.11, 0.15, 0.3, 0.9, 1.0, 2.0])
def test_a_node_gets_its_cores_in_the_shortest_slices_the_kernel_allows(cores: float) -> None:
    period, quota = bandwidth(cores)
    assert quota / period == pytest.approx(cores, rel=0.01)
    assert 1000 <= period <= 100_000
    assert SLICE_US <= quota <= 2 * SLICE_US
