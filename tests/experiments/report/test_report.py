"""The page that shows a simulation's figures: what is on it, what is not, and that nothing on it can do harm."""

from __future__ import annotations

import json
import re
from base64 import b64decode, b64encode
from collections.abc import Mapping
from copy import deepcopy
from hashlib import sha256
from pathlib import Path
from typing import Any
from xml.etree import ElementTree
from zlib import decompress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ecotone
from ecotone.experiments.report import write_report
from ecotone.experiments.report.page import page
from ecotone.sim.scenario import Scenario, load_scenario, read_scenario

NODES = ("cloud-1", "fog-1", "edge-1")
SERVICES = ("web", "store", "db")
SCENARIO = """
apiVersion: ecotone.dev/v1alpha1
kind: Scenario
metadata: {name: small, description: A shop}
spec:
  duration: 600s
  warmup: 30s
  cluster:
    nodes:
      - {name: cloud-1, tier: cloud, cpu: "4", memory: 16Gi}
      - {name: fog-1, tier: fog, cpu: "2", memory: 8Gi}
      - {name: edge-1, tier: edge, cpu: "1", memory: 4Gi}
    network:
      default: {rtt: 40ms}
      links: [{between: [edge-1, fog-1], rtt: 7ms}]
  application:
    name: shop
    services:
      - name: web
        endpoints:
          - name: get
            cpu: 1ms
            stages: [[{call: store.find, count: 2}]]
      - name: store
        endpoints:
          - name: find
            cpu: 1ms
            stages: [[{call: db.query, probability: 0.5}]]
      - {name: db, external: true, pinned: cloud-1, endpoints: [{name: query, cpu: 1ms}]}
  load:
    - {at: 0s, for: 300s, entry: web.get, from: [edge-1], arrivals: {poisson: 10}}
    - {at: 300s, for: 300s, entry: web.get, from: [fog-1], arrivals: {poisson: 30}}
  events:
    - {at: 200s, link: [edge-1, cloud-1], rtt: 100ms}
"""


@pytest.fixture(scope="module")
def scenario() -> Scenario:
    return read_scenario(SCENARIO, file="small.yaml")


def run(policy: str, trial: int, p95: float, moved: bool = False) -> dict[str, Any]:
    """A run as the simulator writes it down."""
    late = {"web": {"edge-1": 1}, "store": {"fog-1": 1, "edge-1": 1}, "db": {"cloud-1": 1}}
    early = {name: {"cloud-1": 1} for name in SERVICES}
    return {
        "policy": policy,
        "trial": trial,
        "requests": 9000,
        "failed": 9 if moved else 0,
        "response_ms": {"mean": p95 / 2, "p50": p95 / 3, "p95": p95, "p99": p95 * 1.4},
        "p95_with_failures_ms": p95,
        "breakdown_ms": {"network": p95 / 4, "work": p95 / 8, "waiting": p95 / 8, "disruption": 0.0},
        "breakdown_with_failures_ms": {
            "network": p95 / 4,
            "work": p95 / 8,
            "waiting": p95 / 8,
            "disruption": 60.0 if moved else 0.0,
            "unanswered": 0.0,
        },
        "p95_breakdown_ms": {"network": p95 / 2, "work": p95 / 4, "waiting": p95 / 4, "disruption": 0.0},
        "failures": {"starting": 9} if moved else {},
        "failures_series": [[300, {"starting": 9}]] if moved else [],
        "quantiles_ms": [[share / 20, p95 * share / 19] for share in range(20)] + [[1.0, 2 * p95]],
        "binds": [{"at": 0, "pod": "web-0", "service": "web", "node": "cloud-1", "why": "the only node that fits"}],
        "talk": [
            {"from": "edge-1", "to": "cloud-1", "calls": 900, "bytes": 90_000},
            {"from": "cloud-1", "to": "cloud-1", "calls": 1800, "bytes": 1000},
        ],
        "cost_per_hour": 0.5,
        "unplaced": [],
        "series": [[15 * place, p95 + place % 3 if place != 7 else None] for place in range(2, 40)],
        "intervals": [
            {"at": 0, "entry": "web.get", "from": ["edge-1"], "requests": 3000, "failed": 0, "p95_ms": p95},
            {"at": 300, "entry": "web.get", "from": ["fog-1"], "requests": 6000, "failed": 0, "p95_ms": p95 + 5},
        ],
        "evictions": 1 if moved else 0,
        "moves": [
            {"at": 300, "pod": "web-0", "service": "web", "from": "cloud-1", "to": "edge-1", "why": "saves 33 ms"}
        ]
        if moved
        else [],
        "placement": [[15 * place, late if moved and place >= 20 else early] for place in range(41)],
        "utilisation": {"cloud-1": 0.31, "fog-1": 0.02, "edge-1": 0.4 if moved else 0.0},
    }


def entry(policy: str, p95: float | None, gain: float | None, *, trials: int, spread: float) -> dict[str, Any]:
    p95_interval = gain_interval = None
    if trials > 1 and p95 is not None and gain is not None:
        p95_interval, gain_interval = [p95 - spread, p95 + spread], [gain - 0.03, gain + 0.03]
    return {
        "policy": policy,
        "p95_ms": p95,
        "p95_ci95": p95_interval,
        "vs_baseline": gain,
        "vs_baseline_ci95": gain_interval,
        "trials": trials,
    }


def result(trials: int = 3) -> dict[str, Any]:
    runs = [run("kube-default", trial, 200.0 + trial) for trial in range(trials)]
    runs += [run("ecotone", trial, 100.0 + trial, moved=True) for trial in range(trials)]
    summary = [
        entry("kube-default", 201.0, 0, trials=trials, spread=2.0),
        entry("ecotone", 101.0, -0.4975, trials=trials, spread=1.0),
    ]
    return {"scenario": "small", "seed": 7, "runs": runs, "summary": summary}


SWEEP = [
    {"users": users, "summary": [entry("kube-default", 100.0 + users, 0, trials=3, spread=9.0),
                                 entry("ecotone", 50.0 + users, -0.4, trials=3, spread=4.0)]}
    for users in (10, 50, 100)
]  # fmt: skip


SHOWN = {
    "series": "Over time",
    "intervals": "Phase by phase",
    "placement": "Where every pod was",
    "utilisation": "How busy the nodes were",
    "breakdown_ms": "What the time went into",
    "p95_breakdown_ms": "What the slow requests' time went into",
    "quantiles_ms": "How response times are distributed",
    "talk": "Traffic between nodes",
    "cost_per_hour": "cost per hour",
    "failures": "Failed requests",
    "requests": "requests simulated",
    "evictions": "moves per trial",
}
"""What the page says when a part is there."""


def tree(text: str) -> ElementTree.Element:
    """The page is well-formed, the whole of it."""
    assert text.startswith("<!doctype html>\n")
    return ElementTree.fromstring(text.removeprefix("<!doctype html>\n"))


def words(text: str) -> str:
    return re.sub(r"\s+", " ", "".join(tree(text).find("body").itertext()))


def headings(text: str) -> list[str | None]:
    return [each.text for each in tree(text).iter("h2")]


def headline(text: str) -> str:
    found = next(each for each in tree(text).iter("p") if each.get("class") == "headline")
    return re.sub(r"\s+", " ", "".join(found.itertext()))


def test_the_page_is_written_into_a_folder_that_is_made(tmp_path: Path, scenario: Scenario) -> None:
    path = write_report(result(), scenario, tmp_path / "new" / "folder")
    assert path == tmp_path / "new" / "folder" / "index.html"
    assert [each.name for each in path.parent.iterdir()] == ["index.html"]


def test_every_part_is_there_when_its_figures_are(scenario: Scenario) -> None:
    text = page(result(), scenario, {"users": SWEEP})
    assert headings(text) == [
        "Policies compared", "More users", "Where every pod was", "Over time", "Failed requests", "Phase by phase",
        "How response times are distributed", "What the time went into", "What the slow requests' time went into",
        "The cluster", "How busy the nodes were", "Traffic between nodes", "The application",
        "Every decision and its reason", "Get these figures again",
    ]  # fmt: skip


def test_the_whole_page_is_well_formed_and_each_chart_says_what_it_is(scenario: Scenario) -> None:
    charts = [
        each for each in tree(page(result(), scenario, {"users": SWEEP})).iter("svg") if each.get("role") == "img"
    ]
    assert len(charts) == 16
    assert all(each.get("aria-label") for each in charts)


def test_same_input_same_bytes(scenario: Scenario) -> None:
    backwards = deepcopy(result())
    for each in backwards["runs"]:
        each["utilisation"] = dict(reversed(each["utilisation"].items()))
    once = page(result(), scenario, {"users": SWEEP})
    assert once == page(deepcopy(result()), read_scenario(SCENARIO, file="elsewhere.yaml"), {"users": SWEEP})
    assert once == page(backwards, scenario, {"users": SWEEP})


def test_nothing_is_loaded_from_elsewhere(scenario: Scenario) -> None:
    text = page(result(), scenario, {"users": SWEEP})
    without_namespace = text.replace('"http://www.w3.org/2000/svg"', "")
    assert not re.search(r"https?:|//[a-z]|@import|url\((?!#)|src=|<link", without_namespace)
    assert [each.get("href") for each in tree(text).iter("a")] == ["#figures"]
    policy = next(each.get("content", "") for each in tree(text).iter("meta") if each.get("http-equiv"))
    assert "default-src 'none'" in policy


def test_the_page_allows_its_own_script_and_no_other(scenario: Scenario) -> None:
    text = page(result(), scenario)
    policy = next(each.get("content", "") for each in tree(text).iter("meta") if each.get("http-equiv"))
    script = re.search("<script>(.*?)</script>", text, re.DOTALL)
    assert script is not None
    digest = b64encode(sha256(script[1].encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}';" in policy


def test_the_headline_names_the_winner_and_its_interval(scenario: Scenario) -> None:
    said = headline(page(result(), scenario))
    assert said.startswith("ecotone answers 95 of 100 requests within 101 ms, 50 % less than kube-default (")
    assert said.endswith("(95 % confidence: 47 % to 53 %, 3 trials); 0.1 % of its requests failed.")


def test_a_difference_within_chance_is_no_win(scenario: Scenario) -> None:
    doubtful = result()
    doubtful["summary"][1]["vs_baseline_ci95"] = [-0.9, 0.1]
    assert "chance alone may give that" in headline(page(doubtful, scenario))


def test_a_gain_that_failures_eat_up_is_not_claimed(scenario: Scenario) -> None:
    failing = result()
    failing["summary"][1]["p95_with_failures_ms"] = 60000
    assert "0.1 % of its requests failed, and counting these the gain is gone" in headline(page(failing, scenario))


def test_a_baseline_that_is_best_is_said_to_be(scenario: Scenario) -> None:
    worse = result()
    worse["summary"][1] |= {"p95_ms": 500.0, "vs_baseline": 1.5}
    assert (
        "kube-default answers 95 of 100 requests within 201 ms and is not beaten: the next, ecotone, needs 500 ms"
        in headline(page(worse, scenario))
    )


def test_equal_policies_share_the_win(scenario: Scenario) -> None:
    equal = result()
    equal["summary"].insert(1, {**equal["summary"][1], "policy": "sophos"})
    assert headline(page(equal, scenario)).startswith("sophos and ecotone answer 95 of 100 requests within 101 ms")


def test_one_trial_has_no_interval_and_says_so(scenario: Scenario) -> None:
    text = page(result(trials=1), scenario)
    assert "one trial, so no confidence interval" in headline(text)
    assert "95 % interval" not in words(text)


def test_one_policy_alone_makes_a_page(scenario: Scenario) -> None:
    alone = result(trials=1)
    alone["runs"], alone["summary"] = alone["runs"][:1], alone["summary"][:1]
    assert headline(page(alone, scenario)) == "kube-default answers 95 of 100 requests within 201 ms (one trial)."


def test_failures_are_told_beside_the_parts_of_the_mean(scenario: Scenario) -> None:
    text = page(result(), scenario)
    assert "as 60 s each they would add disruption: ecotone 60\N{NO-BREAK SPACE}ms." in text
    calm = result()
    calm["runs"] = [each for each in calm["runs"] if each["policy"] == "kube-default"]
    assert "they would add disruption" not in page(calm, scenario)


@pytest.mark.parametrize(("part", "shown"), list(SHOWN.items()))
@pytest.mark.parametrize("missing", ["gone", "null"])
def test_a_part_that_is_missing_is_left_out(part: str, shown: str, missing: str, scenario: Scenario) -> None:
    poorer = result()
    for each in poorer["runs"]:
        if missing == "gone":
            del each[part]
        else:
            each[part] = None
    for known in (scenario, None):
        assert shown in words(page(result(), known))
        assert shown not in words(page(poorer, known))


@pytest.mark.parametrize("known", [True, False])
def test_nothing_at_all_still_makes_a_page(known: bool, scenario: Scenario) -> None:
    text = page({}, scenario if known else None)
    assert "No request was answered" in headline(text)


def test_null_figures_are_dashes(scenario: Scenario) -> None:
    unanswered = result(trials=1)
    for each in unanswered["runs"]:
        each["response_ms"] = dict.fromkeys(("mean", "p50", "p95", "p99"))
        each["series"] = []
    unanswered["summary"] = [entry(name, None, None, trials=1, spread=0.0) for name in ("kube-default", "ecotone")]
    text = page(unanswered, scenario)
    assert "No request was answered" in headline(text)
    assert "–" in words(text)


def test_without_a_summary_the_runs_speak(scenario: Scenario) -> None:
    bare = result()
    del bare["summary"]
    assert "ecotone answers 95 of 100 requests within 101 ms, 50 % less" in headline(page(bare, scenario))


def test_the_shown_trial_is_the_middle_one(scenario: Scenario) -> None:
    assert "trial 1, 1 move" in words(page(result(trials=3), scenario))


def test_expected_calls_follow_the_scenario(scenario: Scenario) -> None:
    said = words(page(result(), scenario))
    for expected in ("users → web: 20 calls", "web → store: 40 calls", "store → db: 20 calls"):
        assert expected in said


def test_round_trips_are_shown_between_tiers(scenario: Scenario) -> None:
    said = words(page(result(), scenario))
    assert "fog-1 – edge-1: 7 ms" in said or "edge-1 – fog-1: 7 ms" in said
    assert "any other pair40 ms" in said


def test_binds_carry_their_reasons(scenario: Scenario) -> None:
    assert "0:00bindweb-0cloud-1the only node that fits" in words(page(result(), scenario))


def test_pods_without_a_node_are_the_first_thing_told(scenario: Scenario) -> None:
    left = result()
    left["runs"][0]["unplaced"] = ["db-1"]
    assert headings(page(left, scenario))[0] == "Pods without a node"
    assert "kube-default1db-1" in words(page(left, scenario))


def test_failures_are_told_by_cause(scenario: Scenario) -> None:
    said = words(page(result(), scenario))
    assert "no ready pod, one was starting" in said and "ecotone27" in said


def test_the_page_says_why_the_best_is_ahead(scenario: Scenario) -> None:
    said = words(page(result(), scenario)).replace("\N{NO-BREAK SPACE}", " ")
    assert (
        "a request of ecotone spends 25.2 ms between nodes on average, one of kube-default, the next best, 50.2 ms."
        in said
    )
    assert "It moved pods 3 times in all trials, all of them within two minutes after" in said
    assert "no other policy moved a pod" in said


@pytest.mark.lasting
def test_all_data_is_in_the_page(scenario: Scenario) -> None:
    def held(text: str) -> Any:
        (script,) = [each for each in tree(text).iter("script") if each.get("id") == "data"]
        content = script.text or ""
        return json.loads(decompress(b64decode(content)) if script.get("data-packed") else content)

    assert held(page(result(), scenario)) == json.loads(json.dumps(result()))
    long = result(trials=1)
    long["runs"][0]["series"] = [[place, 100.0 + place % 17] for place in range(90_000)]
    assert held(page(long, scenario)) == json.loads(json.dumps(long))


def test_where_users_enter_stands_above_the_services(scenario: Scenario) -> None:
    assert "users enter at" in words(page(result(), scenario))


def test_moves_carry_their_reasons(scenario: Scenario) -> None:
    said = words(page(result(), scenario))
    assert "5:00moveweb-0cloud-1 → edge-1saves 33 ms" in said


def test_the_footer_reproduces_without_clock_or_machine(scenario: Scenario) -> None:
    said = words(page(result(), scenario, {"notes": ["Read with care."]}))
    assert "ecotone simulate small --policy kube-default --policy ecotone --trials 3 --seed 7 --report report" in said
    assert f"ecotone {ecotone.__version__}" in said
    assert "Read with care." in said


HOSTILE = "\"><script>alert('x')</script><b onload=x>&amp;"


def poisoned(value: Any) -> Any:
    """Every text replaced by something hostile, every key too where keys are names."""
    if isinstance(value, str):
        return HOSTILE + value
    if isinstance(value, list):
        return [poisoned(each) for each in value]
    if isinstance(value, Mapping):
        return {(HOSTILE + key if key in {*NODES, *SERVICES} else key): poisoned(each) for key, each in value.items()}
    return value


def test_names_are_text_wherever_they_appear() -> None:
    hostile = poisoned(result())
    hostile["runs"][0]["breakdown_ms"][HOSTILE] = 3.0
    clean = page(result(), None, {"users": SWEEP})
    text = page(hostile, None, {"users": poisoned(SWEEP), "title": HOSTILE, "notes": [HOSTILE], "command": HOSTILE})
    assert text.count("<script") == clean.count("<script") == 2
    assert "onload" not in {name for each in tree(text).iter() for name in each.attrib}
    assert HOSTILE in words(text)


@settings(max_examples=60, deadline=None)
@given(name=st.text(min_size=1, max_size=20), policy=st.text(min_size=1, max_size=20))
def test_any_name_at_all_gives_a_well_formed_page(name: str, policy: str) -> None:
    strange = result(trials=1)
    for each in strange["runs"][1:]:
        each["policy"] = policy
        each["placement"] = [[0, {name: {policy: 1}}], [300, {name: {name: 2}}]]
        each["utilisation"] = {name: 0.5}
    strange["summary"][1]["policy"] = policy
    strange["scenario"] = name
    tree(page(strange, None))


@pytest.mark.lasting
def test_a_long_run_does_not_make_a_long_page() -> None:
    huge = result(trials=1)
    nodes = [f"node-{place}" for place in range(50)]
    for each in huge["runs"]:
        each["placement"] = [
            [place, {f"service-{number}": {nodes[(place + number) % 50]: 1} for number in range(60)}]
            for place in range(3000)
        ]
        each["series"] = [[place, 100.0 + place % 17] for place in range(30_000)]
        each["moves"] = [
            {"at": place, "service": "service-1", "from": "a", "to": "b", "why": "because"} for place in range(5000)
        ]
        each["utilisation"] = dict.fromkeys(nodes, 0.1)
    text = page(huge, None)
    tree(text)
    (data,) = [each.text or "" for each in tree(text).iter("script") if each.get("id") == "data"]
    assert len(text) - len(data) < 2_000_000
    assert len(data) < len(json.dumps(huge)) / 5
    assert "20 more services are not drawn." in text


def test_a_shipped_scenario_is_drawn_whole() -> None:
    shop = load_scenario("sock-shop-100ms")
    said = words(page({"scenario": shop.name, "seed": 1, "runs": [], "summary": []}, shop))
    assert all(service.name in said for service in shop.application.services)
    assert all(node.name in said for node in shop.nodes)


def test_a_large_cluster_is_summed_up() -> None:
    nodes = "".join(f"      - {{name: edge-{place}, tier: edge, cpu: '1', memory: 4Gi}}\n" for place in range(400))
    large = read_scenario(
        SCENARIO.replace("    network:\n", nodes.replace("edge-1,", "edge-one,") + "    network:\n"), file="large.yaml"
    )
    text = page(result(), large)
    tree(text)
    assert "401 nodes, 377 not drawn" in words(text)
    assert len(text) < 400_000


def test_policies_on_the_same_line_are_said_to_be(scenario: Scenario) -> None:
    twins = result()
    twins["runs"] += [{**each, "policy": "twin"} for each in twins["runs"] if each["policy"] == "ecotone"]
    twins["summary"].append({**twins["summary"][1], "policy": "twin"})
    assert "ecotone and twin share a line." in words(page(twins, scenario))
    assert "share a line" not in words(page(result(), scenario))


def test_latency_by_tier_is_shown_where_there_are_qos_targets(scenario: Scenario) -> None:
    found = result()
    assert "latency by tier" not in words(page(found, scenario))
    for each in found["runs"]:
        each["edge_latency_ms"] = 87.5
    shown = words(page(found, scenario))
    assert "latency by tier" in shown
    assert "87.5 ms" in shown
