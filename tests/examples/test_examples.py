import json
import os

import pytest

from ecotone.scheduling import POLICIES
from examples.transcripts import ROOT, readmes, renewed, run, steps


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
    totals = {each["name"]: each["total"] for each in answer["nodes"] if each["feasible"]}
    return answer["node"], totals


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


WAITING = [
    "front-end-ztc9lctcwb-6kbms",
    "checkout-dmzffll57h-mnfsd",
    "kafka-2",
    "inference-tqssznbfsx-grfbk",
    "debug-shell",
]


@pytest.mark.parametrize("policy", POLICIES)
def test_the_export_can_be_explained_with_every_policy(policy, monkeypatch):
    monkeypatch.chdir(ROOT / "03-real-cluster")
    for pod in WAITING:
        answer = json.loads(run(f"ecotone explain -f export.yaml {pod} --policy {policy} -o json", notes=False))
        assert len(answer["nodes"]) == 10
        for each in answer["nodes"]:
            assert each["feasible"] or each["reasons"]
        assert answer["node"] in [None, *(each["name"] for each in answer["nodes"] if each["feasible"])]
        names = {each["name"]: each for each in answer["nodes"]}
        assert not names["edge-turin-1"]["feasible"]
        if pod != "inference-tqssznbfsx-grfbk":
            assert not names["gpu-a-1"]["feasible"]


def test_a_node_that_nobody_measured_does_not_win_by_that(monkeypatch):
    monkeypatch.chdir(ROOT / "03-real-cluster")
    for policy in ("ecotone", "sophos", "sophos-dag", "communication-aware", "netmarks", "nas"):
        command = f"ecotone explain -f export.yaml {WAITING[0]} --policy {policy} -o name"
        assert run(command, notes=False) not in ("node/edge-turin-2\n", "")
