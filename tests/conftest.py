"""How random tests are drawn: the same sample in every `make test`, fresh and larger ones in `make soak`."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

pytest_plugins = ["fair.plugin", "fair.order"]

_CALM = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]

settings.register_profile("sample", derandomize=True, deadline=None, suppress_health_check=_CALM)
settings.register_profile("soak", max_examples=2000, deadline=None, suppress_health_check=_CALM, print_blob=True)
settings.load_profile(os.environ.get("ECOTONE_HYPOTHESIS", "sample"))
