import json
import os

import pytest

from ecotone.manifests.files import read_paths
from ecotone.scheduling import POLICIES
from ecotone.scheduling.explanation import explain
from examples.transcripts import ROOT, readmes, renewed, run, steps


@pytest.mark.lasting
@pytest.mark.parametrize("readme", readmes(), ids=lambda path: path.parent.name)
def test_a_readme_shows_what_its_commands_print(readme, monkeypatch):
    monkeypatch.chdir(readme.parent)
    text = readme.read_text()
    assert steps(text)
    now = renewed(text)
    if os.environ.get("ECOTONE_UPDATE_EXAMPLES"):
        readme.write_text(now)
    assert now == readme.read_text()


def test_there_are_numbered_examples():
    assert [path.parent.name[:2] for path in readmes()] == [f"{number:02}" for number in range(1, len(readmes()) + 1)]


# The messaging use case of the communication-aware scheduler's paper (section 5), pod by pod.

ORDER = ["rabbitmq", "mongodb", "message-notifier", "message-reader", "message-publisher", "api-gateway"]


def explained(pod, placed, monkeypatch, *more):
    monkeypatch.chdir(ROOT / "01-messaging")
    before = [word for number, name in enumerate(ORDER[:placed], 1) for word in ("-f", f"placed/{number}-{name}.yaml")]
    words = [
        "-f",
        "cluster.yaml",
        "-f",
        "application.yaml",
        *before,
        *more,
        "--policy",
        "communication-aware",
        "-o",
        "json",
    ]
    answer = json.loads(run(f"ecotone explain {pod}-0 {' '.join(words)}", notes=False))
    terms = {
        each["name"]: each["scores"]["CommunicationAware"]["normalized"] for each in answer["nodes"] if each["feasible"]
    }
    return answer["node"], terms


def best(totals):
    return sorted(name for name, total in totals.items() if total == max(totals.values()))


@pytest.mark.parametrize(
    ("placed", "feasible", "winners"),
    [
        (0, ["node0", "node1", "node2", "node3"], ["node0", "node1", "node2", "node3"]),
        (1, ["node0", "node1", "node2"], ["node0", "node1", "node2"]),
        (2, ["node0", "node1", "node2"], ["node2"]),
        (3, ["node0", "node1"], ["node0", "node1"]),
        (4, ["node0", "node1"], ["node0", "node1"]),
        (5, ["node0", "node1"], ["node0", "node1"]),
    ],
    ids=ORDER,
)
def test_the_messaging_use_case_comes_out_as_the_paper_tells_it(placed, feasible, winners, monkeypatch):
    _, totals = explained(ORDER[placed], placed, monkeypatch)
    assert (sorted(totals), best(totals)) == (feasible, winners)


def test_load_decides_where_the_publisher_goes(monkeypatch):
    node, _ = explained("message-publisher", 4, monkeypatch)
    assert node == "node0"


def test_with_more_publishing_a_new_gateway_prefers_the_publishers_node(monkeypatch):
    node, totals = explained("api-gateway", 6, monkeypatch, "-f", "later.yaml")
    assert (node, best(totals)) == ("node0", ["node0"])


def test_the_sock_shop_is_what_its_tosca_template_compiles_to(monkeypatch):
    monkeypatch.chdir(ROOT)
    compiled = run("ecotone tosca compile tosca/sock-shop.tosca.yaml", notes=False)
    assert (ROOT / "02-sock-shop" / "application.yaml").read_text() == compiled


FRONT_END = "shop/front-end-ztc9lctcwb-6kbms"
INFERENCE = "data/inference-tqssznbfsx-grfbk"
PODS = [FRONT_END, "shop/checkout-dmzffll57h-mnfsd", "data/kafka-2", INFERENCE, "default/debug-shell"]


@pytest.fixture(scope="module")
def export():
    return read_paths([ROOT / "03-real-cluster" / "export.yaml"])


@pytest.mark.parametrize("policy", POLICIES)
def test_the_export_can_be_explained_with_every_policy(policy, export):
    for pod in PODS:
        answer = explain(export, policy, pod)
        nodes = {each.name: each for each in answer.nodes}
        assert len(nodes) == 10
        assert all(each.feasible or each.reasons for each in answer.nodes)
        assert answer.node is None or nodes[answer.node].feasible
        assert not nodes["edge-turin-1"].feasible
        assert nodes["gpu-a-1"].feasible == (pod == INFERENCE)


@pytest.mark.parametrize("policy", ["ecotone", "sophos", "sophos-dag", "communication-aware", "netmarks", "nas"])
def test_a_node_that_nobody_measured_does_not_win_by_that(policy, export):
    assert explain(export, policy, FRONT_END).node not in ("edge-turin-2", None)
