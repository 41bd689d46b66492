from builders import cluster, node, pod
from ecotone.scheduling.plugins.kubernetes.priority_sort import PrioritySort


def test_higher_priority_first_then_who_waits_longest_then_name():
    state = cluster([node("a")])
    pods = [
        pod("late-0", created=5.0),
        pod("b-0", created=1.0),
        pod("a-0", created=1.0),
        pod("vip-0", created=9.0, spec={"priority": 7}),
        pod("low-0", spec={"priority": -1}),
    ]
    ordered = sorted(pods, key=lambda each: PrioritySort().sort_key(state, each))
    assert [each.name for each in ordered] == ["vip-0", "a-0", "b-0", "late-0", "low-0"]
