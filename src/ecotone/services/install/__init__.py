"""What a cluster needs to run Ecotone, as objects for ``kubectl apply -f -``: each part in its own module."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ecotone.services.install.crds import crds
from ecotone.services.install.extender import extender, extender_configuration
from ecotone.services.install.rbac import rbac
from ecotone.services.install.scheduler import scheduler

Objects = list[dict[str, Any]]

PARTS: dict[str, Callable[..., Objects]] = {
    "crds": crds,
    "rbac": rbac,
    "scheduler": scheduler,
    "extender": extender,
}

__all__ = ["PARTS", "Objects", "crds", "extender", "extender_configuration", "rbac", "scheduler"]
