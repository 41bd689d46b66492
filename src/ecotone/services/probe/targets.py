"""Where the other probes are: from a file, or from their pods.

A file is a JSON object, node name -> address (`10.0.0.7`, `10.0.0.7:9464`, `[fd00::7]:9464`); it is read again when it
changes, and a version that cannot be read leaves the last good one in force. From the API the pods of the probe's own
DaemonSet are watched in one namespace (right: list and watch pods there): the pod network is the path that services use.
"""

from __future__ import annotations

import asyncio
import ipaddress
import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

import msgspec

from ecotone.kube import resources
from ecotone.kube.client import ApiClient
from ecotone.kube.reading.reflector import Reflector
from ecotone.model.errors import InputError
from ecotone.services.probe.pinging import Target

log = logging.getLogger(__name__)

FILE_LIMIT = 16 << 20
LOOK_SECONDS = 2.0


class Targets(Protocol):
    def now(self) -> dict[str, Target]:
        """The other probes, by node name."""

    async def run(self) -> None: ...


def parse_targets(text: str | bytes, *, port: int, file: str | None = None) -> dict[str, Target]:
    """A file of targets; InputError says which entry is wrong."""
    try:
        found = msgspec.json.decode(text, type=dict[str, str])
    except msgspec.MsgspecError as error:
        raise InputError(
            f"targets cannot be read: {error}", file=file, hint='a JSON object is expected: {"node": "address"}'
        ) from None
    return {node: _target(node, address, port=port, file=file) for node, address in found.items()}


def _target(node: str, text: str, *, port: int, file: str | None) -> Target:
    host, own_port = text.strip(), port
    if host.startswith("["):
        host, _, rest = host[1:].partition("]")
        given = rest.removeprefix(":")
    elif host.count(":") == 1:
        host, _, given = host.partition(":")
    else:
        given = ""
    try:
        ipaddress.ip_address(host)
        own_port = int(given) if given else port
    except ValueError:
        own_port = 0
    if not 0 < own_port < 65536:
        raise InputError(
            f"{node}: {text[:60]!r} is no address", file=file, hint="write it like 10.0.0.7 or 10.0.0.7:9464"
        )
    return Target(node, host, own_port)


class FileTargets:
    def __init__(self, path: Path, *, port: int) -> None:
        self._path = path
        self._port = port
        self._seen: tuple[int, int] | None = None
        self._targets: dict[str, Target] = {}
        self._load()

    def now(self) -> dict[str, Target]:
        return self._targets

    async def run(self) -> None:
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            try:
                self._load()
            except InputError as error:
                log.warning("%s; the last good version stays in force", error)

    def _load(self) -> None:
        try:
            status = self._path.stat()
            stamp = (status.st_mtime_ns, status.st_size)
            if stamp == self._seen:
                return
            self._seen = stamp
            if status.st_size > FILE_LIMIT:
                raise InputError(f"a file of {status.st_size} bytes is more than is read", file=str(self._path))
            content = self._path.read_bytes()
        except OSError as error:
            raise InputError(f"cannot be read: {error.strerror}", file=str(self._path)) from None
        self._targets = parse_targets(content, port=self._port, file=str(self._path))


class _Meta(msgspec.Struct, rename="camel"):
    name: str = ""
    namespace: str = ""
    deletion_timestamp: str | None = None


class _Spec(msgspec.Struct, rename="camel"):
    node_name: str = ""


class _Status(msgspec.Struct, rename="camel"):
    pod_ip: str = msgspec.field(default="", name="podIP")
    phase: str = ""


class _Pod(msgspec.Struct):
    metadata: _Meta
    spec: _Spec = msgspec.field(default_factory=_Spec)
    status: _Status = msgspec.field(default_factory=_Status)


class PodTargets:
    """The pods of the probe's DaemonSet. A pod that is being deleted is one no more; the next one on its node is."""

    def __init__(self, client: ApiClient, *, namespace: str, selector: str, port: int) -> None:
        self._port = port
        self._pods: dict[str, _Pod] = {}
        self._mirror: Reflector[Any] = Reflector(
            client, resources.PODS, _Pod, self, namespace=namespace, label_selector=selector
        )

    def now(self) -> dict[str, Target]:
        return targets_of(self._pods, port=self._port)

    async def run(self) -> None:
        await self._mirror.run()

    def upsert(self, item: _Pod) -> None:
        self._pods[f"{item.metadata.namespace}/{item.metadata.name}"] = item

    def remove(self, key: str, uid: str) -> None:
        del uid
        self._pods.pop(key, None)

    def synced(self) -> None:
        return


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


def targets_of(pods: Mapping[str, _Pod], *, port: int) -> dict[str, Target]:
    found = {}
    for _, pod in sorted(pods.items()):
        usable = pod.status.phase == "Running" and pod.metadata.deletion_timestamp is None
        if usable and pod.spec.node_name and _is_address(pod.status.pod_ip):
            found[pod.spec.node_name] = Target(pod.spec.node_name, pod.status.pod_ip, port)
    return found
