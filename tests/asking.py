"""How tests ask one plugin: filter, reasons and scores by node name."""

from __future__ import annotations

from typing import Any

import numpy as np

from ecotone.model.objects import Pod
from ecotone.model.state import ClusterState
from ecotone.scheduling.plugin import Cycle, Refusal


def cycle_for(plugin: Any, state: ClusterState, pod: Pod) -> tuple[Cycle, Refusal | None]:
    cycle = Cycle(state, pod)
    refusal = plugin.prefilter(cycle) if hasattr(plugin, "prefilter") else None
    return cycle, refusal


def passing(plugin: Any, state: ClusterState, pod: Pod) -> set[str]:
    """The nodes that pass; asked for all rows at once and for each row alone, which must agree."""
    cycle, refusal = cycle_for(plugin, state, pod)
    if refusal is not None:
        return set()
    return _names(plugin, cycle)


def _names(plugin: Any, cycle: Cycle) -> set[str]:
    nodes = cycle.state.nodes
    mask = plugin.filter(cycle, nodes.all_rows)
    mask = np.ones(len(nodes), dtype=bool) if mask is None else mask
    for row in range(len(nodes)):
        alone = plugin.filter(cycle, nodes.all_rows[row : row + 1])
        assert (alone is None or bool(alone[0])) == bool(mask[row])
    return {name for name, passes in zip(nodes.names, mask, strict=True) if passes}


def reasons(plugin: Any, state: ClusterState, pod: Pod) -> dict[str, list[tuple[str, bool]]]:
    """Per node that fails: (reason, final), checked to cover exactly the nodes that the filter turns away."""
    cycle, refusal = cycle_for(plugin, state, pod)
    nodes = state.nodes
    if refusal is not None:
        return {name: [(refusal.reason, refusal.final)] for name in nodes.names}
    found: dict[str, list[tuple[str, bool]]] = {}
    for each in plugin.reject(cycle, nodes.all_rows):
        for row in np.flatnonzero(each.mask):
            found.setdefault(nodes.names[row], []).append((each.reason, each.final))
    assert set(found) == set(nodes.names) - _names(plugin, cycle)
    return found


def raw_scores(plugin: Any, state: ClusterState, pod: Pod, *, feasible: list[str] | None = None) -> Any:
    return _scores(plugin, state, pod, feasible)[0]


def scores(plugin: Any, state: ClusterState, pod: Pod, *, feasible: list[str] | None = None) -> Any:
    """Normalised scores by node, over the feasible ones; None where the plugin gives none."""
    return _scores(plugin, state, pod, feasible)[1]


def _scores(
    plugin: Any, state: ClusterState, pod: Pod, feasible: list[str] | None
) -> tuple[dict[str, float] | None, dict[str, float] | None]:
    cycle, _ = cycle_for(plugin, state, pod)
    nodes = state.nodes
    rows = nodes.all_rows if feasible is None else np.array(sorted(nodes.index[name] for name in feasible))
    cycle.feasible = rows
    if hasattr(plugin, "prescore"):
        plugin.prescore(cycle)
    raw = plugin.score(cycle, rows)
    if raw is None:
        return None, None
    everywhere = plugin.score(cycle, nodes.all_rows)
    assert np.array_equal(everywhere[rows], raw, equal_nan=True)
    for row in rows:
        alone = plugin.score(cycle, nodes.all_rows[row : row + 1])
        assert alone is not None
        assert np.array_equal(alone, everywhere[row : row + 1], equal_nan=True)
    normalized = plugin.normalize(cycle, raw) if hasattr(plugin, "normalize") else raw
    names = [nodes.names[row] for row in rows]
    return dict(zip(names, raw.tolist(), strict=True)), dict(zip(names, np.asarray(normalized).tolist(), strict=True))
