"""IndexSort: front ends before what is behind them (Sophos thesis, section 4.5, QueueSort).

Within one application group the lower topological index goes first, then priority, then arrival; pods without an index
come last in their group. So the first pods follow the users, and the next ones follow them.

Deviations: the text compares any two pods, which is no order at all when some lack the label, and lets one application's
depth push back another's entry point. Here indices are compared inside a group only, and groups take their turn by their
highest priority, then by their oldest pod. Part of the published policy, and kept: inside a group, index outranks priority.
"""

from __future__ import annotations

from collections.abc import Sequence

from ecotone.model.objects import Pod
from ecotone.model.state import ClusterState
from ecotone.scheduling.plugin import Change, SortKey

Turn = tuple[int, float]


class IndexSort:
    name = "IndexSort"
    placement_changes: Change | None = "nothing"

    def sort_key(self, state: ClusterState, pod: Pod) -> SortKey:
        if pod.kind.app_group is None:
            return _key(pod, (-pod.spec.priority, pod.created))
        return _key(pod, min(_turn(each) for each in (pod, *state.pending.values()) if _group(each) == _group(pod)))

    def order(self, state: ClusterState, pods: Sequence[Pod]) -> list[Pod]:
        turns: dict[str, Turn] = {}
        for pod in (*pods, *state.pending.values()):
            group = _group(pod)
            turns[group] = min(turns.get(group, _turn(pod)), _turn(pod))
        return sorted(pods, key=lambda pod: _key(pod, turns[_group(pod)]))


def _group(pod: Pod) -> str:
    return pod.key if pod.kind.app_group is None else f"{pod.namespace}/{pod.kind.app_group}/"


def _turn(pod: Pod) -> Turn:
    return (-pod.spec.priority, pod.created)


def _key(pod: Pod, turn: Turn) -> SortKey:
    index = pod.kind.index
    return (*turn, _group(pod), index is None, index or 0, -pod.spec.priority, pod.created, pod.key)
