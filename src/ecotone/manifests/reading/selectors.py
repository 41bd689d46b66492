"""Selectors and affinities of the API turned into the model's, with Kubernetes' fine print.

The fine print: a missing label selector matches nothing and an empty one everything; a pod term without namespaces speaks
of the pod's own namespace unless it has a namespace selector; `matchLabelKeys` mean "equal to my own value".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ecotone.manifests import wire
from ecotone.manifests.spelling import did_you_mean
from ecotone.model import selectors as model
from ecotone.model.errors import InputError

_LABEL_OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist")
_NODE_OPERATORS = (*_LABEL_OPERATORS, "Gt", "Lt")
_SPREAD_ACTIONS = ("DoNotSchedule", "ScheduleAnyway")


def requirement(given: wire.SelectorRequirement, *, on_nodes: bool = False) -> model.Requirement:
    operators = _NODE_OPERATORS if on_nodes else _LABEL_OPERATORS
    if given.operator not in operators:
        raise InputError(
            f"selector on {given.key!r} has the unknown operator {given.operator!r}",
            hint=did_you_mean(given.operator, operators),
        )
    return model.Requirement(given.key, given.operator, tuple(given.values))


def label_selector(given: wire.LabelSelector | None) -> model.LabelSelector:
    if given is None:
        return model.NOTHING
    if not given.match_labels and not given.match_expressions:
        return model.EVERYTHING
    equal = [model.Requirement(key, "In", (value,)) for key, value in sorted(given.match_labels.items())]
    return model.LabelSelector((*equal, *(requirement(each) for each in given.match_expressions)))


def node_term(given: wire.NodeSelectorTerm, *, weight: int = 0) -> model.NodeTerm:
    return model.NodeTerm(
        expressions=tuple(requirement(each, on_nodes=True) for each in given.match_expressions),
        fields=tuple(requirement(each, on_nodes=True) for each in given.match_fields),
        weight=weight,
    )


def node_selector(given: wire.NodeSelector | None) -> tuple[model.NodeTerm, ...] | None:
    return None if given is None else tuple(node_term(term) for term in given.node_selector_terms)


def node_affinity(given: wire.NodeAffinity | None) -> model.NodeAffinity:
    if given is None:
        return model.NodeAffinity()
    preferred = tuple(node_term(term.preference, weight=term.weight) for term in given.preferred)
    return model.NodeAffinity(node_selector(given.required), preferred)


def pod_affinity(given: wire.PodAffinity | None, *, namespace: str, labels: Mapping[str, str]) -> model.PodAffinity:
    if given is None:
        return model.PodAffinity()
    return model.PodAffinity(
        required=tuple(_pod_term(term, namespace=namespace, labels=labels) for term in given.required),
        preferred=tuple(
            _pod_term(term.pod_affinity_term, namespace=namespace, labels=labels, weight=term.weight)
            for term in given.preferred
        ),
    )


def _pod_term(
    given: wire.PodAffinityTerm, *, namespace: str, labels: Mapping[str, str], weight: int = 0
) -> model.PodTerm:
    namespaces = frozenset(given.namespaces)
    if not namespaces and given.namespace_selector is None:
        namespaces = frozenset({namespace})
    selector = label_selector(given.label_selector)
    selector = _with_own(selector, given.match_label_keys, labels, operator="In")
    selector = _with_own(selector, given.mismatch_label_keys, labels, operator="NotIn")
    return model.PodTerm(
        selector=selector,
        topology_key=given.topology_key,
        namespaces=namespaces,
        namespace_selector=label_selector(given.namespace_selector),
        weight=weight,
    )


def _with_own(
    selector: model.LabelSelector, keys: Sequence[str], labels: Mapping[str, str], *, operator: str
) -> model.LabelSelector:
    """The selector narrowed by the pod's own values of these labels; keys it lacks are ignored, as the API does."""
    if selector.nothing:
        return selector
    own = [model.Requirement(key, operator, (labels[key],)) for key in keys if key in labels]
    new = tuple(each for each in own if each not in selector.requirements)
    return model.LabelSelector((*selector.requirements, *new)) if new else selector


def spread_constraint(given: wire.TopologySpreadConstraint, *, labels: Mapping[str, str]) -> model.SpreadConstraint:
    if given.when_unsatisfiable not in _SPREAD_ACTIONS:
        raise InputError(
            f"topology spread constraint has the unknown whenUnsatisfiable {given.when_unsatisfiable!r}",
            hint=did_you_mean(given.when_unsatisfiable, _SPREAD_ACTIONS),
        )
    return model.SpreadConstraint(
        max_skew=given.max_skew,
        topology_key=given.topology_key,
        when_unsatisfiable=given.when_unsatisfiable,
        selector=_with_own(label_selector(given.label_selector), given.match_label_keys, labels, operator="In"),
        min_domains=given.min_domains or 1,
        node_affinity_policy=given.node_affinity_policy,
        node_taints_policy=given.node_taints_policy,
        match_label_keys=tuple(given.match_label_keys),
    )


def toleration(given: wire.Toleration) -> model.Toleration:
    return model.Toleration(given.key, given.operator or "Equal", given.value, given.effect)
