"""What workloads do that nobody calls: others wait for it, nobody waits with it."""

from __future__ import annotations

import numpy as np
import pytest

from descheduling.applications import nodes, put
from ecotone.scheduling.response.bound import least_cost
from ecotone.scheduling.response.graph import applications
from ecotone.scheduling.response.prediction import Prediction

NAMES = ("busy", "small", "large")


def costs(*, called: float) -> tuple[dict[str, float], float]:
    """J with the helper on each of the nodes, while users are served on the first; and the bound."""
    state = nodes(*NAMES, rtt=0.0, cpu=1000, small={"small": 200})
    put(state, "web", ["busy"], users={"busy": 10.0}, use=500.0, calls={"helper": called} if called else None)
    put(state, "helper", ["busy"], use=150.0, calls={"web": 0.001})
    (application,) = applications(state)
    helper = application.names.index(("default", "helper"))
    found = {}
    for place, row in enumerate(application.rows.tolist()):
        counts = application.counts.astype(np.float64)
        counts[helper] = 0.0
        counts[helper, place] = 1.0
        found[state.nodes.names[row]] = float(Prediction(application).cost(counts[np.newaxis])[0])
    everything = np.ones(application.counts.shape, dtype=np.bool_)
    return found, least_cost(application, movable=np.ones(2, dtype=np.bool_), allowed=everything)


def test_where_idle_work_is_alone_it_does_not_matter_how_long_it_takes() -> None:
    found, _ = costs(called=0.0)
    assert found["small"] == pytest.approx(found["large"])
    assert costs(called=10.0)[0]["small"] > costs(called=10.0)[0]["large"] + 1.0


def test_others_wait_for_it() -> None:
    found, _ = costs(called=0.0)
    assert found["busy"] > found["large"] + 1.0


@pytest.mark.parametrize("called", [0.0, 10.0])
def test_the_bound_stays_below_every_placement(called: float) -> None:
    found, bound = costs(called=called)
    assert bound <= min(found.values()) + 1e-9
