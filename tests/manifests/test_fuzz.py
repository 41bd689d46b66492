"""Whatever bytes come, the answer is a snapshot or one clear error."""

import copy
import json

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from ecotone.manifests.files import read_paths
from ecotone.manifests.writing.snapshot import snapshot_documents
from ecotone.manifests.yaml.text import yaml_text
from ecotone.model.errors import InputError
from ecotone.model.snapshot import Snapshot
from ecotone.planning.plan import make_plan
from manifests.builders import node, owned, pod, thing

SEEDS = [
    node(
        "n1",
        labels={"ecotone.dev/price-per-hour": "0.1"},
        annotations={"ecotone.dev/latencies": '{"n2": 1}', "ecotone.dev/measured-at": "2026-01-01T00:00:00Z"},
        spec={"taints": [{"key": "k", "effect": "NoSchedule"}]},
    ),
    pod(
        "p",
        labels={"app": "a", "app-group": "g", "index": "1"},
        annotations={"ecotone.dev/traffic": '{"b": 1}', "ecotone.dev/max-latency": "5ms"},
        ownerReferences=owned("ReplicaSet", "r"),
        creationTimestamp="2026-01-01T00:00:00Z",
        spec={
            "priority": 1,
            "tolerations": [{"key": "k"}],
            "volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}],
            "affinity": {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "z"}]}},
            "topologySpreadConstraints": [{"maxSkew": 1, "topologyKey": "z", "whenUnsatisfiable": "DoNotSchedule"}],
        },
        status={"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]},
    ),
    pod("q", spec={"nodeName": "n1"}, labels={"app": "b", "app-group": "g"}),
    thing("ReplicaSet", "r", ownerReferences=owned("Deployment", "d"), spec={"selector": {"matchLabels": {"a": "b"}}}),
    thing("Deployment", "d", spec={"replicas": 1, "template": {"spec": {"containers": [{"name": "c"}]}}}),
    thing("NetworkMap", "m", spec={"topologyKey": "zone", "rtt": {"a": {"b": 1}}}),
    thing("Reservation", "r", spec={"workload": "w", "node": "n", "expires": "2026-01-01T00:00:00Z"}),
    thing("PersistentVolume", "v", spec={"capacity": {"storage": "1Gi"}}),
    thing("SnapshotState", "s", now=5.0, lastMoves={"Deployment:default/d": 1.0}, assumed=["default/p"]),
]
odd = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from(["1e400", "-1", "9" * 400, "/"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


def places(value, path=()):
    yield path
    if isinstance(value, dict):
        for key, each in value.items():
            yield from places(each, (*path, key))
    elif isinstance(value, list):
        for number, each in enumerate(value):
            yield from places(each, (*path, number))


@st.composite
def mutated(draw):
    things = copy.deepcopy(SEEDS)
    for _ in range(draw(st.integers(1, 3))):
        path = draw(st.sampled_from([each for each in places(things) if each]))
        holder = things
        try:
            for step in path[:-1]:
                holder = holder[step]
            holder[path[-1]] = draw(odd)
        except (KeyError, IndexError, TypeError):
            continue
    return things


def answer(tmp_path, name, data):
    file = tmp_path / name
    file.write_bytes(data)
    try:
        return read_paths([file])
    except InputError as error:
        assert str(error).count("\n") == 0 or len(str(error)) < 2000
        return error


calm = settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@calm
@given(st.binary(max_size=200) | st.text(max_size=200).map(lambda text: text.encode("utf-8", "surrogatepass")))
@example(b'{"apiVersion": "v1", "kind": "List", "items": [3]}')
@example(b'[{"apiVersion": "v1"}]')
@example(b'{"apiVersion": "v1", "kind": "PodList", "items": [{"metadata": {}}]}')
def test_any_bytes(tmp_path, data):
    assert isinstance(answer(tmp_path, "any.yaml", data), Snapshot | InputError)


@calm
@given(mutated())
def test_objects_with_something_odd_in_them(tmp_path, things):
    as_yaml = answer(tmp_path, "odd.yaml", yaml_text(things).encode("utf-8", "surrogatepass"))
    assert isinstance(as_yaml, Snapshot | InputError)
    listed = {"apiVersion": "v1", "kind": "List", "items": things}
    assert isinstance(answer(tmp_path, "odd.json", json.dumps(listed).encode()), Snapshot | InputError)


def test_the_seeds_themselves_are_read(tmp_path):
    assert isinstance(answer(tmp_path, "seeds.yaml", yaml_text(SEEDS).encode()), Snapshot)


@calm
@given(mutated())
def test_what_can_be_read_can_be_planned_and_written(tmp_path, things):
    found = answer(
        tmp_path, "odd.yaml", yaml_text([each for each in things if isinstance(each, dict)]).encode("utf-8", "replace")
    )
    if isinstance(found, Snapshot):
        for policy in ("kube-default", "sophos", "ecotone"):
            make_plan(found, policy, moves=True)
        json.dumps(snapshot_documents(found))
