"""How `ecotone-fast` and `ecotone` stand beside published policies and the best static placement, scenario by scenario.

    python -m benchmarks.quality run RESULTS.json [SCENARIO ...]     simulates what the file does not have yet
    python -m benchmarks.quality table RESULTS.json                  prints the table that docs/simulation.md shows

Without names all built-in scenarios; one trial with seed 1 each. What is in the file is kept, policy by policy, so that a run
can be cut short and taken up again, and a policy that was changed is run alone after its figures were taken out:

    python -m benchmarks.quality forget RESULTS.json POLICY ...      `best-static` is the bound
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from ecotone.experiments.campaign.best_static.bound import NAME as BOUND
from ecotone.experiments.campaign.quality import FAST, OURS, published_for, quality_table, verdict
from ecotone.experiments.campaign.record import Run
from ecotone.experiments.campaign.runs import Job
from ecotone.experiments.campaign.sweep import sweep
from ecotone.sim.scenario import builtin_scenarios

_BY_MOVES = ("starting", "unplaced", "killed")


def run(results: Path, names: list[str]) -> None:
    known: dict[str, Any] = json.loads(results.read_text()) if results.exists() else {}
    texts = builtin_scenarios()
    for name in names or texts:
        found = known.get(name, {})
        wanted = (*published_for(name), OURS, FAST, BOUND)
        left = [policy for policy in wanted if policy not in found]
        if not left:
            continue
        jobs = [
            Job(texts[name], f"{name}.yaml", FAST if policy == BOUND else policy, 0, 1, bound=policy == BOUND)
            for policy in left
        ]
        found |= {each.policy: _figures(each) for each in sweep(jobs, workers=2)}
        known[name] = {policy: found[policy] for policy in wanted}
        results.write_text(json.dumps(known, indent=1) + "\n")
        print(name, verdict(known[name]), flush=True)


def forget(results: Path, policies: list[str]) -> None:
    known: dict[str, Any] = json.loads(results.read_text())
    for found in known.values():
        for policy in policies:
            found.pop(policy, None)
    results.write_text(json.dumps(known, indent=1) + "\n")


def _figures(found: Run) -> dict[str, Any]:
    return {
        "mean_ms": found.response_ms.mean,
        "p95_ms": found.response_ms.p95,
        "settled_mean_ms": found.settled_mean_ms,
        "failed": found.failed,
        "failed_by_moves": sum(found.failures.get(cause, 0) for cause in _BY_MOVES) if found.evictions else 0,
        "moves": found.evictions,
    }


if __name__ == "__main__":
    verb, file, *names = sys.argv[1:]
    if verb == "run":
        run(Path(file), names)
    elif verb == "forget":
        forget(Path(file), names)
    else:
        print(quality_table(Path(file)))
