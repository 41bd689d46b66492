"""Replica counts that follow a scenario's traces, as an autoscaler would set them."""

from __future__ import annotations

from dataclasses import dataclass, field

from ecotone.sim.scenario.schema import Scenario
from ecotone.testbed.bed import Bed


@dataclass(slots=True)
class Scaling:
    bed: Bed
    namespace: str
    scenario: Scenario
    _now: dict[str, int] = field(default_factory=dict)

    def follow(self, at: float) -> None:
        """Sets what the traces say for this moment, where it has changed."""
        for service, count in wanted(self.scenario, at).items():
            if self._now.get(service, self.scenario.application.service(service).replicas) != count:
                self.bed.kubectl("scale", "-n", self.namespace, f"deployment/{service}", f"--replicas={count}")
            self._now[service] = count


def wanted(scenario: Scenario, at: float) -> dict[str, int]:
    """By service with a trace: how many pods it has at this moment."""
    found = {}
    for service, trace in scenario.application.traces.items():
        past = [count for moment, count in trace if moment <= at]
        if past:
            found[service] = past[-1]
    return found


def changes(scenario: Scenario) -> list[float]:
    """The moments at which some trace changes how many pods there are."""
    found = {moment for trace in scenario.application.traces.values() for moment, _ in trace if moment > 0}
    return sorted(found)
