"""`ecotone plan --deschedule` on one application of a hundred services with three replicas on a hundred nodes.

Tight (90 % of the CPU is requested) and with room (30 %), with Services that share calls out evenly. Figures are the CPU
seconds and the most memory of the whole program. Limits: 20 s and 600 MB; more than that is an error. Round trips are
PlanetLab's where `ECOTONE_SHARED` names the folder with the data from outside, else distances on a plane.

    python -m benchmarks.plan_scale
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from large_application import objects

SECONDS, MEGABYTES = 20.0, 600.0
FILLED = {"tight": 0.9, "with room": 0.3}
SMALL = {"services": 10, "nodes": 10}


def measure(*, services: int = 100, replicas: int = 3, nodes: int = 100) -> dict[str, Any]:
    found: dict[str, Any] = {"services": services, "replicas": replicas, "nodes": nodes}
    for name, filled in FILLED.items():
        found[name] = _planned(objects(services=services, replicas=replicas, nodes=nodes, filled=filled))
    over = [name for name in FILLED if found[name]["CPU seconds"] > SECONDS or found[name]["MB at most"] > MEGABYTES]
    if over:
        raise SystemExit(f"above {SECONDS:g} s or {MEGABYTES:g} MB: {', '.join(over)}: {json.dumps(found)}")
    return found


def _planned(cluster: dict[str, Any]) -> dict[str, float]:
    """What a process of its own takes: of children only sums are known, and the largest of all."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "cluster.json")
        file.write_text(json.dumps(cluster))
        command = [sys.executable, __file__, str(file)]
        ended = subprocess.run(
            command, check=True, capture_output=True, text=True, env={**os.environ, "OPENBLAS_NUM_THREADS": "1"}
        )
    told: dict[str, float] = json.loads(ended.stdout)
    return told


def _run(file: str) -> None:
    """Plans, and tells what that took; the kernel counts the largest child apart from its parent."""
    command = [sys.executable, "-m", "ecotone", "plan", "--deschedule", "-o", "json", "-f", file]
    ended = subprocess.run(command, check=True, capture_output=True, text=True)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    moves = sum(each["action"] == "evict" for each in json.loads(ended.stdout)["decisions"])
    taken = {"CPU seconds": used.ru_utime + used.ru_stime, "MB at most": used.ru_maxrss / 1024, "moves at once": moves}
    print(json.dumps(taken))


if __name__ == "__main__":
    if len(sys.argv) > 1:
        _run(sys.argv[1])
    else:
        print(json.dumps(measure(), indent=2))
