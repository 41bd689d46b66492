"""KubeDSM's arguments as a profile spells them, and the variants of the published evaluation.

    solver:
      name: kubedsm
      args: {maxCloudToEdge: 5, maxReorderings: 3, qos: relu, edgeShares: {d: 1.0}, edgeShare: 0.0}

The rule of descheduling reads the same arguments, so a variant is written in one place.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from ecotone.model.errors import InputError, did_you_mean
from ecotone.placement.kubedsm.fragmentation import Fragmentation, packed, unused
from ecotone.placement.kubedsm.parameters import Parameters
from ecotone.placement.kubedsm.quality import Jump, Linear, Quality, Relu

Value = TypeVar("Value")

_QUALITIES: dict[str, type[Relu | Linear | Jump]] = {"relu": Relu, "linear": Linear, "jump": Jump}
_FRAGMENTATIONS: dict[str, Fragmentation] = {"packed": packed, "unused": unused}
KEYS = {
    "batchSize": "How many waiting pods are placed at a time.",
    "maxCloudToEdge": "At most so many moves from the cloud to the edge in a suggestion; 0: none.",
    "maxReorderings": "At most so many moves between edge nodes that make room for one; 0: none.",
    "qos": "How quality is counted: `relu`, `linear` or `jump`.",
    "fragmentation": "How scattered free room is counted: `packed` or `unused`.",
    "protectLastReplica": "True: a workload's only pod stays.",
    "edgeShare": "Share of pods promised to the edge where nothing else is said.",
    "edgeShares": "The same by workload.",
    "ownShares": "False: annotations `ecotone.dev/edge-share` are left out.",
    "edgeMs": "Latency of a pod on the edge, where no AppGroup says it.",
    "cloudMs": "And in the cloud.",
    "alpha": "Of `linear`.",
    "beta": "Of `linear`.",
    "gamma": "Of `linear`.",
    "planSeconds": "A plan that has not ended by then is given up.",
}

VARIANTS: dict[str, Mapping[str, Any]] = {
    "NoMigration": {"maxCloudToEdge": 0, "maxReorderings": 0},
    "NoCloudOffload": {"maxCloudToEdge": 0},
    "NoEdgeMigration": {"maxReorderings": 0},
    "MidMigration": {"maxCloudToEdge": 2, "maxReorderings": 1},
    "AllHalf": {"edgeShares": {}, "edgeShare": 0.5, "ownShares": False},
    "OnlyD": {"edgeShares": {"d": 1.0}, "edgeShare": 0.0, "ownShares": False},
    "CgtA": {"edgeShares": {"a": 0.5, "c": 1.0}, "edgeShare": 0.0, "ownShares": False},
}
"""By the public branches where text and branches differ: C is promised more than A, and MidMigration is one and two."""


@dataclass(frozen=True, slots=True)
class Configuration:
    """`edge_share` is promised to a workload that neither `edge_shares` nor its own annotation says anything about.

    `own_shares` false leaves the annotations out. `plan_seconds`: a plan that has not ended by then is given up.
    """

    parameters: Parameters = Parameters()
    edge_share: float = 1.0
    edge_shares: Mapping[str, float] | None = None
    own_shares: bool = True
    edge_ms: float = 50.0
    cloud_ms: float = 300.0
    plan_seconds: float = 120.0


def configuration(args: Mapping[str, Any]) -> Configuration:
    for key in args:
        if key not in KEYS:
            raise InputError(f"solver kubedsm: unknown argument {key!r}", hint=did_you_mean(key, KEYS))
    base, plain = Parameters(), Configuration()
    edge_ms, cloud_ms = float(args.get("edgeMs", plain.edge_ms)), float(args.get("cloudMs", plain.cloud_ms))
    if cloud_ms <= edge_ms:
        raise InputError("solver kubedsm: cloudMs must be larger than edgeMs")
    return Configuration(
        parameters=Parameters(
            batch=max(1, int(args.get("batchSize", base.batch))),
            max_cloud_to_edge=max(0, int(args.get("maxCloudToEdge", base.max_cloud_to_edge))),
            max_reorderings=max(0, int(args.get("maxReorderings", base.max_reorderings))),
            quality=_quality(args, edge_ms=edge_ms, cloud_ms=cloud_ms),
            fragmentation=_named("fragmentation", str(args.get("fragmentation", "packed")), _FRAGMENTATIONS),
            protect_last=bool(args.get("protectLastReplica", base.protect_last)),
        ),
        edge_share=_share(args.get("edgeShare", plain.edge_share)),
        edge_shares={str(name): _share(value) for name, value in dict(args.get("edgeShares", {})).items()},
        own_shares=bool(args.get("ownShares", True)),
        edge_ms=edge_ms,
        cloud_ms=cloud_ms,
        plan_seconds=float(args.get("planSeconds", plain.plan_seconds)),
    )


def _quality(args: Mapping[str, Any], *, edge_ms: float, cloud_ms: float) -> Quality:
    kind = _named("qos", str(args.get("qos", "relu")), _QUALITIES)
    if kind is Relu:
        return Relu(edge_ms=edge_ms, cloud_ms=cloud_ms)
    if kind is Linear:
        return Linear(**{key: float(args[key]) for key in ("alpha", "beta", "gamma") if key in args})
    return Jump()


def _named(what: str, name: str, known: Mapping[str, Value]) -> Value:
    if name not in known:
        raise InputError(f"solver kubedsm: unknown {what} {name!r}", hint=f"one of {', '.join(known)}")
    return known[name]


def _share(value: object) -> float:
    try:
        share = float(value) if isinstance(value, int | float | str) else -1.0
    except ValueError:
        share = -1.0
    if not 0.0 <= share <= 1.0:
        raise InputError(f"solver kubedsm: an edge share is a number from 0 to 1, not {value!r}")
    return share
