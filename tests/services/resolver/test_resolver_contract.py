"""The resolver against its own OpenAPI document: schemathesis makes requests the document allows, and ones it forbids.

Two of its checks do not apply: that every request of the right shape is accepted (names must also exist and be unique,
which a schema cannot say), and that a deleted job is gone (a cancelled job can still be read).
"""

from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, settings
from schemathesis.checks import CHECKS
from schemathesis.openapi.checks import UnsupportedMethodResponse  # noqa: F401 - loads the OpenAPI checks

from ecotone.services.resolver.jobs import JobLimits
from ecotone.services.resolver.openapi import document
from ecotone.services.resolver.service import ResolverSettings
from services.resolver.resolver_server import Running, running

NOT_OURS = ("positive_data_acceptance", "use_after_free", "ensure_resource_availability")

schema = schemathesis.openapi.from_dict(document("test"))


@pytest.fixture(scope="module")
def server() -> Iterator[Running]:
    with running(ResolverSettings(limits=JobLimits(workers=2), wait=20.0)) as found:
        yield found


@pytest.mark.lasting
@schema.parametrize()
@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
def test_the_service_keeps_its_contract(case: schemathesis.Case[Any], server: Running) -> None:
    excluded: list[Any] = [CHECKS.get_one(name) for name in NOT_OURS]
    case.call_and_validate(base_url=server.url, excluded_checks=excluded)
