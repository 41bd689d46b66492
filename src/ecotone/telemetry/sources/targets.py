"""The targets that a Prometheus scrapes now, as its API tells them.

Labels of a target are what relabelling made of it. What was *discovered* is told beside them, and relabelling cannot
change that. Neither is believed alone: the address that is really scraped decides (`speakers`).
"""

from __future__ import annotations

import msgspec

from ecotone.telemetry.samples import MalformedError

PATH = "targets"
TARGETS_LIMIT = 500_000


class Discovered(msgspec.Struct, frozen=True, gc=False):
    """What is needed of the labels before relabelling; empty where the service discovery knew nothing."""

    namespace: str = msgspec.field(default="", name="__meta_kubernetes_namespace")
    pod: str = msgspec.field(default="", name="__meta_kubernetes_pod_name")


class Target(msgspec.Struct, frozen=True, rename="camel"):
    labels: dict[str, str] = {}
    discovered_labels: Discovered = Discovered()
    scrape_pool: str = ""
    scrape_url: str = ""


class _Data(msgspec.Struct, rename="camel"):
    active_targets: list[Target] | None = None


class _Answer(msgspec.Struct):
    status: str
    data: _Data | None = None


_answers = msgspec.json.Decoder(_Answer)


def read_targets(body: bytes) -> list[Target]:
    try:
        answer = _answers.decode(body)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise MalformedError(f"the list of targets cannot be read: {error}") from None
    if answer.status != "success" or answer.data is None or answer.data.active_targets is None:
        raise MalformedError("the answer has no list of targets")
    if len(answer.data.active_targets) > TARGETS_LIMIT:
        raise MalformedError(f"{len(answer.data.active_targets)} targets are more than are read")
    return answer.data.active_targets
