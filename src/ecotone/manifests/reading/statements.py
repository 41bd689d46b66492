"""What bare pods say for the workload they make up.

A bare pod has no Deployment to annotate, so its own annotations and labels speak. Replicas say the same thing: a statement
is recognised by its text before anything is built from it, and counted. Where they differ, what one leaves open another
may say, in an order that does not depend on who came first. Only the first few are asked: a namespace full of pods that
all say something else must not cost more with every one of them.
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping
from dataclasses import replace
from functools import reduce
from hashlib import blake2b

import msgspec

from ecotone.manifests import keys, wire
from ecotone.manifests.measured_keys import without_measured
from ecotone.manifests.reading.workloads import bare_workload, merged
from ecotone.model.objects import Workload, WorkloadKey

MOST_ASKED = 16
_LONGEST_TEXT = 256


class _Heard(msgspec.Struct):
    workload: Workload
    pods: int = 0


class Statements:
    def __init__(self) -> None:
        self._by_pod: dict[str, str] = {}
        self._heard: dict[WorkloadKey, dict[str, _Heard]] = {}

    def is_what_it_says(self, pod: str, statement: tuple[str, Workload] | None) -> bool:
        """True if the pod has said this already (None: nothing)."""
        return self._by_pod.get(pod) == (None if statement is None else statement[0])

    def read(self, key: WorkloadKey, given: wire.Pod, *, believed: bool = True) -> tuple[str, Workload] | None:
        """The pod's statement about this workload, None if it says nothing; what others have said is not built again."""
        meta = given.metadata
        said: Mapping[str, str] = keys.read_by_us(meta.labels, meta.annotations)
        said = said if believed else without_measured(said)
        if not said:
            return None
        text = _text(said)
        known = self._heard.get(key, {}).get(text)
        return text, bare_workload(key, given, believed=believed) if known is None else known.workload

    def say(self, pod: str, key: WorkloadKey, statement: tuple[str, Workload]) -> None:
        text, workload = statement
        self._by_pod[pod] = text
        heard = self._heard.setdefault(key, {})
        if text not in heard:
            heard[text] = _Heard(workload if workload.key == key else replace(workload, key=key))
        heard[text].pods += 1

    def unsay(self, pod: str, key: WorkloadKey) -> tuple[str, Workload] | None:
        """Removes the pod's statement, if it had one: the pod is gone or belongs to another workload now."""
        text = self._by_pod.pop(pod, None)
        if text is None:
            return None
        heard = self._heard[key]
        found = heard[text]
        found.pods -= 1
        if not found.pods:
            del heard[text]
        if not heard:
            del self._heard[key]
        return text, found.workload

    def summary(self, key: WorkloadKey) -> Workload | None:
        """The workload as its pods have it between them."""
        heard = self._heard.get(key)
        if heard is None:
            return None
        asked = heard if len(heard) == 1 else heapq.nsmallest(MOST_ASKED, heard)
        spoken = reduce(merged, (heard[text].workload for text in asked))
        return replace(spoken, replicas=sum(each.pods for each in heard.values()))


def _text(said: Mapping[str, str]) -> str:
    text = repr(sorted(said.items()))
    return text if len(text) <= _LONGEST_TEXT else blake2b(text.encode("utf-8", "surrogatepass")).hexdigest()
