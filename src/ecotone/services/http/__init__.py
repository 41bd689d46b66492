"""Listening on a port without being taken down by whoever connects: connections, bodies, callers."""

from ecotone.services.http.bodies import Bodies
from ecotone.services.http.callers import Authoriser, bearer_token, check_host
from ecotone.services.http.server import HttpServer, parse_listen

__all__ = ["Authoriser", "Bodies", "HttpServer", "bearer_token", "check_host", "parse_listen"]
