"""Which kinds of pods a selector speaks of, without asking all of them.

Spreading and affinity ask "who carries these labels?" for every pod that is placed, and "whose rules are about a pod with
these labels?" the other way round. Nearly every selector fixes at least one label to one value, so both questions start
from that pair. The index only grows: kinds that no longer run anywhere have empty counts in `Usage` and do no harm, and
`Usage` starts a new one when most are of that sort.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ecotone.model.objects import PodKind
from ecotone.model.selectors import LabelSelector, PodTerm

Pair = tuple[str, str]


class KindIndex:
    def __init__(self, kinds: Iterable[PodKind] = ()) -> None:
        self._labels: dict[PodKind, dict[str, str]] = {}
        self._by_pair: dict[Pair, list[PodKind]] = {}
        self._rules_by_pair: dict[Pair, list[PodKind]] = {}
        self._rules_for_any: list[PodKind] = []
        self.with_ports: list[PodKind] = []
        self.with_claims: list[PodKind] = []
        for kind in kinds:
            self.learn(kind)

    def __len__(self) -> int:
        return len(self._labels)

    def learn(self, kind: PodKind) -> None:
        if kind in self._labels:
            return
        self._labels[kind] = dict(kind.labels)
        for pair in kind.labels:
            self._by_pair.setdefault(pair, []).append(kind)
        if kind.spec.host_ports:
            self.with_ports.append(kind)
        if kind.spec.claims or kind.spec.restricted_volumes:
            self.with_claims.append(kind)
        pairs = {fixed_pair(term.selector) for term in terms_of(kind)}
        if None in pairs:
            self._rules_for_any.append(kind)
        else:
            for each in pairs:
                if each is not None:
                    self._rules_by_pair.setdefault(each, []).append(kind)

    def labels(self, kind: PodKind) -> dict[str, str]:
        known = self._labels.get(kind)
        return dict(kind.labels) if known is None else known

    def matching(self, selector: LabelSelector, namespaces: frozenset[str] | None) -> Iterator[PodKind]:
        """Kinds with matching labels in these namespaces (None: in any)."""
        pair = fixed_pair(selector)
        for kind in self._labels if pair is None else self._by_pair.get(pair, ()):
            if (namespaces is None or kind.namespace in namespaces) and selector.matches(self._labels[kind]):
                yield kind

    def with_rules_about(self, labels: Iterable[Pair]) -> Iterator[PodKind]:
        """Kinds with pod (anti-)affinity terms that may be about a pod with these labels; the caller asks the terms."""
        seen: set[PodKind] = set()
        for kind in self._rules_for_any:
            yield kind
        for pair in labels:
            for kind in self._rules_by_pair.get(pair, ()):
                if kind not in seen:
                    seen.add(kind)
                    yield kind


def terms_of(kind: PodKind) -> Iterator[PodTerm]:
    spec = kind.spec
    for affinity in (spec.pod_affinity, spec.pod_anti_affinity):
        yield from affinity.required
        yield from affinity.preferred


def fixed_pair(selector: LabelSelector) -> Pair | None:
    """A label that every match must carry with this very value, if the selector has one."""
    for each in selector.requirements:
        if each.operator == "In" and len(each.values) == 1:
            return each.key, each.values[0]
    return None
