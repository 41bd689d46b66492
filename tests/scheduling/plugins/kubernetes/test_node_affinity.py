import pytest

from asking import passing, raw_scores, reasons, scores
from builders import cluster, node, pod, within
from ecotone.model.errors import InputError
from ecotone.model.selectors import NodeAffinity as Affinity
from ecotone.model.selectors import NodeTerm, Requirement
from ecotone.scheduling.plugin import Event
from ecotone.scheduling.plugins.kubernetes.node_affinity import CONFLICT, ENFORCED, NO_MATCH, NodeAffinity

plugin = NodeAffinity()
state = cluster(
    [
        node("a", labels={"disk": "ssd", "cores": "4"}),
        node("b", labels={"disk": "hdd", "cores": "16"}),
        node("c", labels={"cores": "many"}),
    ]
)


def wanting(*terms: NodeTerm, preferred=(), selector=()):
    required = terms or None
    return pod("web-0", spec={"node_affinity": Affinity(required, tuple(preferred)), "node_selector": selector})


@pytest.mark.parametrize(
    ("requirement", "nodes"),
    [
        (within("disk", "ssd"), {"a"}),
        (within("disk", "ssd", "hdd"), {"a", "b"}),
        (Requirement("disk", "NotIn", ("ssd",)), {"b", "c"}),
        (Requirement("disk", "Exists"), {"a", "b"}),
        (Requirement("disk", "DoesNotExist"), {"c"}),
        (Requirement("cores", "Gt", ("4",)), {"b"}),
        (Requirement("cores", "Lt", ("16",)), {"a"}),
        (Requirement("cores", "Near", ("16",)), set()),
    ],
)
def test_operators(requirement, nodes):
    assert passing(plugin, state, wanting(NodeTerm((requirement,)))) == nodes


def test_terms_are_alternatives_expressions_add_up_and_an_empty_term_matches_nothing():
    ssd, big = within("disk", "ssd"), Requirement("cores", "Gt", ("8",))
    assert passing(plugin, state, wanting(NodeTerm((ssd,)), NodeTerm((big,)))) == {"a", "b"}
    assert passing(plugin, state, wanting(NodeTerm((ssd, big)))) == set()
    assert passing(plugin, state, wanting(NodeTerm())) == set()
    assert passing(plugin, state, wanting(NodeTerm(fields=(within("metadata.name", "c"),)))) == {"c"}
    assert passing(plugin, state, wanting(NodeTerm(fields=(within("metadata.uid", "c"),)))) == set()


def test_node_selector_and_affinity_must_both_match():
    assert passing(plugin, state, wanting(selector=(("disk", "hdd"),))) == {"b"}
    both = wanting(NodeTerm((Requirement("cores", "Lt", ("8",)),)), selector=(("disk", "hdd"),))
    assert passing(plugin, state, both) == set()
    assert reasons(plugin, state, wanting(selector=(("disk", "hdd"),))) == {
        "a": [(NO_MATCH, True)],
        "c": [(NO_MATCH, True)],
    }
    assert passing(plugin, state, pod("web-0")) == {"a", "b", "c"}


def test_names_that_exclude_each_other_are_a_conflict_of_the_pod():
    twice = NodeTerm(fields=(within("metadata.name", "a"), within("metadata.name", "b")))
    assert reasons(plugin, state, wanting(twice))["c"] == [(CONFLICT, True)]
    assert passing(plugin, state, wanting(twice, NodeTerm(fields=(within("metadata.name", "a"),)))) == {"a"}


def test_weights_of_matching_terms_add_up_and_are_scaled_to_the_best_cut_off():
    likes = wanting(
        preferred=[
            NodeTerm((within("disk", "ssd"),), weight=5),
            NodeTerm((Requirement("disk", "Exists"),), weight=2),
            NodeTerm(weight=50),
        ]
    )
    assert raw_scores(plugin, state, likes) == {"a": 7, "b": 2, "c": 0}
    assert scores(plugin, state, likes) == {"a": 100, "b": 28, "c": 0}
    assert scores(plugin, state, likes, feasible=["b", "c"]) == {"b": 100, "c": 0}
    assert raw_scores(plugin, state, pod("web-0")) is None


def test_added_affinity_is_enforced_and_preferred_on_top():
    strict = NodeAffinity(
        addedAffinity={
            "requiredDuringSchedulingIgnoredDuringExecution": {
                "nodeSelectorTerms": [{"matchExpressions": [{"key": "disk", "operator": "Exists"}]}]
            },
            "preferredDuringSchedulingIgnoredDuringExecution": [
                {
                    "weight": 10,
                    "preference": {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["b"]}]},
                }
            ],
        }
    )
    assert passing(strict, state, pod("web-0")) == {"a", "b"}
    assert reasons(strict, state, wanting(selector=(("disk", "hdd"),))) == {
        "a": [(NO_MATCH, True)],
        "c": [(ENFORCED, True)],
    }
    assert raw_scores(strict, state, pod("web-0")) == {"a": 0, "b": 10, "c": 0}
    hdd = node("x", labels={"disk": "hdd"})
    assert strict.hint(Event("node", "add", None, hdd), pod("web-0"))
    assert not strict.hint(Event("node", "add", None, node("x")), pod("web-0"))


@pytest.mark.parametrize(
    "broken",
    [
        {"requiredDuringSchedulingIgnoredDuringExecution": {}},
        {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": "much", "preference": {}}]},
        {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{"matchExpressions": [{}]}]}},
    ],
)
def test_a_broken_added_affinity_is_an_input_error(broken):
    with pytest.raises(InputError, match="addedAffinity"):
        NodeAffinity(addedAffinity=broken)


def test_a_label_that_makes_a_node_match_may_help():
    waiting = wanting(selector=(("disk", "ssd"),))
    plain, fitting = node("x"), node("x", labels={"disk": "ssd"})
    assert plugin.hint(Event("node", "update", plain, fitting), waiting)
    assert not plugin.hint(Event("node", "update", fitting, fitting), waiting)
    assert not plugin.hint(Event("node", "update", fitting, plain), waiting)
    assert plugin.hint(Event("node", "add", None, fitting), waiting)
    assert plugin.hint(Event("pod", "update", waiting, waiting), waiting)
    assert not plugin.hint(Event("pod", "delete", pod("x-0", node="x"), None), waiting)
