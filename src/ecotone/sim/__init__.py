"""A deterministic discrete-event simulator of microservice applications on a Kubernetes cluster.

It exists to be the engine's proving ground: requests walk their call trees over a node-to-node network, nodes share
their CPU as Kubernetes' weights and quotas would, pods live and die, and the very same `decide` that runs on a live
cluster places them, seeing only what a monitoring system would show it. Equal seeds give equal runs, to the byte.
"""

from pathlib import Path

from ecotone.sim.hot_path import binaries

COMPILED = binaries(Path(__file__).parent)
if COMPILED is not None:
    __path__.insert(0, str(COMPILED))
