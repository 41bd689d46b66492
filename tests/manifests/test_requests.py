"""Effective requests, from the arithmetic that Kubernetes documents."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ecotone.manifests import wire
from ecotone.manifests.reading.requests import DEFAULT_MEMORY, amount, effective
from ecotone.model.errors import InputError

MI = 1024 * 1024


def pod(**spec):
    return msgspec.convert(spec, wire.PodSpec)


def container(cpu=None, memory=None, *, limits=None, **more):
    asked = {name: text for name, text in (("cpu", cpu), ("memory", memory)) if text is not None}
    return {"resources": {"requests": asked, "limits": limits or {}}, **more}


def test_containers_add_up():
    assert effective(pod(containers=[container("100m", "64Mi"), container("0.2", 1024)]))[0] == {
        "cpu": 300,
        "memory": 64 * MI + 1024,
    }


def test_an_init_container_counts_only_if_it_asks_for_more():
    small = pod(containers=[container("300m")], initContainers=[container("200m")])
    large = pod(containers=[container("300m")], initContainers=[container("700m", "1Gi")])
    assert effective(small)[0] == {"cpu": 300}
    assert effective(large)[0] == {"cpu": 700, "memory": 1024 * MI}


def test_sidecars_run_beside_containers_and_beside_later_init_containers():
    sidecar = container("100m", restartPolicy="Always")
    first = pod(containers=[container("200m")], initContainers=[sidecar, container("500m")])
    last = pod(containers=[container("200m")], initContainers=[container("500m"), sidecar])
    assert effective(first)[0] == {"cpu": 600}
    assert effective(last)[0] == {"cpu": 500}


def test_requests_of_the_whole_pod_win_and_overhead_comes_on_top():
    spec = pod(
        containers=[container("200m", "64Mi")],
        resources={"requests": {"cpu": "1", "nvidia.com/gpu": 1}},
        overhead={"cpu": "50m", "memory": "16Mi"},
    )
    assert effective(spec)[0] == {"cpu": 1050, "memory": 80 * MI}


def test_a_pod_level_limit_stands_in_where_no_container_asks():
    spec = pod(containers=[container("200m")], resources={"limits": {"cpu": "2", "memory": "1Gi"}})
    assert effective(spec)[0] == {"cpu": 200, "memory": 1024 * MI}


def test_a_limit_without_a_request_is_one():
    assert effective(pod(containers=[container(limits={"cpu": "2"})]))[0] == {"cpu": 2000}
    assert effective(pod(containers=[container("1", limits={"cpu": "2"})]))[0] == {"cpu": 1000}


def test_silent_containers_count_for_something_when_scoring():
    spec = pod(containers=[container(), container("300m", "1Gi")], initContainers=[container("50m")])
    requests, nonzero = effective(spec)
    assert requests == {"cpu": 300, "memory": 1024 * MI}
    assert nonzero == (400, 1024 * MI + DEFAULT_MEMORY)


def test_an_explicit_zero_is_no_silence():
    assert effective(pod(containers=[container("0", "0")]))[1] == (0, 0)


def test_silence_counts_for_nothing_where_the_pod_has_spoken():
    spoken = pod(containers=[container(), container()], resources={"requests": {"cpu": "1"}})
    assert effective(spoken)[1] == (1000, 2 * DEFAULT_MEMORY)
    whole = pod(containers=[container()], resources={"requests": {"cpu": "1", "memory": "1Gi"}})
    assert effective(whole)[1] == (1000, 1024 * MI)


def status(**fields):
    return msgspec.convert(fields, wire.PodStatus)


def test_a_container_being_resized_counts_with_the_most_it_has_or_wants():
    spec = pod(containers=[container("500m", name="c")], initContainers=[container("100m", name="i")])
    seen = [{"name": "c", "allocatedResources": {"cpu": "700m"}, "resources": {"requests": {"cpu": "600m"}}}]
    assert effective(spec, status(containerStatuses=seen))[0] == {"cpu": 700}
    spec = pod(containers=[container("900m", name="c")])
    assert effective(spec, status(containerStatuses=seen))[0] == {"cpu": 900}
    infeasible = [{"type": "PodResizePending", "reason": "Infeasible"}]
    assert effective(spec, status(containerStatuses=seen, conditions=infeasible))[0] == {"cpu": 700}


def test_a_quantity_that_is_none_says_which_resource():
    with pytest.raises(InputError, match="memory: quantity '1Gb' has the unknown suffix 'Gb'"):
        amount("memory", "1Gb")
    with pytest.raises(InputError, match="cpu: quantity '-1' is negative"):
        amount("cpu", "-1")


containers = st.lists(
    st.tuples(st.none() | st.integers(0, 4000), st.booleans()).map(
        lambda drawn: container(
            None if drawn[0] is None else f"{drawn[0]}m", **({"restartPolicy": "Always"} if drawn[1] else {})
        )
    ),
    max_size=5,
)


@given(st.lists(st.none() | st.integers(0, 4000), min_size=1, max_size=4), containers)
def test_the_pod_needs_the_larger_of_its_two_phases(main, inits):
    """Straightforward: walk through the pod's life and take the highest sum of what runs at a time."""

    def of(given, missing):
        text = given["resources"]["requests"].get("cpu")
        return missing if text is None else int(text[:-1])

    spec = pod(containers=[container(None if each is None else f"{each}m") for each in main], initContainers=inits)
    for missing, found in ((0, effective(spec)[0].get("cpu", 0)), (100, effective(spec)[1][0])):
        peak = beside = 0
        for init in inits:
            if init.get("restartPolicy") == "Always":
                beside += of(init, missing)
                peak = max(peak, beside)
            else:
                peak = max(peak, beside + of(init, missing))
        assert found == max(peak, beside + sum(missing if each is None else each for each in main))
