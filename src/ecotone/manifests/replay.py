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
    """Memory, moves, and which pods the nodes' measurements do not contain yet."""
    state.memory = dict(told.memory)
    state.last_moves = {key_of(text): at for text, at in told.last_moves.items()}
    state.set_recent(told.assumed)
