"""Ecotone's own programs as child processes of a test cluster."""

from __future__ import annotations

import contextlib
import io
import json
import os
import sys
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

from control_plane.cluster import Cluster
from control_plane.processes import Child, free_ports, wait_until
from ecotone.cli import main

ECOTONE = [sys.executable, "-c", "import sys; from ecotone.cli import main; sys.exit(main())"]
ROOT = Path(__file__).resolve().parents[2]


def environment(**more: str) -> dict[str, str]:
    """The source tree under test comes first, whatever is installed; it is compiled once, not by every program anew."""
    inherited = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {**inherited, "PYTHONPATH": str(ROOT / "src"), "PYTHONUNBUFFERED": "1", **more}


class Program:
    """A running ``ecotone serve ...`` with its endpoints."""

    def __init__(self, cluster: Cluster, *arguments: str, kubeconfig: Path | None = None, host: str = "127.0.0.1"):
        self.cluster = cluster
        self.port = free_ports(1)[0]
        self.address = f"http://{host}:{self.port}"
        file = kubeconfig or cluster.kubeconfig
        command = [*ECOTONE, "serve", *arguments, f"--kubeconfig={file}", f"--listen={host}:{self.port}"]
        self.child: Child = cluster.child(f"ecotone-{arguments[0]}", command, env=environment())

    def get(self, path: str, *, token: str | None = None) -> tuple[int, str]:
        request = urllib.request.Request(self.address + path)
        if token is not None:
            request.add_header("Authorization", f"Bearer {token}")
        try:
            with urllib.request.urlopen(request, timeout=5) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()

    def post(self, path: str, body: Any, *, token: str | None = None) -> Any:
        request = urllib.request.Request(self.address + path, data=json.dumps(body).encode(), method="POST")
        request.add_header("Content-Type", "application/json")
        if token is not None:
            request.add_header("Authorization", f"Bearer {token}")
        with urllib.request.urlopen(request, timeout=5) as answer:
            return json.loads(answer.read())

    def ready(self) -> bool:
        try:
            return self.get("/readyz")[0] == 200
        except OSError:
            return False

    def wait_ready(self, timeout: float = 30) -> Program:
        wait_until(self.ready, timeout=timeout, what="ready program", child=self.child)
        return self

    def metric(self, name: str, **labels: str) -> float:
        """The sum over all series of this name that carry these labels."""
        total = 0.0
        for line in self.get("/metrics")[1].splitlines():
            if line.startswith((name + "{", name + " ")) and all(
                f'{key}="{value}"' in line for key, value in labels.items()
            ):
                total += float(line.rsplit(" ", 1)[1])
        return total

    def stop(self) -> int:
        code = self.child.stop(grace=5.0)
        self.cluster.forget(self.child)
        return code

    def kill(self) -> None:
        self.child.kill()
        self.cluster.forget(self.child)


def scheduler(
    cluster: Cluster, *arguments: str, policy: str = "kube-default", name: str = "ecotone", **more: Any
) -> Program:
    return Program(cluster, "scheduler", f"--scheduler-name={name}", f"--policy={policy}", *arguments, **more)


def run_ecotone(cluster: Cluster, *arguments: str) -> tuple[int, str, str]:
    """Exit code, stdout and stderr of a command that ends; in this process, a fresh one takes longer than most commands."""
    out, problems = io.StringIO(), io.StringIO()
    before = os.environ.get("KUBECONFIG")
    os.environ["KUBECONFIG"] = str(cluster.kubeconfig)
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(problems):
            code = main(list(arguments))
    finally:
        if before is None:
            del os.environ["KUBECONFIG"]
        else:
            os.environ["KUBECONFIG"] = before
    return code, out.getvalue(), problems.getvalue()
