"""The AppGroups of a live cluster read once, with the status that our programs keep there."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import msgspec

from ecotone.kube.client import ApiClient, decode
from ecotone.kube.errors import ApiError
from ecotone.kube.kubeconfig import connect
from ecotone.kube.reading.figures import why_not_believed
from ecotone.kube.resources import APP_GROUPS
from ecotone.model.errors import OutsideError

PAGE = 500
Status = dict[str, Any]


class _Meta(msgspec.Struct):
    name: str = ""
    namespace: str = ""


class AppGroupStatus(msgspec.Struct):
    metadata: _Meta
    status: Status = msgspec.field(default_factory=dict)

    @property
    def key(self) -> str:
        return f"{self.metadata.namespace}/{self.metadata.name}"

    @property
    def moves(self) -> list[dict[str, Any]]:
        return [one for one in self.status.get("moves") or [] if isinstance(one, dict)]

    def condition(self, kind: str) -> dict[str, Any]:
        listed = self.status.get("conditions") or []
        return next((one for one in listed if isinstance(one, dict) and one.get("type") == kind), {})


class _ListMeta(msgspec.Struct):
    continue_: str = msgspec.field(name="continue", default="")


class _List(msgspec.Struct):
    metadata: _ListMeta
    items: list[AppGroupStatus] = []


def read_app_groups(
    *, kubeconfig: Path | str | None, context: str | None, namespace: str | None
) -> tuple[list[AppGroupStatus], str | None]:
    """Those of a namespace, or all, sorted by name; and why what is measured on this cluster is not believed."""
    connection = connect(kubeconfig=None if kubeconfig is None else str(kubeconfig), context=context)
    return asyncio.run(_read(ApiClient(connection), namespace))


async def _read(client: ApiClient, namespace: str | None) -> tuple[list[AppGroupStatus], str | None]:
    found: list[AppGroupStatus] = []
    token = ""
    async with client:
        while True:
            query = {"limit": str(PAGE), **({"continue": token} if token else {})}
            try:
                page = decode(await client.request("GET", APP_GROUPS.path(namespace=namespace), query=query), _List)
            except ApiError as error:
                if error.not_found:
                    raise OutsideError(
                        "the cluster knows no AppGroups: install them with `ecotone manifests crds | kubectl apply -f -`"
                    ) from None
                raise
            found += page.items
            token = page.metadata.continue_
            if not token:
                return sorted(found, key=lambda one: one.key), await why_not_believed(client)
