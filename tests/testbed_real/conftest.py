"""One bed for all tests of this folder; in CI it must come up, elsewhere what is missing skips them with one line."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from ecotone.model.errors import OutsideError
from ecotone.sim.scenario import load_scenario
from ecotone.testbed import requirements
from ecotone.testbed.application.system import dns_objects, prometheus_objects
from ecotone.testbed.bed import Bed
from ecotone.testbed.images.contents import all_images
from ecotone.testbed.layout import topology_of
from ecotone.testbed.leftovers import leftovers
from ecotone.testbed.processes import ended_in_order
from missing import lacking

SCENARIO = Path(__file__).parent / "chain.yaml"


@pytest.fixture(scope="session")
def bed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bed]:
    try:
        requirements.check(requirements.binaries_directory())
    except OutsideError as error:
        lacking(str(error))
    made = Bed(tmp_path_factory.mktemp("bed"))
    topology = topology_of(load_scenario(str(SCENARIO)))
    images = all_images(made.binaries)
    with ended_in_order():
        made.up(topology, images=list(images.values()))
        try:
            made.apply(dns_objects(node="cloud-1"))
            made.apply(prometheus_objects(topology.nodes, node="cloud-1", core=made.core))
            yield made
        finally:
            left = made.down()
            assert (left, leftovers()) == ([], [])
