"""A real Prometheus on loopback that scrapes what a test plants."""

from __future__ import annotations

import json
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path
from typing import Any

import yaml

from control_plane.processes import Child, free_ports, wait_until
from real_programs import tool


class PrometheusServer:
    def __init__(
        self,
        directory: Path,
        targets: dict[str, list[dict[str, Any]]],
        *,
        interval: str = "1s",
        path: str = "/metrics",
    ) -> None:
        """``targets``: job name -> static configs, each with targets and labels."""
        self._directory = directory
        self._binary = tool("prometheus")
        self.port = free_ports(1)[0]
        self.url = f"http://127.0.0.1:{self.port}"
        config = {
            "global": {"scrape_interval": interval, "scrape_timeout": interval, "evaluation_interval": "1h"},
            "scrape_configs": [
                {"job_name": job, "honor_labels": True, "metrics_path": path, "static_configs": given}
                for job, given in targets.items()
            ],
        }
        directory.mkdir(parents=True, exist_ok=True)
        (directory / "prometheus.yml").write_text(yaml.safe_dump(config))
        self._starts = 0
        self.child = self._start()

    def _start(self) -> Child:
        self._starts += 1
        child = Child(
            "prometheus",
            [
                self._binary,
                f"--config.file={self._directory / 'prometheus.yml'}",
                f"--storage.tsdb.path={self._directory / 'data'}",
                f"--web.listen-address=127.0.0.1:{self.port}",
                "--log.level=warn",
            ],
            log=self._directory / f"prometheus-{self._starts}.log",
        )
        wait_until(self.ready, timeout=30, what="ready Prometheus", child=child)
        return child

    def ready(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self.url}/-/ready", timeout=2) as answer:
                return bool(answer.status == 200)
        except OSError:
            return False

    def query(self, promql: str) -> list[dict[str, Any]]:
        data = urllib.parse.urlencode({"query": promql}).encode()
        with urllib.request.urlopen(f"{self.url}/api/v1/query", data=data, timeout=5) as answer:
            result: list[dict[str, Any]] = json.loads(answer.read())["data"]["result"]
            return result

    def restart(self) -> None:
        self.stop()
        self.child = self._start()

    def stop(self) -> None:
        self.child.stop(grace=5)
