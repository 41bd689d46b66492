"""Listening on a port without being taken down by whoever connects: connections, bodies, callers."""

from typing import TYPE_CHECKING

from ecotone.lazily import offered

if TYPE_CHECKING:
    from ecotone.services.http.bodies import Bodies
    from ecotone.services.http.callers import Authoriser, bearer_token, check_host
    from ecotone.services.http.server import HttpServer, parse_listen

__all__ = ["Authoriser", "Bodies", "HttpServer", "bearer_token", "check_host", "parse_listen"]

__getattr__ = offered(
    __name__,
    {
        "Authoriser": "callers",
        "Bodies": "bodies",
        "HttpServer": "server",
        "bearer_token": "callers",
        "check_host": "callers",
        "parse_listen": "server",
    },
)
