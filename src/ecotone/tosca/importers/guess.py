"""Guessing channels from configuration.

Services find each other by names in their environment: `CATALOGUE_URL=http://catalogue:80`, `DB_HOST=orders-db`. A
mention of another service's name is a channel to it; the scheme or the port tells the protocol. Guesses are marked.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from ecotone.tosca.importers.draft import DraftChannel

_SCHEMES = {
    "http": "HTTPRoute",
    "https": "HTTPRoute",
    "ws": "HTTPServerPushRoute",
    "wss": "HTTPServerPushRoute",
    "grpc": "gRPCRoute",
    "grpcs": "gRPCRoute",
    "amqp": "AMQPRoute",
    "amqps": "AMQPRoute",
    "tcp": "TCPRoute",
    "mysql": "TCPRoute",
    "postgres": "TCPRoute",
    "postgresql": "TCPRoute",
    "mongodb": "TCPRoute",
    "redis": "TCPRoute",
    "jdbc": "TCPRoute",
    "mqtt": "AsynchronousRoute",
    "kafka": "AsynchronousRoute",
    "nats": "AsynchronousRoute",
}
_PORTS = {
    80: "HTTPRoute",
    443: "HTTPRoute",
    3000: "HTTPRoute",
    5000: "HTTPRoute",
    8000: "HTTPRoute",
    8080: "HTTPRoute",
    8079: "HTTPRoute",
    9090: "HTTPRoute",
    50051: "gRPCRoute",
    5671: "AMQPRoute",
    5672: "AMQPRoute",
    1883: "AsynchronousRoute",
    4222: "AsynchronousRoute",
    9092: "AsynchronousRoute",
    1433: "TCPRoute",
    1521: "TCPRoute",
    3306: "TCPRoute",
    5432: "TCPRoute",
    6379: "TCPRoute",
    9042: "TCPRoute",
    11211: "TCPRoute",
    27017: "TCPRoute",
}
# What programs listen on unless told otherwise, by a word of their images' names.
IMAGE_PORTS = {
    "postgres": 5432,
    "mysql": 3306,
    "mariadb": 3306,
    "mongo": 27017,
    "redis": 6379,
    "valkey": 6379,
    "memcached": 11211,
    "rabbitmq": 5672,
    "kafka": 9092,
    "nats": 4222,
    "mosquitto": 1883,
    "elasticsearch": 9200,
    "opensearch": 9200,
    "cassandra": 9042,
    "consul": 8500,
    "etcd": 2379,
    "minio": 9000,
    "zipkin": 9411,
    "nginx": 80,
    "httpd": 80,
    "traefik": 80,
    "caddy": 80,
}
_MENTION = re.compile(
    r"(?:([a-z][a-z0-9+.-]*)://)?(?:[^\s/@,;]*@)?([a-z][a-z0-9-]*(?:\.[a-z0-9.-]+)?)(?::([0-9]{1,5}))?"
)
_LONGEST = 4096


def route_type(*, scheme: str | None, port: int | None) -> str:
    """The relationship type that a scheme or a well-known port implies."""
    if scheme:
        known = _SCHEMES.get(scheme.split("+")[0].split(":")[0].lower())
        if known is not None:
            return known
    return _PORTS.get(port or 0, "PriorityRoute")


def mentioned(
    source: str, environment: Mapping[str, str], services: Iterable[str], ports: Mapping[str, int | None]
) -> list[DraftChannel]:
    """Channels to every service whose name the environment's values contain."""
    names = set(services)
    found: dict[str, DraftChannel] = {}
    for variable, value in environment.items():
        for scheme, host, port in _MENTION.findall(str(value)[:_LONGEST]):
            target = host.split(".")[0]
            if target not in names or target == source or target in found:
                continue
            kind = route_type(scheme=scheme, port=int(port) if port else ports.get(target))
            found[target] = DraftChannel(source, target, kind, why=f"guessed from {variable}")
    return list(found.values())
