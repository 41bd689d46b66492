"""Ecotone installed from its manifests in a real cluster: it measures, it moves, and it can be removed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from ecotone.manifests import keys
from ecotone.model.errors import OutsideError
from ecotone.sim.scenario import load_scenario
from ecotone.testbed.application.users import Users, plans
from ecotone.testbed.application.workload import application_objects
from ecotone.testbed.bed import Bed
from ecotone.testbed.processes import DeadlineError
from testbed_real.installing import (
    MIN_GAIN_MS,
    NAMESPACE,
    READY_SECONDS,
    WHOLE,
    ecotone,
    helm,
    install,
    install_input_proxy,
    kubectl,
    watched,
)
from testbed_real.seeing import objects
from testbed_real.waiting import wait_until

pytestmark = pytest.mark.testbed
SCENARIO = load_scenario(str(Path(__file__).parent / "mall.yaml"))
MALL = "mall"
PORT = 8080


@pytest.fixture(scope="module")
def installed(bed: Bed) -> Bed:
    install(bed)
    return bed


@pytest.fixture(scope="module")
def users(bed: Bed, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Users]:
    made = Users(bed.topology, tmp_path_factory.mktemp("users"))
    try:
        yield made
    finally:
        made.end()


@pytest.fixture(scope="module")
def mall(installed: Bed, users: Users) -> Bed:
    """The application under Ecotone's scheduler, with users who enter at edge-1."""
    bed = installed
    bed.apply(application_objects(SCENARIO, namespace=MALL, scheduler="ecotone"))
    bed.apply(watched(MALL, MALL))
    for service in SCENARIO.application.services:
        bed.wait_for_rollout(MALL, f"deployment/{service.name}", seconds=READY_SECONDS)
    install_input_proxy(bed, f"{MALL}/web:{PORT}")
    edge = bed.topology.node("edge-1")
    users.start(plans(SCENARIO, lambda _, __: f"http://{edge.address}:{PORT}"))
    wait_until(lambda: any(each.answered for each in users.sent()), seconds=240, what="answered request")
    return bed


def written_on(bed: Bed, *which: str) -> dict[str, str]:
    found: dict[str, str] = objects(bed, *which)[0]["metadata"].get("annotations", {})
    return found


def nodes_of_api(bed: Bed) -> set[str]:
    pods = objects(bed, "pods", "-n", MALL, "-l", "app=api")
    return {each["spec"].get("nodeName", "none") for each in pods if not each["metadata"].get("deletionTimestamp")}


def moves(bed: Bed) -> list[dict[str, Any]]:
    return list(objects(bed, "appgroup", "-n", MALL, MALL)[0].get("status", {}).get("moves", []))


def settled(bed: Bed) -> bool:
    """True if no move is under way."""
    return all(move["outcome"] != "Started" for move in moves(bed))


def test_the_probe_measures_the_network_that_the_bed_has(mall: Bed) -> None:
    expected = {
        (a.name, b.name): mall.topology.link(a.name, b.name).rtt * 1000
        for a in mall.topology.nodes for b in mall.topology.nodes if a.name != b.name
    }  # fmt: skip

    def wrong() -> dict[tuple[str, str], tuple[float | None, float]]:
        measured = {
            each["metadata"]["name"]: json.loads(each["metadata"].get("annotations", {}).get(keys.LATENCIES, "{}"))
            for each in objects(mall, "nodes")
        }
        found = {pair: (measured[pair[0]].get(pair[1]), ms) for pair, ms in expected.items()}
        return {pair: (got, ms) for pair, (got, ms) in found.items() if got is None or abs(got - ms) > 0.05 * ms + 1}

    try:
        wait_until(lambda: not wrong(), seconds=240, what="latencies on nodes")
    except DeadlineError as error:
        raise DeadlineError(f"{error}: measured, and what the bed has: {wrong()}") from None


def test_traffic_flows_through_envoy_into_prometheus_into_annotations(mall: Bed) -> None:
    def told() -> bool:
        web = written_on(mall, "deployment", "-n", MALL, "web")
        calls = json.loads(web.get(keys.CALLS, "{}"))
        entering = json.loads(web.get(keys.REQUESTS, "{}"))
        onward = json.loads(written_on(mall, "deployment", "-n", MALL, "api").get(keys.CALLS, "{}"))
        rates = [calls.get("api"), entering.get("users@edge-1"), onward.get("db")]
        return all(rate is not None and 2.0 < rate < 6.5 for rate in rates)

    wait_until(told, seconds=240, what="about four requests a second on web and api")


def stands_on(bed: Bed, nodes: set[str]) -> bool:
    """True if api stands on some of these nodes and nowhere else; while it has no pod at all it stands nowhere."""
    found = nodes_of_api(bed)
    return bool(found) and found <= nodes


def test_while_the_first_figures_come_in_a_pod_moves_once_at_most(mall: Bed) -> None:
    """The descheduler has been at work since before anything was measured: it waits for what a move rests on."""
    wait_until(lambda: stands_on(mall, {"fog-1", "edge-2"}), seconds=240, what="api on a node in the middle")
    wait_until(lambda: settled(mall), seconds=120, what="end of the moves so far")
    assert len(moves(mall)) <= 1, moves(mall)


def test_a_changed_network_makes_the_descheduler_move_a_pod_to_where_it_was_predicted(mall: Bed) -> None:
    """Two hops of 20 ms beat one of 50; then the ways over fog-1 and edge-2 become long, and the direct one wins."""
    before = len(moves(mall))
    for middle in ("fog-1", "edge-2"):
        for end in ("edge-1", "cloud-1"):
            mall.set_link(middle, end, rtt=0.120)
    seen: list[tuple[dict[str, Any], set[str]]] = []

    def arrived() -> bool:
        """Looked at as one: the moves told before and after the nodes are the same, and none is under way."""
        told, nodes = moves(mall), nodes_of_api(mall)
        if (
            len(told) <= before
            or not settled(mall)
            or moves(mall) != told
            or not stands_on(mall, {"edge-1", "cloud-1"})
        ):
            return False
        seen.append((told[-1], nodes))
        return True

    # The first link to be measured as long may send api to the other middle for a while: what counts is where it ends.
    wait_until(arrived, seconds=240, what="api at one end of the direct link")
    last, nodes = seen[-1]
    assert last["workload"] == "api" and last["outcome"] == "Done"
    assert {last["to"]} == {last["landed"]} == nodes
    assert last["predictedGain"] >= MIN_GAIN_MS


def test_no_request_was_lost_while_pods_moved(mall: Bed, users: Users) -> None:
    """A replacement is ready before the old pod goes, which answers what it has been sent, and its sidecar ends after it."""
    assert any(move["outcome"] == "Done" and move.get("surge") for move in moves(mall))
    sent = users.sent()
    first = next(each.at for each in sent if each.answered)
    assert [each for each in sent if each.at >= first and not each.answered] == []


def test_helm_makes_the_same_objects_and_the_api_server_accepts_both(installed: Bed) -> None:
    chart = Path(__file__).resolve().parents[2] / "deploy" / "chart"
    sets = [
        "--kube-version=1.36.3",
        f"--set=image={WHOLE[1]}",
        f"--set=prometheus={WHOLE[3]}",
        "--set=trustPrometheus=true",
    ]
    chart_made = helm(installed, "template", "ecotone", str(chart), "--include-crds", "-n", NAMESPACE, *sets)
    printed = ecotone("manifests", *WHOLE)
    assert by_name(chart_made) == by_name(printed)
    for text in (chart_made, printed):
        answer = kubectl(
            installed, "apply", "--server-side", "--dry-run=server", "--validate=strict", "--force-conflicts",
            "-f", "-", text=text,
        )  # fmt: skip
        assert len(answer.splitlines()) == len(by_name(printed))


def by_name(text: str) -> dict[tuple[str, str], dict[str, Any]]:
    return {(each["kind"], each["metadata"]["name"]): each for each in yaml.safe_load_all(text) if each is not None}


def test_uninstalling_and_cleanup_leave_nothing_behind(mall: Bed) -> None:
    bed = mall
    kubectl(bed, "delete", "-f", "-", "--ignore-not-found", "--timeout=200s", text=ecotone("manifests", *WHOLE))
    wait_until(
        lambda: not objects(bed, "pods", "-n", NAMESPACE, "-l", "app.kubernetes.io/part-of=ecotone"),
        seconds=120,
        what="end of the programs",
    )
    ecotone("cleanup", "--kubeconfig", str(bed.kubeconfig))
    # Kubernetes itself removes what belonged to a deleted object, a little later.
    seen: list[list[str]] = []

    def clean() -> bool:
        seen.append(traces(bed))
        return not seen[-1]

    try:
        wait_until(clean, seconds=60, what="cluster without a trace of Ecotone")
    except OutsideError as error:
        raise AssertionError(f"{error}: {seen[-1:]}") from error


def traces(bed: Bed) -> list[str]:
    """Whatever in the cluster still speaks of Ecotone, but what the application's owner wrote himself."""
    own = {keys.TIER, keys.INDEX, keys.ROLE, keys.WHY, keys.AFFINITY, keys.PROTOCOLS, keys.MAX_LATENCY}
    kinds = kubectl(bed, "api-resources", "--verbs=list", "-o", "name").split()
    found = []
    for each in objects(bed, ",".join(kind for kind in kinds if not kind.startswith("events")), "-A"):
        metadata = each["metadata"]
        name = f"{each['kind']} {metadata.get('namespace', '')}/{metadata['name']}"
        if metadata.get("namespace") == MALL and each["kind"] == "Pod":
            continue
        if metadata["name"].startswith("ecotone"):
            found.append(name)
        written = {**metadata.get("annotations", {}), **metadata.get("labels", {})}
        found += [f"{name}: {key}" for key in written if key.startswith("ecotone.dev/") and key not in own]
    return found
