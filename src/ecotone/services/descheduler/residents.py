"""Where pods are reached, for the few questions that the descheduler asks of Prometheus.

Its view of the cluster knows whose a pod is and where it runs, but no addresses: decisions need none, and fifty thousand
pods have many. Those of the namespaces whose applications have an objective, and of the listed reporters, are asked for.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable

import msgspec

from ecotone.kube.client import ApiClient, decode
from ecotone.kube.resources import PODS
from ecotone.model.errors import InputError, OutsideError
from ecotone.services.live_cache import LiveCache
from ecotone.services.monitor.watched import Pod
from ecotone.telemetry.refs import Ref
from ecotone.telemetry.sources.speakers import Inhabitant

log = logging.getLogger(__name__)


class _Pods(msgspec.Struct):
    items: list[Pod] = []


class Residents:
    def __init__(self, client: ApiClient, cache: LiveCache) -> None:
        self._client = client
        self._cache = cache
        self._spaces: dict[str, dict[str, Pod]] = {}

    async def look(self, namespaces: Iterable[str]) -> None:
        """Asks anew; a namespace that cannot be read has no pods, and nothing of it is believed."""
        spaces: dict[str, dict[str, Pod]] = {}
        for namespace in sorted(set(namespaces)):
            try:
                # From the API server's memory: no older than what a watch tells.
                listed = await self._client.request(
                    "GET", PODS.path(namespace=namespace), query={"resourceVersion": "0"}
                )
                spaces[namespace] = {each.metadata.name: each for each in decode(listed, _Pods).items}
            except (OutsideError, InputError) as error:
                log.warning("pods of namespace %s: %s", namespace, error)
        self._spaces = spaces

    def inhabitant(self, namespace: str, pod: str) -> Inhabitant | None:
        there, known = self._spaces.get(namespace, {}).get(pod), self._cache.pod(f"{namespace}/{pod}")
        if there is None or known is None or known.uid != there.metadata.uid:
            return None
        workload = known.kind.workload
        return Inhabitant(
            Ref(workload.namespace, workload.name),
            there.spec.node_name,
            addresses=there.addresses,
            on_node_network=there.spec.host_network,
            ports=there.ports,
        )

    def kubelet_at(self, host: str, port: int) -> str | None:  # noqa: ARG002 - figures of containers are the monitor's
        return None

    def has_node(self, name: str) -> bool:  # noqa: ARG002 - see above
        return False
