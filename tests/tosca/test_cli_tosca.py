"""`ecotone tosca` as a person uses it: data on stdout, notes on stderr, exit codes of the contract."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from ecotone.cli import main

HERE = Path(__file__).parent
EXAMPLES = HERE.parent.parent / "examples" / "tosca"
CONTRACT = str(HERE / "valid" / "contract.yaml")
SHOP = str(EXAMPLES / "sock-shop.tosca.yaml")


def run(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> tuple[str, str]:
    assert main(["tosca", *arguments]) == code
    captured = capsys.readouterr()
    return captured.out, captured.err


def test_validate_says_what_is_there(capsys: pytest.CaptureFixture[str]) -> None:
    out, err = run(capsys, "validate", CONTRACT)
    assert out == f"{CONTRACT}: valid, 4 services and 3 channels\n"
    assert err == ""


def test_compile_prints_documents_or_a_list(capsys: pytest.CaptureFixture[str]) -> None:
    documents = list(yaml.safe_load_all(run(capsys, "compile", CONTRACT)[0]))
    listing = json.loads(run(capsys, "compile", CONTRACT, "-o", "json")[0])
    assert listing["kind"] == "List"
    assert listing["items"] == documents
    assert run(capsys, "compile", CONTRACT, "-o", "name")[0].splitlines()[:2] == [
        "deployment/front-end",
        "service/front-end",
    ]


def test_graph_is_json_unless_told_otherwise(capsys: pytest.CaptureFixture[str]) -> None:
    data = json.loads(run(capsys, "graph", CONTRACT)[0])
    assert [service["index"] for service in data["services"]] == [0, 1, 1, 2]
    assert yaml.safe_load(run(capsys, "graph", CONTRACT, "-o", "yaml")[0]) == data
    assert run(capsys, "graph", CONTRACT, "-o", "svg")[0].startswith("<svg")
    assert run(capsys, "graph", CONTRACT, "-o", "dot")[0].startswith("digraph")


def test_a_broken_circle_is_said_on_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    _, err = run(capsys, "graph", str(HERE / "valid" / "self-route-and-cycle.yaml"))
    assert err == "note: a circle of calls is broken at b -> a, its lowest priority\n"


def test_inputs_change_what_is_compiled(capsys: pytest.CaptureFixture[str]) -> None:
    out, _ = run(capsys, "compile", SHOP, "--input", "registry=mirror.example", "--name", "shop2")
    images = {
        item["metadata"]["name"]: item["spec"]["template"]["spec"]["containers"][0]["image"]
        for item in yaml.safe_load_all(out)
        if item["kind"] == "Deployment"
    }
    assert images["front-end"] == "mirror.example/front-end:0.3.12"
    _, err = run(capsys, "compile", SHOP, "--input", "registri=x", code=2)
    assert err == "--input registri:1:1: unknown input `registri` (did you mean `registry`?)\n"
    run(capsys, "compile", SHOP, "--name", "Not A Name", code=2)


def test_queries_answer_in_every_shape(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    out, _ = run(capsys, "query", SHOP, "dependents", "user-db")
    assert out.splitlines() == ["NAME       INDEX", "front-end  0", "user       2", "orders     1"]
    assert run(capsys, "query", SHOP, "dependents", "user-db", "-o", "name")[0].split() == [
        "front-end",
        "user",
        "orders",
    ]
    chains = json.loads(run(capsys, "query", SHOP, "chains", "--limit", "1", "-o", "json")[0])
    assert chains == [{"priority": 285, "services": ["front-end", "orders", "carts", "carts-db"]}]
    stored = tmp_path / "shop.json"
    stored.write_text(run(capsys, "graph", SHOP)[0])
    assert run(capsys, "query", str(stored), "critical", "--limit", "2")[0].splitlines()[0].split() == [
        "SOURCE", "TARGET", "TYPE", "PRIORITY", "DEADLINE", "MS",
    ]  # fmt: skip
    assert "did you mean `user-db`" in run(capsys, "query", SHOP, "dependents", "userdb", code=2)[1]
    assert "asks about a service" in run(capsys, "query", SHOP, "dependents", code=2)[1]


def test_import_writes_a_template_that_compiles_again(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    manifests, _ = run(capsys, "compile", SHOP)
    (tmp_path / "m.yaml").write_text(manifests)
    template, err = run(capsys, "import", "kubernetes", str(tmp_path))
    assert err == "14 services, 15 channels (0 to review), 0 remarks\n"
    (tmp_path / "again.tosca.yaml").write_text(template)
    assert run(capsys, "compile", str(tmp_path / "again.tosca.yaml"))[0] == manifests


def test_wrong_files_and_wrong_use_are_two(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert "cannot read" in run(capsys, "validate", str(tmp_path / "none.yaml"), code=2)[1]
    run(capsys, "validate", code=2)
    run(capsys, "graph", CONTRACT, "-o", "png", code=2)
    assert "cannot read" in run(capsys, "import", "compose", str(tmp_path / "none.yaml"), code=2)[1]


def test_a_dotted_template_name_is_valid_and_its_app_group_the_nearest_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "shop.yaml"
    file.write_text(Path(CONTRACT).read_text() + "metadata: {template_name: org.example.Shop}\n")
    out, err = run(capsys, "validate", str(file))
    assert "valid, 4 services" in out and "the app-group of `org.example.Shop` is called `org-example-shop`" in err
    groups = {
        each["metadata"]["labels"]["app-group"]
        for each in yaml.safe_load_all(run(capsys, "compile", str(file))[0])
        if each["kind"] == "Deployment"
    }
    assert groups == {"org-example-shop"}


def test_a_file_of_types_with_a_dotted_name_is_valid_without_a_word(capsys: pytest.CaptureFixture[str]) -> None:
    file = str(HERE / "valid" / "types-with-a-dotted-name.yaml")
    assert run(capsys, "validate", file) == (f"{file}: valid, 0 services and 0 channels\n", "")
