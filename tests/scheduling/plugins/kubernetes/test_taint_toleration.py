from asking import passing, raw_scores, reasons, scores
from builders import cluster, node, pod, tolerating
from ecotone.model.selectors import Taint
from ecotone.scheduling.plugin import Event
from ecotone.scheduling.plugins.kubernetes.taint_toleration import UNTOLERATED, TaintToleration

plugin = TaintToleration()


def test_taints_that_keep_out_do_unless_tolerated():
    state = cluster(
        [
            node("plain"),
            node("gpu", taints=[Taint("gpu", "yes")]),
            node("leaving", taints=[Taint("gone", effect="NoExecute")]),
            node("shy", taints=[Taint("busy", effect="PreferNoSchedule")]),
        ]
    )
    assert passing(plugin, state, pod("web-0")) == {"plain", "shy"}
    assert reasons(plugin, state, pod("web-0")) == {"gpu": [(UNTOLERATED, True)], "leaving": [(UNTOLERATED, True)]}
    tolerant = pod("web-0", spec={"tolerations": (tolerating("gpu", "yes"),)})
    assert passing(plugin, state, tolerant) == {"plain", "shy", "gpu"}
    everything = pod("web-0", spec={"tolerations": (tolerating(""),)})
    assert passing(plugin, state, everything) == {"plain", "shy", "gpu", "leaving"}
    other_value = pod("web-0", spec={"tolerations": (tolerating("gpu", "no"),)})
    assert passing(plugin, state, other_value) == {"plain", "shy"}
    other_effect = pod("web-0", spec={"tolerations": (tolerating("gpu", effect="NoExecute"),)})
    assert passing(plugin, state, other_effect) == {"plain", "shy"}


def test_a_node_gets_100_less_its_share_of_the_most_untolerated_taints_cut_off():
    def soft(key: str) -> Taint:
        return Taint(key, effect="PreferNoSchedule")

    state = cluster(
        [node("a"), node("b", taints=[soft("x")]), node("c", taints=[soft("x"), soft("y"), soft("z"), Taint("hard")])]
    )
    assert raw_scores(plugin, state, pod("web-0")) == {"a": 0, "b": 1, "c": 3}
    # 100 - 100 * 1 // 3
    assert scores(plugin, state, pod("web-0")) == {"a": 100, "b": 67, "c": 0}
    # A toleration for another effect does not count here.
    hard_only = pod("web-0", spec={"tolerations": (tolerating("x", effect="NoSchedule"),)})
    assert raw_scores(plugin, state, hard_only) == {"a": 0, "b": 1, "c": 3}
    tolerant = pod("web-0", spec={"tolerations": (tolerating("x"),)})
    assert scores(plugin, state, tolerant) == {"a": 100, "b": 100, "c": 0}


def test_without_soft_taints_everybody_scores_100():
    assert scores(plugin, cluster([node("a"), node("b")]), pod("web-0")) == {"a": 100, "b": 100}


def test_a_node_that_loses_the_taint_or_a_pod_that_learns_to_tolerate_it_may_help():
    tainted, clean = node("a", taints=[Taint("gpu")]), node("a")
    waiting = pod("web-0")
    assert plugin.hint(Event("node", "update", tainted, clean), waiting)
    assert not plugin.hint(Event("node", "update", clean, clean), waiting)
    assert not plugin.hint(Event("node", "add", None, tainted), waiting)
    assert plugin.hint(Event("node", "add", None, clean), waiting)
    assert plugin.hint(Event("pod", "update", waiting, waiting), waiting)
    assert not plugin.hint(Event("pod", "delete", pod("x-0", node="a"), None), waiting)
