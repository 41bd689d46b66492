"""The service graph that OpenTelemetry's connector (and Tempo) derives from traces.

It counts requests between services and knows no bytes, so bytes stay unknown unless a query of one's own supplies them.
Service names are taken as workload names, in the group's namespace unless the dimensions `client_k8s_namespace_name` and
`server_k8s_namespace_name` are configured; users need the dimension `client_k8s_node_name`.

Only collectors that the installation lists speak: a span says whatever its sender writes into it, and who is listed answers
for whom it takes spans from.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ecotone.telemetry.dialects.base import Answered, Directory, Pair, Rates, collected, users_at
from ecotone.telemetry.families import MOST_PER_SECOND, Family, Reading
from ecotone.telemetry.promql import quoted
from ecotone.telemetry.refs import Ref
from ecotone.telemetry.sources.speakers import Voices

REQUESTS = "traces_service_graph_request_total"
CLIENT_NAMESPACE = "client_k8s_namespace_name"
SERVER_NAMESPACE = "server_k8s_namespace_name"
CLIENT_NODE = "client_k8s_node_name"


class OpenTelemetry:
    name = "opentelemetry"

    def __init__(self, namespace: str = "") -> None:
        self._namespace = namespace

    def presence(self, namespace: str, directory: Directory) -> Sequence[Family]:
        return [self.families(namespace, directory)["requests"]]

    def families(self, namespace: str, directory: Directory) -> dict[str, Family]:  # noqa: ARG002 - the protocol's
        by = ("client", "server", CLIENT_NAMESPACE, SERVER_NAMESPACE, CLIENT_NODE)
        voices = Voices(listed=True)
        return {"requests": Family(REQUESTS, by, _selectors(namespace), voices=voices, most=MOST_PER_SECOND)}

    def rates(self, answered: Answered, directory: Directory) -> Rates:
        pair = _pairing(self._namespace, directory)
        return Rates(bytes=None, requests=collected((pair(each), each) for each in answered.get("requests", ())))


def _selectors(namespace: str) -> tuple[str, ...]:
    """Series of this namespace, and those that name none."""
    space = quoted(namespace)
    return (
        f'{CLIENT_NAMESPACE}={space},client!=""',
        f'{SERVER_NAMESPACE}={space},client!=""',
        f'{CLIENT_NAMESPACE}="",{SERVER_NAMESPACE}="",client!=""',
    )


def _pairing(namespace: str, directory: Directory) -> Callable[[Reading], Pair | None]:
    def pair(reading: Reading) -> Pair | None:
        labels = reading.labels
        client = Ref(labels.get(CLIENT_NAMESPACE) or namespace, labels.get("client", ""))
        server = Ref(labels.get(SERVER_NAMESPACE) or namespace, labels.get("server", ""))
        if not directory.exists(server):
            return None
        proxy = directory.lets_users_in(client) or any(
            each.name == client.name and not labels.get(CLIENT_NAMESPACE) for each in directory.input_proxies()
        )
        if proxy:
            node = labels.get(CLIENT_NODE, "")
            return (users_at(node), server) if node else None
        return (client, server) if directory.exists(client) else None

    return pair
