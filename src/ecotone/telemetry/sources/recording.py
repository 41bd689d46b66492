"""Recording rules: series that Prometheus writes itself, with whatever labels the rule's author wants."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from ecotone.telemetry.samples import MalformedError

PATH = "rules"
RULES_LIMIT = 200_000


class Recording(msgspec.Struct, frozen=True):
    name: str = ""
    labels: Mapping[str, str] = {}
    """Set on every series of the rule, whatever its expression answers with."""
    type: str = ""


class _Group(msgspec.Struct):
    rules: list[Recording] | None = None


class _Data(msgspec.Struct):
    groups: list[_Group] | None = None


class _Answer(msgspec.Struct):
    status: str
    data: _Data | None = None


_answers = msgspec.json.Decoder(_Answer)


def read_recordings(body: bytes) -> list[Recording]:
    try:
        answer = _answers.decode(body)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise MalformedError(f"the rules cannot be read: {error}") from None
    if answer.status != "success" or answer.data is None or answer.data.groups is None:
        raise MalformedError("the answer has no rules")
    found = [rule for group in answer.data.groups for rule in group.rules or () if rule.type == "recording"]
    if len(found) > RULES_LIMIT:
        raise MalformedError(f"{len(found)} recording rules are more than are read")
    return found
