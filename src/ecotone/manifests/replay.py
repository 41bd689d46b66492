"""What a dumped snapshot remembers beyond Kubernetes objects, put back where it was."""

from __future__ import annotations

from ecotone.manifests import wire
from ecotone.model.objects import WorkloadKey
from ecotone.model.state import ClusterState


def key_text(key: WorkloadKey) -> str:
    return f"{key.kind}:{key.namespace}/{key.name}"


def key_of(text: str) -> WorkloadKey:
    kind, _, rest = text.partition(":")
    namespace, _, name = rest.partition("/")
    return WorkloadKey(namespace, name, kind)


def restore(state: ClusterState, told: wire.SnapshotState) -> None:
    """Memory, moves, and what pods newer than their node's measurement use, to the last bit."""
    state.memory = dict(told.memory)
    state.last_moves = {key_of(text): at for text, at in told.last_moves.items()}
    state.usage.recent_of = {each.pod: (each.cpu, each.memory) for each in told.assumed}
    state.usage.recent[:] = 0.0
    for name, recent in told.recent.items():
        row = state.nodes.index.get(name)
        if row is not None and len(recent) == 2:
            state.usage.recent[row] = recent
