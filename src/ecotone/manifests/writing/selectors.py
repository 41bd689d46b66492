"""The model's selectors and affinities as the API writes them."""

from __future__ import annotations

from collections.abc import Iterable

from ecotone.manifests import wire
from ecotone.model import selectors as model


def requirement(given: model.Requirement) -> wire.SelectorRequirement:
    return wire.SelectorRequirement(key=given.key, operator=given.operator, values=list(given.values))


def label_selector(given: model.LabelSelector) -> wire.LabelSelector | None:
    if given.nothing:
        return None
    return wire.LabelSelector(match_expressions=[requirement(each) for each in given.requirements])


def node_selector(terms: Iterable[model.NodeTerm] | None) -> wire.NodeSelector | None:
    return None if terms is None else wire.NodeSelector(node_selector_terms=[_node_term(each) for each in terms])


def _node_term(given: model.NodeTerm) -> wire.NodeSelectorTerm:
    return wire.NodeSelectorTerm(
        match_expressions=[requirement(each) for each in given.expressions],
        match_fields=[requirement(each) for each in given.fields],
    )


def affinity(nodes: model.NodeAffinity, pods: model.PodAffinity, anti: model.PodAffinity) -> wire.Affinity | None:
    if not (
        nodes.required is not None
        or nodes.preferred
        or pods.required
        or pods.preferred
        or anti.required
        or anti.preferred
    ):
        return None
    preferred = [
        wire.PreferredSchedulingTerm(weight=each.weight, preference=_node_term(each)) for each in nodes.preferred
    ]
    return wire.Affinity(
        node_affinity=wire.NodeAffinity(required=node_selector(nodes.required), preferred=preferred),
        pod_affinity=_pod_affinity(pods),
        pod_anti_affinity=_pod_affinity(anti),
    )


def _pod_affinity(given: model.PodAffinity) -> wire.PodAffinity | None:
    if not given.required and not given.preferred:
        return None
    return wire.PodAffinity(
        required=[_pod_term(each) for each in given.required],
        preferred=[
            wire.WeightedPodAffinityTerm(weight=each.weight, pod_affinity_term=_pod_term(each))
            for each in given.preferred
        ],
    )


def _pod_term(given: model.PodTerm) -> wire.PodAffinityTerm:
    return wire.PodAffinityTerm(
        topology_key=given.topology_key,
        label_selector=label_selector(given.selector),
        namespaces=sorted(given.namespaces),
        namespace_selector=label_selector(given.namespace_selector),
    )


def spread(given: model.SpreadConstraint) -> wire.TopologySpreadConstraint:
    return wire.TopologySpreadConstraint(
        max_skew=given.max_skew,
        topology_key=given.topology_key,
        when_unsatisfiable=given.when_unsatisfiable,
        label_selector=label_selector(given.selector),
        min_domains=None if given.min_domains == 1 else given.min_domains,
        node_affinity_policy=given.node_affinity_policy,
        node_taints_policy=given.node_taints_policy,
        match_label_keys=list(given.match_label_keys),
    )


def toleration(given: model.Toleration) -> wire.Toleration:
    return wire.Toleration(key=given.key, operator=given.operator, value=given.value, effect=given.effect)
