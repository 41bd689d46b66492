"""Who places and moves pods on a bed: Ecotone's programs under a policy, or what users would pick instead.

The peers are kube-scheduler alone and kube-scheduler with the upstream descheduler's two strategies by node utilisation. Their
thresholds are those of that project's own examples.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ecotone.scheduling import resolve

COMPRESSED = 3.0  # figures are of windows of 20 s instead of a minute, and cool-downs are shorter alike
DEFAULT_SCHEDULER = "default-scheduler"
OURS = "ecotone"


@dataclass(frozen=True, slots=True)
class Contender:
    """`policy` of our programs, or None; `strategy` of the upstream descheduler, or None."""

    name: str
    policy: str | None = None
    strategy: str | None = None

    @property
    def key(self) -> str:
        """What it is called on the command line."""
        return self.strategy or self.name

    @property
    def scheduler(self) -> str:
        return DEFAULT_SCHEDULER if self.policy is None else OURS

    @property
    def cool_down(self) -> float:
        """Seconds after a move in which its workload is left alone: the policy's own, compressed like everything else."""
        settings = None if self.policy is None else resolve(self.policy).descheduler
        return 0.0 if settings is None else settings.cool_down / COMPRESSED

    @property
    def simulated(self) -> str | None:
        """The policy that predicts it in the simulator, if one does."""
        return None if self.strategy is not None else self.policy or "kube-default"


KUBE_DEFAULT = Contender("kube-default")
SOPHOS = Contender("sophos", policy="sophos")
ECOTONE = Contender("ecotone", policy="ecotone")
LOW = Contender("kube-default + LowNodeUtilization", strategy="LowNodeUtilization")
HIGH = Contender("kube-default + HighNodeUtilization", strategy="HighNodeUtilization")
ALL = {each.key: each for each in (KUBE_DEFAULT, SOPHOS, ECOTONE, LOW, HIGH)}

_ARGUMENTS: dict[str, dict[str, Any]] = {
    "LowNodeUtilization": {
        "thresholds": {"cpu": 20, "memory": 20, "pods": 20},
        "targetThresholds": {"cpu": 50, "memory": 50, "pods": 50},
    },
    "HighNodeUtilization": {"thresholds": {"cpu": 20, "memory": 20, "pods": 20}},
}


def upstream_policy(strategy: str, *, spared: list[str]) -> dict[str, Any]:
    """The upstream descheduler's configuration: this strategy, everywhere but in the namespaces `spared`."""
    arguments = {**_ARGUMENTS[strategy], "evictableNamespaces": {"exclude": spared}}
    return {
        "apiVersion": "descheduler/v1alpha2",
        "kind": "DeschedulerPolicy",
        "profiles": [
            {
                "name": "bed",
                "pluginConfig": [
                    {"name": strategy, "args": arguments},
                    {"name": "DefaultEvictor", "args": {"nodeFit": True}},
                ],
                "plugins": {"balance": {"enabled": [strategy]}},
            }
        ],
    }
