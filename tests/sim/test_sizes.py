"""What a run costs is told before it begins."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ecotone.experiments.campaign.runs import Job, execute
from ecotone.model.errors import InputError
from ecotone.sim.scenario import Scenario, load_scenario, read_text
from ecotone.sim.scenario.schema import Autoscale
from ecotone.sim.scenario.sizes import duration, refuse, size_of


@pytest.fixture(scope="module")
def messaging() -> Scenario:
    return load_scenario("messaging")


def test_requests_are_load_times_length(messaging: Scenario) -> None:
    text, file, _ = read_text("messaging")
    measured = execute(Job(text, file, "first-fit", 0, 1)).requests
    assert size_of(messaging).requests == pytest.approx(measured, rel=0.05)


def test_a_scenario_as_people_run_them_is_not_refused(messaging: Scenario) -> None:
    refuse(size_of(messaging), file="m.yaml")


def test_a_zero_too_many_in_rate_replicas_users_or_autoscaler_is_refused(messaging: Scenario) -> None:
    load, application = messaging.load[0], messaging.application
    first = application.services[0]
    many = (replace(first, replicas=10**7), *application.services[1:])
    huge = [
        replace(messaging, load=(replace(load, poisson=1e9),)),
        replace(messaging, load=(replace(load, poisson=0.0, users=10**9, think=1.0),)),
        replace(messaging, load=(replace(load, poisson=0.0, users=10**5, think=0.0),)),
        replace(messaging, application=replace(application, services=many)),
        replace(messaging, application=replace(application, autoscale={first.name: Autoscale(0.5, most=10**7)})),
        replace(messaging, application=replace(application, traces={first.name: ((0.0, 10**7),)})),
    ]
    for each in huge:
        with pytest.raises(InputError, match="very large") as error:
            refuse(size_of(each), file="m.yaml")
        assert error.value.hint is not None and "--yes" in error.value.hint


def test_requests_that_nobody_can_answer_pile_up_in_memory(messaging: Scenario) -> None:
    calm, flooded = (replace(messaging, load=(replace(messaging.load[0], poisson=rate),)) for rate in (30.0, 9000.0))
    assert size_of(flooded).bytes > size_of(calm).bytes + 1e9


@pytest.mark.parametrize(
    ("seconds", "said"), [(0.2, "1 s"), (90.0, "90 s"), (600.0, "10 minutes"), (1e5, "28 hours"), (1e7, "116 days")]
)
def test_durations_in_the_unit_that_fits(seconds: float, said: str) -> None:
    assert duration(seconds) == said
