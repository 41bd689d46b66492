"""Compose files as people keep them: in several files, with variables elsewhere, with services that publish nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from ecotone.cli import main
from ecotone.model.errors import InputError
from ecotone.tosca import parse_application
from ecotone.tosca.importers import Draft, import_compose


def imported(folder: Path, text: str, **others: str) -> Draft:
    for name, content in others.items():
        path = folder / name.replace("__", "/").replace("_env", ".env")
        path.parent.mkdir(exist_ok=True)
        path.write_text(content)
    draft = import_compose(text, file=str(folder / "compose.yaml"), folder=folder)
    parse_application(draft.as_template())  # reads back, whatever was remarked
    return draft


def remarks(draft: Draft, service: str) -> str:
    return "\n".join(draft.services[service].remarks)


def test_included_files_bring_their_services(tmp_path: Path) -> None:
    draft = imported(
        tmp_path,
        "include: [data/db, {path: [cache]}]\nservices: {web: {image: web, depends_on: [db, redis]}}",
        data__db="include: [more]\nservices: {db: {image: 'postgres:16'}}",
        data__more="services: {backup: {image: backup, links: [db]}}",
        cache="services: {redis: {image: redis}}",
    )
    assert set(draft.services) == {"web", "db", "backup", "redis"}
    assert {(each.source, each.target) for each in draft.channels} == {
        ("web", "db"),
        ("web", "redis"),
        ("backup", "db"),
    }


def test_a_service_extends_another_and_its_own_words_win(tmp_path: Path) -> None:
    draft = imported(
        tmp_path,
        """
services:
  base: {image: "base:1", environment: [A=1, B=1], ports: ["80"], deploy: {replicas: 3}}
  web: {extends: base, image: "web:1", environment: {B: "2"}}
  api: {extends: {service: worker, file: common}, expose: ["8080"]}
""",
        common="services: {root: {image: 'root:1', command: run}, worker: {extends: {service: root}, image: 'worker:1'}}",
    )
    web, api = draft.services["web"], draft.services["api"]
    assert web.settings == {"image": "web:1", "replicas": 3, "env": {"A": "1", "B": "2"}}
    assert web.endpoint == {"port": 80}
    assert (api.settings, api.endpoint) == ({"image": "worker:1", "args": ["run"]}, {"port": 8080})


def test_variables_of_files_are_carried_over_and_those_of_the_service_win(tmp_path: Path) -> None:
    draft = imported(
        tmp_path,
        """
services:
  web: {image: web, env_file: [one_env, {path: gone.env, required: false}], environment: {B: mine}}
  db: {image: mysql, env_file: one_env}
""".replace("one_env", "one.env"),
        one_env="# a comment\n\nexport A=1\nB='theirs'\nDB_HOST=db:3307 # the port\n",
    )
    assert draft.services["web"].settings["env"] == {"A": "1", "B": "mine", "DB_HOST": "db:3307"}
    assert "env_file gone.env cannot be read" in remarks(draft, "web")
    assert ("web", "db") in {(each.source, each.target) for each in draft.channels}
    assert draft.services["db"].endpoint["port"] == 3307


def test_nothing_outside_the_folder_is_read_and_that_is_said(tmp_path: Path) -> None:
    (tmp_path / "secret.env").write_text("KEY=value\n")
    (tmp_path / "shop").mkdir()
    text = "include: [../other.yaml]\nservices: {web: {image: web, env_file: ../secret.env}}"
    draft = imported(tmp_path / "shop", text)
    assert "env" not in draft.services["web"].settings
    assert "outside the compose file's folder" in remarks(draft, "web")
    assert draft.remarks == ["include of ../other.yaml is outside the compose file's folder and is not read"]
    assert draft.as_template().startswith("# include of ../other.yaml")


def test_a_name_that_no_file_can_have_is_remarked(tmp_path: Path) -> None:
    draft = imported(tmp_path, 'services: {web: {image: web, env_file: "\\0", environment: {A: "1"}}}')
    assert "cannot be read" in remarks(draft, "web") and draft.services["web"].settings["env"] == {"A": "1"}


def test_what_has_no_place_in_a_template_is_remarked(tmp_path: Path) -> None:
    draft = imported(
        tmp_path,
        """
services:
  web:
    image: web
    healthcheck: {test: ["CMD", "curl", "-f", "http://localhost"], interval: 5s}
    secrets: [token, {source: cert, target: c}]
    configs: [settings]
    network_mode: host
  side: {image: side, network_mode: "service:web", healthcheck: {test: "a\\nb: c"}}
  plain: {image: plain, network_mode: bridge}
""",
    )
    said = remarks(draft, "web")
    assert "healthcheck in the compose file (`curl -f http://localhost`): give its Deployment a readinessProbe" in said
    assert "uses the secrets token, cert" in said and "uses the configs settings" in said
    assert "network_mode host" in said and "hostNetwork" in said
    assert "a container in the pod of web" in remarks(draft, "side")
    assert remarks(draft, "plain") == ""


@pytest.mark.parametrize(
    ("service", "port", "why"),
    [("db", 5432, "listens on by default"), ("api", 9999, "taken from API of web"), ("odd", 80, "a guess")],
)
def test_who_is_reached_without_ports_gets_a_service(tmp_path: Path, service: str, port: int, why: str) -> None:
    draft = imported(
        tmp_path,
        """
services:
  web: {image: web, environment: {API: "http://api:9999/x"}, depends_on: [db], links: [odd]}
  db: {image: "registry.example:5000/library/postgres:16"}
  api: {image: api}
  odd: {image: odd}
  alone: {image: alone}
""",
    )
    assert draft.services[service].endpoint["port"] == port and why in remarks(draft, service)
    assert not draft.services["alone"].endpoint and not draft.services["web"].endpoint


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("services: {a: {extends: b}, b: {extends: a}}", "circle"),
        ("services: {a: {extends: nobody}}", "which is no service"),
        ("services: {a: {extends: b}, b: 5}", "must be a mapping"),
        ("services: {a: {extends: {file: x}}}", "names a service"),
        ("include: [compose.yaml]\nservices: {a: {image: a}}", "more than 20 deep"),
    ],
)
def test_what_leads_nowhere_is_an_error(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "compose.yaml").write_text(text)
    with pytest.raises(InputError, match=said):
        import_compose(text, file="compose.yaml", folder=tmp_path)


def test_the_command_reads_beside_its_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "db.yaml").write_text("services: {db: {image: redis}}")
    (tmp_path / "compose.yaml").write_text("include: [db.yaml]\nservices: {web: {image: web, depends_on: [db]}}")
    assert main(["tosca", "import", "compose", str(tmp_path / "compose.yaml")]) == 0
    captured = capsys.readouterr()
    assert "image: redis" in captured.out and captured.err == "2 services, 1 channel (1 to review), 1 remark\n"


def test_what_has_no_counterpart_is_named() -> None:
    text = """
services:
  web: {image: web, privileged: true, user: "0", restart: always, x-note: mine, networks: [a], cap_add: [NET_ADMIN]}
  db: {image: db, restart: always, cpus: 0.5}
"""
    draft = import_compose(text, file="compose.yaml")
    assert draft.services["web"].remarks == ["not carried over from the compose file: privileged, user, cap_add"]
    assert draft.services["db"].remarks == []
    assert draft.services["db"].settings["cpuLimit"] == "500m"
