# ruff: noqa: E501 - the scenario reads better unwrapped
"""A broken scenario gets one line that says where and what to write instead."""

from __future__ import annotations

from importlib import resources

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ecotone.model.errors import InputError
from ecotone.sim.scenario import builtin_scenarios, load_scenario, read_scenario

GOOD = """\
apiVersion: ecotone.dev/v1alpha1
kind: Scenario
metadata: {name: two-tiers}
spec:
  duration: 600s
  warmup: 60s
  cluster:
    nodes:
      - {name: edge-1, tier: edge, cpu: "1", memory: 4Gi, labels: {}, taints: [], price: 0}
      - {name: cloud-1, tier: cloud, cpu: "4", memory: 16Gi}
    registry: {bandwidth: 50Mbit}
    network:
      default: {rtt: 10ms}
      links: [{between: [edge-1, cloud-1], rtt: 40ms, jitter: 2ms, bandwidth: 100Mbit, loss: 0.1%}]
      routing: direct
  application:
    name: shop
    services:
      - name: web
        replicas: 1
        requests: {cpu: 100m, memory: 64Mi}
        limits: {cpu: 300m, memory: 256Mi}
        index: 0
        external: false
        pinned: edge-1
        prefer: {tier: edge, weight: 1}
        startup: 5s
        balance: uniform
        image: 200MB
        memory: {use: 80Mi}
        max-latency: 50ms
        endpoints:
          - name: get
            cpu: {mean: 10ms, distribution: exponential}
            stages:
              - [{call: db.query, protocol: HTTP, connection: kept, probability: 1, count: 1, request: 1kB, response: 4kB, async: false}]
      - name: db
        endpoints: [{name: query, cpu: 5ms}]
      - name: worker
        endpoints: [{name: job, cpu: 5ms}]
    traces: {db: [[0s, 1], [30s, 3]]}
    autoscale: {worker: {cpu: 60%, min: 1, max: 10}}
  load:
    - {at: 0s, for: 300s, entry: web.get, from: [edge-1], arrivals: {poisson: 50}}
    - {at: 300s, for: 300s, entry: web.get, from: all, arrivals: {users: 20, every: 1s}}
  events:
    - {at: 200s, link: [edge-1, cloud-1], rtt: 100ms}
    - {at: 400s, node: edge-1, state: down}
  control: {scrape: 15s, monitor: 30s, deschedule: 30s, node-grace: 40s, toleration: 0s, timeout: 5s}
  qos: {latency: {edge: 50ms, cloud: 300ms}, targets: {web: 1.0}}
"""


def line_of(fragment: str, text: str) -> int:
    return text[: text.index(fragment)].count("\n") + 1


def test_the_example_of_the_contract_is_read() -> None:
    scenario = read_scenario(GOOD, file="two.yaml")
    assert scenario.name == "two-tiers"
    assert [node.cpu for node in scenario.nodes] == [1000, 4000]
    (_, link) = scenario.network.links[0]
    assert (link.rtt, link.jitter, link.bandwidth, link.loss) == pytest.approx((0.04, 0.002, 12.5e6, 0.001))
    web = scenario.application.service("web")
    assert (web.cpu_limit, web.startup, web.max_latency) == (300, 5.0, 0.05)
    assert (web.image, web.memory_use, scenario.registry) == (200e6, 80 * 2**20, 50e6 / 8)
    assert (scenario.control.node_grace, scenario.control.toleration, scenario.control.timeout) == (40.0, 0.0, 5.0)
    (call,) = web.endpoints["get"].stages[0]
    assert (call.request, call.response, call.detached) == (1000, 4000, False)
    assert scenario.application.traces["db"] == ((0.0, 1), (30.0, 3))
    assert scenario.application.autoscale["worker"].cpu == pytest.approx(0.6)
    assert scenario.load[1].sources == ("edge-1", "cloud-1")
    assert scenario.link_changes[0].qualities == {"rtt": 0.1}
    assert scenario.qos is not None and scenario.qos.latency == {"edge": 0.05, "cloud": 0.3}


BROKEN = [
    # (what is replaced, by what, a word of the message, a word of the hint)
    ("call: db.query", "call: bd.query", "no service `bd`", "valid here: `db`"),
    ("async: false", "async: false, soft: true", "`soft` is about a deadline", "deadline: 50ms"),
    ("call: db.query", "call: db.qery", "no endpoint `qery`", "did you mean `query`?"),
    ("entry: web.get, from: [edge-1]", "entry: wed.get, from: [edge-1]", "no service `wed`", "did you mean `web`?"),
    ("entry: web.get, from: [edge-1]", "entry: web, from: [edge-1]", "names no endpoint", "service.endpoint"),
    ("{name: query, cpu: 5ms}", "{name: query, cpu: 5ms, stages: [[{call: web.get}]]}", "in a circle", "remove one"),
    ("requests: {cpu: 100m", "requests: {cpu: 1100m", "cannot fit", "pin it elsewhere"),
    ("pinned: edge-1", "pinned: edge-9", "no node `edge-9`", "did you mean `edge-1`?"),
    ("{poisson: 50}", "{poisson: -50}", "must not be below 0", None),
    ("default: {rtt: 10ms}", "default: {rtt: 10}", "has no unit", "write `10ms`"),
    ("default: {rtt: 10ms}", "default: {rtt: -10ms}", "cannot be negative", "write `10ms`"),
    ("default: {rtt: 10ms}", "default: {rtt: 10mss}", "`mss` is no unit", "one of"),
    ("duration: 600s", "duration: 600", "has no unit", None),
    ("request: 1kB", "request: 1000", "has no unit", "kB"),
    ("bandwidth: 100Mbit", "bandwidth: 100", "has no unit", "Mbit"),
    ("loss: 0.1%", "loss: 0.1", "has no unit", "%"),
    ("cpu: 60%", "cpu: 60", "has no unit", "60%"),
    ("replicas: 1", "replcas: 1", "no field `replcas`", "did you mean `replicas`?"),
    ("replicas: 1", "replicas: 1.5", "whole number", None),
    ("distribution: exponential", "distribution: normal", "cannot be `normal`", "exponential"),
    ("from: all", "from: [edge-2]", "no node `edge-2`", "did you mean `edge-1`?"),
    ("image: 200MB", "image: 200", "has no unit", "kB"),
    ("memory: {use: 80Mi}", "memory: {use: 300Mi}", "more memory than its limit", "raise the limit"),
    ("memory: {use: 80Mi}", "memory: {used: 80Mi}", "no field `used`", "did you mean `use`?"),
    ("bandwidth: 50Mbit", "bandwidth: 0Mbit", "must be above 0", None),
    ("node-grace: 40s", "node-grase: 40s", "no field `node-grase`", "did you mean `node-grace`?"),
    ("state: down", "state: dwn", "cannot be `dwn`", "did you mean `down`?"),
    ("link: [edge-1, cloud-1], rtt: 100ms", "link: [edge-1], rtt: 100ms", "two different nodes", None),
    ("kind: Scenario", "kind: Deployment", "no scenario", "kind: Scenario"),
    ("warmup: 60s", "warmup: 600s", "warm-up", None),
    ("memory: 16Gi", "memory: 16Gb", "unknown suffix", None),
    ("probability: 1", "probability: 1.5", "at most 1", None),
    ("users: 20, every: 1s", "users: 20", "`every` or `think`", None),
    ("targets: {web: 1.0}", "targets: {wb: 1.0}", "no service `wb`", "did you mean `web`?"),
    ("traces: {db:", "traces: {bd:", "no service `bd`", "valid here: `db`"),
]


@pytest.mark.parametrize(("old", "new", "message", "hint"), BROKEN, ids=[new for _, new, _, _ in BROKEN])
def test_the_error_names_the_line_and_what_to_write(old: str, new: str, message: str, hint: str | None) -> None:
    assert old in GOOD
    text = GOOD.replace(old, new, 1)
    with pytest.raises(InputError) as caught:
        read_scenario(text, file="two.yaml")
    error = caught.value
    assert message in error.message
    assert error.file == "two.yaml"
    assert "\n" not in str(error)
    if hint is not None:
        assert hint in (error.hint or "")
    if "circle" in message:
        assert error.line in (line_of("call: db.query", text), line_of("call: web.get", text))
    else:
        assert error.line == line_of("pinned: edge-1" if "fit" in message else new, text)


def test_pinned_pods_of_several_services_are_added_up() -> None:
    text = GOOD.replace("- name: db\n", "- name: db\n        pinned: edge-1\n        requests: {cpu: 350m}\n")
    with pytest.raises(InputError, match="`db` is pinned to `edge-1`, which cannot fit it: 3 x 350m cpu"):
        read_scenario(text, file="two.yaml")


@settings(max_examples=200, deadline=None)
@given(data=st.data())
def test_no_mutation_of_a_scenario_gives_a_traceback(data: st.DataObject) -> None:
    lines = GOOD.splitlines()
    where = data.draw(st.integers(0, len(lines) - 1))
    start = data.draw(st.integers(0, len(lines[where])))
    end = data.draw(st.integers(start, len(lines[where])))
    lines[where] = lines[where][:start] + data.draw(st.text(max_size=6)) + lines[where][end:]
    try:
        read_scenario("\n".join(lines), file="two.yaml")
    except InputError as error:
        assert error.file == "two.yaml"


def test_every_built_in_scenario_is_valid_and_has_its_own_name() -> None:
    names = builtin_scenarios()
    assert {f"sock-shop-{rtt}ms" for rtt in (10, 100, 200, 300, 500)} <= set(names)
    for name in names:
        assert load_scenario(name).name == name


def test_an_unknown_scenario_is_told_apart_from_a_missing_file() -> None:
    with pytest.raises(InputError, match="there is no scenario 'sock-shop-100s'") as caught:
        load_scenario("sock-shop-100s")
    assert "sock-shop-100ms" in (caught.value.hint or "")


def test_scenario_files_ship_with_the_package() -> None:
    assert (resources.files("ecotone.sim") / "scenarios" / "sock-shop.template.yaml").is_file()
