"""docs/testbed.md's tables, made from the stored results, so that the page says what was measured and nothing else.

python -m ecotone.experiments.bed.pages docs
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

PAGE = "testbed.md"
NOTHING = "No result is stored yet."


def filled(text: str, results: Path) -> str:
    """The page's text with every marked table made anew."""
    for name, make in _TABLES.items():
        marked = re.compile(rf"(<!-- {name} -->\n).*?(\n<!-- /{name} -->)", re.DOTALL)
        made = make(results)
        text = marked.sub(lambda found, made=made: f"{found[1]}{made}{found[2]}", text)  # type: ignore[misc]
    return text


def sophos_table(results: Path) -> str:
    return _campaigns(sorted(results.glob("testbed-sophos-*ms.json"), key=_latency))


def applications_table(results: Path) -> str:
    return _campaigns(results / f"testbed-{name}.json" for name in ("taxi", "messaging", "stress"))


def _campaigns(files: Iterable[Path]) -> str:
    rows: list[list[str]] = []
    machines: list[dict[str, Any]] = []
    for document in _documents(files):
        machines += document["machines"]
        expected = {each["policy"]: each for each in document["simulated"]["summary"]}
        for number, each in enumerate(document["summary"]):
            simulated = expected.get(each["policy"], {})
            rows.append(
                [
                    document["scenario"],
                    each["policy"],
                    _ms(each["p95_ms"]),
                    _span(each["p95_ci95"]),
                    _percent(each["vs_baseline"]),
                    "-" if number == 0 else _percents(each["vs_baseline_ci95"]),
                    _ms(each["mean_ms"]),
                    _share(each["failed_share"]),
                    _number(each["evictions"]),
                    str(each["trials"]),
                    _ms(simulated.get("p95_ms")),
                    _ms(simulated.get("mean_ms")),
                    _number(simulated.get("evictions")),
                    _counted(document["runs"], each["policy"]),
                    _counted(document["simulated"]["runs"], each["policy"]),
                ]
            )
    header = ["scenario", "contender", "p95 ms", "95 % interval", "vs kube-default", "its interval", "mean ms",
              "failed", "pods moved", "trials", "simulated p95", "simulated mean", "simulated moves", "latency counted",
              "simulated"]  # fmt: skip
    return _table(header, rows, machines)


def _counted(runs: Sequence[dict[str, Any]], policy: str) -> str:
    """The latency counted by tier, where the scenario has such a thing."""
    found = [
        run["edge_latency_ms"] for run in runs if run["policy"] == policy and run.get("edge_latency_ms") is not None
    ]
    return _ms(sum(found) / len(found)) if found else "-"


def agreement_table(results: Path) -> str:
    rows: list[list[str]] = []
    machines: list[dict[str, Any]] = []
    for document in _documents(sorted(results.glob("testbed-agreement-*ms.json"), key=_latency)):
        for name, each in document["placements"].items():
            machines += [one["machine"] for one in each["runs"]]
            row = [document["scenario"], name, str(len(each["runs"]))]
            for what in ("mean", "p95"):
                difference = _percent(each[f"{what}_difference"])
                row += [_ms(each[f"{what}_ms"]), _ms(each[f"simulated_{what}_ms"]), difference]
            row += [_ms(each["cpu_seconds"]), _ms(each["foretold_cpu_seconds"]), _percent(each["cpu_difference"])]
            rows.append(row)
    header = ["scenario", "placement", "trials", "mean ms", "simulated", "difference", "p95 ms", "simulated", "difference",
              "CPU s", "foretold", "difference"]  # fmt: skip
    return _table(header, rows, machines)


def faults_table(results: Path) -> str:
    rows: list[list[str]] = []
    machines: list[dict[str, Any]] = []
    for document in _documents([results / "testbed-faults.json"]):
        for each in document["faults"]:
            machines.append(each["machine"])
            converged = each["converged_seconds"]
            rows.append(
                [
                    each["fault"],
                    _seconds(each["lasted_seconds"]),
                    str(each["requests"]),
                    str(each["failed"]),
                    _seconds(each["unserved_seconds"]),
                    str(each["pods_moved"]),
                    str(each["sent_there"]),
                    "not in time" if converged is None else _seconds(converged),
                    _ms(each["mean_before_ms"]),
                    _ms(each["mean_after_ms"]),
                ]
            )
    header = ["fault", "lasted", "requests", "failed", "longest without an answer", "pods replaced",
              "sent to a node cut off", "as it should be after healing", "mean before ms", "mean after ms"]  # fmt: skip
    return _table(header, rows, machines)


_TABLES: dict[str, Callable[[Path], str]] = {
    "testbed-sophos": sophos_table,
    "testbed-applications": applications_table,
    "testbed-agreement": agreement_table,
    "testbed-faults": faults_table,
}


def _documents(files: Iterable[Path]) -> list[dict[str, Any]]:
    return [json.loads(file.read_text(encoding="utf-8")) for file in files if file.exists()]


def _latency(file: Path) -> float:
    return float(file.stem.rpartition("-")[2].removesuffix("ms"))


def _told(machines: Iterable[dict[str, Any]]) -> list[str]:
    """A line for each machine, with the loads that were found on it."""
    loads: dict[str, dict[str, None]] = {}
    for each in machines:
        about = f"{each['cores']} cores ({each['cpu']}), {each['memory_gib']} GiB, Linux {each['kernel']}"
        loads.setdefault(about, {})[f"{each['load_average']}"] = None
    return [f"Machine: {about}; load average at the start {', '.join(found)}." for about, found in loads.items()]


def _table(header: Sequence[str], rows: Sequence[Sequence[str]], machines: Sequence[dict[str, Any]]) -> str:
    if not rows:
        return NOTHING
    lines = [f"| {' | '.join(row)} |" for row in (header, ["---"] * len(header), *rows)]
    return "\n".join([*lines, "", *_told(machines)])


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3g}"


def _ms(value: float | None) -> str:
    return "-" if value is None else f"{value:.1f}"


def _seconds(value: float) -> str:
    return f"{value:g} s"


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{100 * value:+.1f} %"


def _share(value: float | None) -> str:
    return "-" if value is None else f"{100 * value:.1f} %"


def _percents(ends: Sequence[float | None] | None) -> str:
    return "-" if ends is None else " .. ".join(_percent(end) for end in ends)


def _span(ends: Sequence[float | None] | None) -> str:
    return "-" if ends is None else " .. ".join(_ms(end) for end in ends)


def main(docs: Path) -> None:
    page = docs / PAGE
    page.write_text(filled(page.read_text(encoding="utf-8"), docs / "results"), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
