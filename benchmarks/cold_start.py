"""Started cold on a full queue: when the first pod is bound, how fast the others follow, and what it costs.

A scheduler is started on a cluster with thousands of nodes and bare pods waiting, and writes one event for each. Beside it,
on the same API server and in the same run: kube-scheduler, and bare POSTs of bindings without any scheduler, which is the
limit: once by Ecotone's own client (`bare-posts`), once by an ordinary one (`bare-posts-aiohttp`). `bare-posts-busy` also
uses up a quarter of a millisecond of CPU time for each pod: a scheduler that needs as much for everything but posting would be
no faster. Goals: the first binding not later than kube-scheduler's, at least 80 % of the limit, at most 1 ms of CPU a pod.

    python -m benchmarks.cold_start --nodes 5000 --pods 2000 --runs 5
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
from dataclasses import asdict
from typing import Any

from benchmarks.scheduler_throughput import BARE_POSTS, LIMITS, Run, measure

RUNNERS = (*BARE_POSTS, "kube-scheduler", "kube-default", "ecotone")


def summarise(results: list[Run]) -> list[dict[str, Any]]:
    """Medians of each, and its rate as a share of the bare POSTs' of either client."""
    rows = []
    limits = {
        limit: statistics.median(rates)
        for limit in LIMITS
        if (rates := [run.binds_per_second for run in results if run.scheduler == limit])
    }
    for name in dict.fromkeys(run.scheduler for run in results):
        runs = [run for run in results if run.scheduler == name]
        rate = statistics.median(run.binds_per_second for run in runs)
        rows.append(
            {
                "scheduler": name,
                "first_binding_seconds": statistics.median(run.start_to_first_bind for run in runs),
                "binds_per_second": rate,
                "share_of_limit": {limit: round(rate / most, 3) for limit, most in limits.items()},
                "cpu_ms_per_pod": statistics.median(run.cpu_ms_per_pod for run in runs),
                "peak_rss_mib": statistics.median(run.peak_rss_mib for run in runs),
            }
        )
    return rows


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--nodes", type=int, nargs="+", default=[5000])
    parser.add_argument("--pods", type=int, default=2000)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--scheduler", nargs="+", default=list(RUNNERS), choices=RUNNERS)
    parser.add_argument("-o", "--output", choices=["table", "json"], default="table")
    options = parser.parse_args(arguments)
    options.workload = ["bare"]
    results = asyncio.run(measure(options))
    rows = summarise(results)
    if options.output == "json":
        print(json.dumps({"summary": rows, "runs": [asdict(run) for run in results]}, indent=2))
        return 0
    columns = "".join(f" {f'of {limit}':>22}" for limit in LIMITS)
    print(f"{'scheduler':<18} {'first s':>8} {'binds/s':>8}{columns} {'CPU ms/pod':>11} {'RSS MiB':>8}")
    for row in rows:
        shares = "".join(f" {row['share_of_limit'].get(limit, 0):>22.0%}" for limit in LIMITS)
        print(
            f"{row['scheduler']:<18} {row['first_binding_seconds']:>8.2f} {row['binds_per_second']:>8.1f}"
            f"{shares} {row['cpu_ms_per_pod']:>11.2f} {row['peak_rss_mib']:>8.1f}"
        )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
