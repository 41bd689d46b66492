"""Volumes that wait for their first consumer: chosen with the node, bound before the pod is.

The decision says which node; on it, every claim that is not bound yet takes the smallest free volume that suits, or has
one made. Before the pod may be bound, the choice is written down (a claim reference on the volume, or the selected node on
the claim), and the controllers that bind or provision are waited for. Until then the choice is held in the cache, so that
no other pod is promised the same volume.
"""

from __future__ import annotations

import asyncio
import logging
import time
from typing import Any

import msgspec
from msgspec.structs import replace

from ecotone.kube.client import ApiClient
from ecotone.kube.errors import ApiError, UnreachableError
from ecotone.kube.resources import PERSISTENT_VOLUME_CLAIMS, PERSISTENT_VOLUMES
from ecotone.model.objects import Claim, Pod, Volume
from ecotone.model.state import ClusterState
from ecotone.scheduling.plugins.kubernetes.volumes.volume_binding import choose_volumes

log = logging.getLogger(__name__)

SELECTED_NODE = "volume.kubernetes.io/selected-node"
BOUND_BY_CONTROLLER = "pv.kubernetes.io/bound-by-controller"
WAIT_SECONDS = 600.0


class VolumesFailedError(Exception):
    """The volumes were not bound; the pod goes back to the queue."""


class Choice(msgspec.Struct):
    """What each unbound claim of a pod gets on the chosen node: a volume, or None for one to be made."""

    node: str
    takes: list[tuple[Claim, Volume | None]]
    undo: list[tuple[dict[str, Any], str, Any]] = msgspec.field(default_factory=list)


def choose(state: ClusterState, pod: Pod, node: str) -> Choice | None:
    """The choice for this pod there, noted in the state; None when it has no claim that waits."""
    if not pod.spec.claims:
        return None
    claims = [state.claims.get(f"{pod.namespace}/{name}") for name in pod.spec.claims]
    unbound = sorted((claim for claim in claims if claim is not None and claim.volume is None), key=lambda c: c.request)
    row = state.nodes.index.get(node)
    if not unbound or row is None:
        return None
    found = choose_volumes(state, unbound, state.nodes.nodes[row])
    choice = Choice(node, [(claim, (found or {}).get(claim.key)) for claim in unbound])
    for claim, volume in choice.takes:
        if volume is None:
            _note(choice, state.claims, claim.key, replace(claim, selected_node=node))
        else:
            _note(choice, state.claims, claim.key, replace(claim, volume=volume.name))
            _note(choice, state.volumes, volume.name, replace(volume, claim=claim.key, available=False))
    return choice


def _note(choice: Choice, table: dict[str, Any], key: str, value: object) -> None:
    choice.undo.append((table, key, value))
    table[key] = value


def forget(state: ClusterState, choice: Choice) -> None:
    """The pod did not get there: what the streams have not confirmed since is as before."""
    for table, key, noted in reversed(choice.undo):
        if table.get(key) is not noted:
            continue
        for claim, volume in choice.takes:
            if table is state.claims and key == claim.key:
                table[key] = claim
            elif volume is not None and table is state.volumes and key == volume.name:
                table[key] = volume


class _Meta(msgspec.Struct, rename="camel"):
    uid: str = ""
    annotations: dict[str, str] = {}


class _ClaimStatus(msgspec.Struct):
    phase: str = ""


class _Claim(msgspec.Struct):
    metadata: _Meta
    status: _ClaimStatus = msgspec.field(default_factory=_ClaimStatus)


async def bind_volumes(client: ApiClient, choice: Choice, *, timeout: float = WAIT_SECONDS) -> None:
    """Writes the choice down and returns when every claim is bound."""
    try:
        for claim, volume in choice.takes:
            if volume is None:
                patch = {"metadata": {"annotations": {SELECTED_NODE: choice.node}}}
                await client.patch(PERSISTENT_VOLUME_CLAIMS, patch, name=claim.name, namespace=claim.namespace)
            else:
                await _take(client, claim, volume)
        await asyncio.gather(*(_wait_bound(client, claim, choice.node, timeout) for claim, _ in choice.takes))
    except (ApiError, UnreachableError) as error:
        raise VolumesFailedError(str(error)) from None


async def _take(client: ApiClient, claim: Claim, volume: Volume) -> None:
    known = await client.get(_Claim, PERSISTENT_VOLUME_CLAIMS, name=claim.name, namespace=claim.namespace)
    reference = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "namespace": claim.namespace,
        "name": claim.name,
        "uid": known.metadata.uid,
    }
    patch = {"metadata": {"annotations": {BOUND_BY_CONTROLLER: "yes"}}, "spec": {"claimRef": reference}}
    await client.patch(PERSISTENT_VOLUMES, patch, name=volume.name)


async def _wait_bound(client: ApiClient, claim: Claim, node: str, timeout: float) -> None:
    end = time.monotonic() + timeout
    pause = 0.05
    while True:
        known = await client.get(_Claim, PERSISTENT_VOLUME_CLAIMS, name=claim.name, namespace=claim.namespace)
        if known.status.phase == "Bound":
            return
        elsewhere = known.metadata.annotations.get(SELECTED_NODE, node)
        if elsewhere != node or time.monotonic() > end:
            raise VolumesFailedError(f"claim {claim.key} was not bound for node {node}")
        await asyncio.sleep(pause)
        pause = min(1.0, pause * 1.5)
