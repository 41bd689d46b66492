"""The reference pages say what the code says: they are printed from it, and what they are printed from is complete."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from ecotone.cli.reference import PAGES, outputs
from ecotone.manifests import keys, vocabulary
from ecotone.sim.scenario import grammar, read_scenario
from ecotone.sim.scenario.schema import Autoscale, Call, Control, Endpoint, Link, Load, NetworkSpec, NodeSpec, Service
from examples.transcripts import misunderstood, run

ROOT = Path(__file__).parents[2]
EXPORT = ROOT / "examples" / "03-real-cluster" / "export.yaml"


@pytest.mark.parametrize("name", PAGES)
def test_a_stored_page_is_the_one_that_the_code_prints(name: str) -> None:
    stored = (ROOT / "docs" / "reference" / name).read_text(encoding="utf-8")
    assert stored == PAGES[name](), "python -m ecotone.cli.reference docs/reference"


def test_a_plugin_of_somebody_else_is_on_no_page() -> None:
    from descheduling.priced import PROFILE

    assert PROFILE.points["score"][0].name.endswith(":Priced")
    assert "Priced" not in PAGES["policies.md"]()


def test_there_are_no_other_pages() -> None:
    assert {path.name for path in (ROOT / "docs" / "reference").iterdir()} == set(PAGES)


def test_links_inside_a_page_lead_to_its_headings() -> None:
    for name, page in PAGES.items():
        text = page()
        headings = [re.sub(r"[^a-z0-9 _-]", "", line.lstrip("# ").lower()).replace(" ", "-")
                    for line in text.splitlines() if line.startswith("#")]  # fmt: skip
        assert len(set(headings)) == len(headings), name
        assert set(re.findall(r"\]\(#([^)]*)\)", text)) <= set(headings), name


def test_every_cell_of_a_meaning_says_something() -> None:
    for name, page in PAGES.items():
        for line in page().splitlines():
            if line.startswith("| `") and name in ("scenario.md", "keys.md", "profiles.md", "outputs.md", "cli.md"):
                assert not line.endswith("|  |"), (name, line)


def test_examples_in_help_texts_are_understood() -> None:
    lines = re.findall(r"^    (ecotone .*)$", PAGES["cli.md"](), flags=re.MULTILINE)
    lines += re.findall(r"Example: .*?(ecotone [^|\n]*)", PAGES["cli.md"]())
    troubles = {line: misunderstood(line.split(" > ")[0].split(" | ")[0]) for line in lines}
    assert len(lines) > 20
    assert {line: trouble for line, trouble in troubles.items() if trouble} == {}


def test_every_argument_of_a_plugin_a_rule_or_a_solver_is_explained() -> None:
    entries = re.split(r"^### ", PAGES["policies.md"](), flags=re.MULTILINE)[1:]
    silent = []
    for entry in entries:
        prose = "\n".join(line for line in entry.splitlines() if not line.startswith("|"))
        silent += [(entry.splitlines()[0], name) for name in re.findall(r"^\| `(\w+)` \| `", entry, flags=re.MULTILINE)
                   if name not in prose]  # fmt: skip
    assert len(entries) > 40
    assert silent == []


def test_every_key_of_ours_is_explained() -> None:
    known = {value for name, value in vars(keys).items() if name.isupper() and str(value).startswith(keys.PREFIX)}
    quoted: set[str] = set()
    for path in (ROOT / "src").rglob("*.py"):
        quoted |= set(re.findall(r'"(ecotone\.dev/[a-z][a-z-]+)"', path.read_text(encoding="utf-8")))
    assert (known - {keys.PREFIX}) | quoted <= set(vocabulary.OURS)
    assert {*keys._SIBLINGS, keys.APP, keys.APP_GROUP} == set(vocabulary.THEIRS)


SMALL = """
apiVersion: ecotone.dev/v1alpha1
kind: Scenario
metadata: {name: small}
spec:
  duration: 60s
  cluster: {nodes: [{name: a, cpu: "1", memory: 1Gi}, {name: b, cpu: "1", memory: 1Gi}], network: {default: {}}}
  application:
    name: app
    services:
      - {name: front, endpoints: [{name: get, stages: [[{call: back.get}]]}]}
      - {name: back, prefer: {tier: edge}, endpoints: [{name: get}]}
    autoscale: {front: {requests: 5}}
  load: [{at: 0s, for: 60s, entry: front.get, from: all, arrivals: {poisson: 1}}]
"""


def test_what_a_scenario_leaves_out_is_what_the_page_says() -> None:
    small = read_scenario(SMALL, file="small.yaml")
    front, back = small.application.services
    assert small.nodes[0] == NodeSpec("a", 1000, 2**30)
    assert small.network == NetworkSpec(Link())
    assert small.control == Control()
    assert (small.warmup, small.qos, small.registry) == (0.0, None, grammar.REGISTRY.fields["bandwidth"].default)
    assert back.endpoints == {"get": Endpoint("get")}
    assert front == Service("front", endpoints={"get": Endpoint("get", stages=((Call("back", "get"),),))})
    assert back.prefer_weight == grammar.PREFER.fields["weight"].default
    assert small.application.autoscale == {"front": Autoscale(requests=5.0)}
    assert small.load == (Load(0.0, 60.0, "front", "get", ("a", "b"), poisson=1.0),)


def leaves(document: Any, path: str = "") -> Iterator[str]:
    """Paths of everything that is no container, and of containers with nothing in them."""
    inner: list[tuple[str, Any]] = []
    if isinstance(document, Mapping):
        inner = [(f"{path}.{name}" if path else name, each) for name, each in document.items()]
    elif isinstance(document, list):
        inner = [(f"{path}[]", each) for each in document]
    if not inner:
        yield path
    for place, each in inner:
        yield from leaves(each, place)


def pattern(listed: str, meaning: str) -> re.Pattern[str]:
    below = r"(?:[.\[].*)?" if meaning.startswith(("A list", "A mapping")) else ""
    return re.compile(re.escape(listed).replace(r"\*", r"[^.]+") + below)


@pytest.mark.parametrize(
    ("command", "listed", "sometimes"),
    [
        ("explain -f {export} shop/front-end-ztc9lctcwb-6kbms", outputs.EXPLAIN, outputs.EXPLAIN_SOMETIMES),
        ("plan -f {export} --deschedule", outputs.PLAN, outputs.PLAN_SOMETIMES),
        ("simulate replicas-1-moving -p ecotone", outputs.SIMULATE, outputs.SIMULATE_SOMETIMES),
    ],
    ids=["explain", "plan", "simulate"],
)
def test_fields_of_json_outputs_are_the_listed_ones(
    command: str, listed: dict[str, str], sometimes: dict[str, str]
) -> None:
    found = set(leaves(json.loads(run(f"ecotone {command.format(export=EXPORT)} -o json", notes=False))))
    if command.startswith("explain"):
        pod = "shop/cart-s8bh82hv7x-kdjmb"
        found |= set(leaves(json.loads(run(f"ecotone explain -f {EXPORT} {pod} -o json", notes=False))))
    patterns = {name: pattern(name, meaning) for name, meaning in {**listed, **sometimes}.items()}
    assert sorted(path for path in found if not any(each.fullmatch(path) for each in patterns.values())) == []
    assert sorted(name for name in listed if not any(patterns[name].fullmatch(path) for path in found)) == []
