"""`ecotone status` and `ecotone moves` on a cluster whose answers are scripted."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
import yaml

from ecotone.cli import main

MOVE = {
    "at": "2026-01-01T00:00:00Z",
    "pod": "shop/front-1",
    "from": "far",
    "to": "near",
    "landed": "near",
    "predictedGain": 40.0,
    "measuredGain": 38.5,
    "unit": "ms",
    "outcome": "Done",
}


def group(name: str, *, reason: str = "Active", holds: bool = True, moves: list[dict[str, Any]] | None = None) -> Any:
    condition = {"type": "Descheduling", "status": str(holds), "reason": reason, "message": "because"}
    fresh = {"type": "MeasurementsFresh", "status": "True", "reason": "Fresh", "message": "2 of 2 fresh"}
    status = {"conditions": [condition, fresh], "moves": moves or []}
    return {"metadata": {"name": name, "namespace": "shop"}, "spec": {"name": name}, "status": status}


@pytest.fixture
def answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, Any]]:
    told: dict[str, Any] = {"status": 200, "items": []}

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = json.dumps({"metadata": {}, "items": told["items"], "message": "not found", "code": 404}).encode()
            self.send_response(told["status"])
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            return

    server = HTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    config = {
        "current-context": "c",
        "clusters": [{"name": "c", "cluster": {"server": f"http://127.0.0.1:{server.server_port}"}}],
        "contexts": [{"name": "c", "context": {"cluster": "c"}}],
    }
    file = tmp_path / "config"
    file.write_text(yaml.safe_dump(config))
    monkeypatch.setenv("KUBECONFIG", str(file))
    yield told
    server.shutdown()
    server.server_close()


def test_status_sums_up_every_application(answers: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    answers["items"] = [group("web", moves=[MOVE, MOVE]), group("idle", reason="Paused", holds=False)]
    assert main(["status", "-o", "json"]) == 0
    idle, web = json.loads(capsys.readouterr().out)
    assert web["application"] == "shop/web"
    assert (web["moves"], web["predictedGain"], web["measuredGain"]) == (2, 80.0, 77.0)
    assert idle["descheduling"] == {"holds": False, "reason": "Paused", "message": "because"}
    assert main(["status"]) == 0
    assert "Paused: because" in capsys.readouterr().out


def test_a_loop_that_is_held_up_is_exit_code_1(answers: dict[str, Any]) -> None:
    answers["items"] = [group("web", reason="CircuitBreakerOpen", holds=False)]
    assert main(["status"]) == 1


def test_moves_are_listed_newest_first(answers: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    later = {**MOVE, "at": "2026-01-02T00:00:00Z", "pod": "shop/front-2"}
    answers["items"] = [group("web", moves=[MOVE, later])]
    assert main(["moves", "-o", "name"]) == 0
    assert capsys.readouterr().out.splitlines() == ["pod/shop/front-2", "pod/shop/front-1"]
    assert main(["moves", "-o", "wide"]) == 0
    assert "38.5 ms" in capsys.readouterr().out


def test_a_cluster_without_the_resource_says_what_to_install(
    answers: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    answers["status"] = 404
    assert main(["status"]) == 3
    assert "ecotone manifests crds" in capsys.readouterr().err


def test_odd_statuses_are_shown_as_far_as_they_go(answers: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    odd = group("web")
    odd["status"] = {"conditions": [3, {}], "moves": ["x", {"at": "never", "predictedGain": "much"}]}
    answers["items"] = [odd]
    assert main(["moves"]) == 0
    assert main(["status"]) == 0
    assert "Traceback" not in capsys.readouterr().err
