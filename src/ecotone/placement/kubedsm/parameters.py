"""What KubeDSM can be told: the published defaults, and the variants of the evaluation as differences to them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ecotone.model.arrays import Ints
from ecotone.placement.kubedsm.cluster import Cluster
from ecotone.placement.kubedsm.fragmentation import Fragmentation, packed
from ecotone.placement.kubedsm.quality import Quality, Relu


@dataclass(frozen=True, slots=True)
class Parameters:
    """`max_cloud_to_edge` is MC2E and `max_reorderings` MER of the later version; both count per suggestion.

    The evaluation's values are those of the public configuration: the reference names the parameters and gives no values.
    """

    batch: int = 10
    max_cloud_to_edge: int = 5
    max_reorderings: int = 3
    quality: Quality = Relu()
    fragmentation: Fragmentation = packed
    protect_last: bool = True

    def may_move(self, cluster: Cluster) -> Ints:
        """Per service and node, pods that may leave it: none of a service that runs one pod, if that is protected."""
        keeps = cluster.running[:, None] <= (1 if self.protect_last else 0)
        return np.where(keeps, 0, cluster.movable)
