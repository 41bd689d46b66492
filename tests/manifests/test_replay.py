"""Any cluster, dumped and read back, decides the same: pods, moves and memory."""

import json

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ecotone.descheduling import deschedule
from ecotone.manifests.files import read_paths
from ecotone.manifests.writing.snapshot import snapshot_documents
from ecotone.manifests.yaml.text import yaml_text
from ecotone.model.state import ClusterState
from ecotone.planning.reports import played
from ecotone.scheduling import decide
from manifests.builders import node, owned, pod, snapshot_of, thing

NAMES = ["n1", "n2", "n3"]
APPS = ["web", "api", "db"]
milliseconds = st.floats(0, 200, allow_nan=False)
moments = st.sampled_from(["2026-01-01T00:00:00Z", "2026-01-01T00:04:00.25Z", "2025-12-31T23:50:00Z"])


@st.composite
def nodes(draw, name):
    notes = {}
    if draw(st.booleans()):
        notes["ecotone.dev/latencies"] = json.dumps({other: draw(milliseconds) for other in NAMES if other != name})
        notes["ecotone.dev/measured-at"] = draw(moments)
    if draw(st.booleans()):
        notes["ecotone.dev/available-cpu"] = f"{draw(st.integers(0, 4000))}m"
        notes["ecotone.dev/available-memory"] = str(draw(st.integers(0, 2**33)))
    labels = {"ecotone.dev/tier": draw(st.sampled_from(["edge", "fog", "cloud"])), "zone": draw(st.sampled_from("ab"))}
    return node(name, cpu=str(draw(st.integers(1, 4))), labels=labels, annotations=notes)


@st.composite
def pods(draw, number):
    app = draw(st.sampled_from(APPS))
    spec = {"schedulerName": "ecotone", "priority": draw(st.integers(0, 2))}
    status = {}
    if draw(st.booleans()):
        spec["nodeName"] = draw(st.sampled_from([*NAMES, "gone"]))
        bound = {"type": "PodScheduled", "status": "True", "lastTransitionTime": draw(moments)}
        status = {"phase": "Running", "conditions": [bound, {"type": "Ready", "status": "True"}]}
    if draw(st.booleans()):
        constraint = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway"}
        spec["topologySpreadConstraints"] = [{**constraint, "labelSelector": {"matchLabels": {"app": app}}}]
    owner = draw(st.sampled_from([owned("Deployment", app), owned("ReplicaSet", f"{app}-1"), []]))
    labels = {"app": app, "app-group": "g", "index": str(APPS.index(app))}
    cpu = draw(st.none() | st.integers(0, 1500).map(lambda each: f"{each}m"))
    return pod(f"p{number}", cpu=cpu, labels=labels, ownerReferences=owner, spec=spec, status=status)


@st.composite
def workloads(draw, app):
    traffic = {peer: draw(st.floats(0, 1e6)) for peer in [*APPS, "users@n1"] if draw(st.booleans())}
    notes = (
        {"ecotone.dev/traffic": json.dumps(traffic)}
        if draw(st.booleans())
        else {"cpu-usage": str(draw(st.floats(0, 500)))}
    )
    affinity = {
        "ecotone.dev/affinity": json.dumps({peer: draw(st.integers(0, 100)) for peer in APPS if draw(st.booleans())})
    }
    return thing(
        "Deployment",
        app,
        labels={"app-group": "g"},
        annotations=notes,
        spec={"template": {"metadata": {"annotations": affinity}}},
    )


@st.composite
def clusters(draw):
    return [
        *(draw(nodes(name)) for name in NAMES),
        *(draw(workloads(app)) for app in APPS),
        *(thing("ReplicaSet", f"{app}-1", ownerReferences=owned("Deployment", app)) for app in APPS),
        *(draw(pods(number)) for number in range(draw(st.integers(1, 7)))),
    ]


def again(tmp_path, snapshot):
    file = tmp_path / "dump.yaml"
    file.write_text(yaml_text(snapshot_documents(snapshot)))
    return read_paths([file])


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    clusters(),
    st.integers(0, 2**31),
    st.sampled_from(["kube-default", "sophos", "ecotone", "random", "round-robin", "nas"]),
)
def test_a_dumped_snapshot_replays_to_identical_decisions(tmp_path, things, seed, policy):
    snapshot = snapshot_of(tmp_path, *things, seed=seed)
    first = decide(snapshot, policy)
    assert decide(again(tmp_path, snapshot), policy) == first
    assert deschedule(again(tmp_path, snapshot), policy) == deschedule(snapshot, policy)
    # And one step later, with what was decided assumed and remembered.
    state = ClusterState.of(played(snapshot, first.decisions).freeze())
    state.memory = dict(first.memory)
    later = state.freeze()
    assert decide(again(tmp_path, later), policy) == decide(later, policy)
    assert deschedule(again(tmp_path, later), policy) == deschedule(later, policy)
