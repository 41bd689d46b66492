"""Runs the benchmarks, prints their tables and writes the figures as JSON.

    python -m benchmarks                     all that need nothing but Python
    python -m benchmarks decide sim_station  these only
    python -m benchmarks --json FILE         where the figures go (default build/benchmarks.json)
    python -m benchmarks --small intake      in seconds: shows that it runs, its figures say nothing

A benchmark is a module of this folder. Its figures come from `results()` or `measure()` without arguments; a module without
either is run through its `main()`, and what it prints is kept as text. Those that need a real control plane run when named.
`SMALL` of a module holds the arguments of a small run; not all have one.
"""

from __future__ import annotations

import argparse
import contextlib
import inspect
import io
import json
import pkgutil
import platform
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ON_REQUEST = frozenset(
    {"scheduler_throughput", "scheduler_latency", "cold_start", "bare_posts", "documented", "monitor_scale"}
)


def known() -> list[str]:
    return sorted(each.name for each in pkgutil.iter_modules([str(HERE)]) if each.name != "__main__")


def run(name: str, *, small: bool = False) -> Any:
    module = import_module(f"benchmarks.{name}")
    if small:
        return (getattr(module, "results", None) or module.measure)(**module.SMALL)
    for entry in ("results", "measure"):
        function = getattr(module, entry, None)
        if function is not None and not _needs_arguments(function):
            return function()
    text = io.StringIO()
    arguments, sys.argv = sys.argv, [name]
    try:
        with contextlib.redirect_stdout(text):
            module.main()
    finally:
        sys.argv = arguments
    return text.getvalue()


def _needs_arguments(function: Any) -> bool:
    return any(each.default is each.empty for each in inspect.signature(function).parameters.values())


def show(name: str, figures: Any) -> None:
    print(f"== {name}")
    if isinstance(figures, str):
        print(figures, end="")
        return
    flat = {key: value for key, value in figures.items() if not isinstance(value, dict)}
    for key, value in flat.items():
        print(f"  {key:28} {_number(value):>14}")
    tables = {key: value for key, value in figures.items() if isinstance(value, dict)}
    for key, row in tables.items():
        print(f"  {key}")
        for figure, value in row.items():
            print(f"    {figure:26} {_number(value):>14}")


def _number(value: Any) -> str:
    return f"{value:,.4g}" if isinstance(value, float) else str(value)


def main() -> int:
    parser = argparse.ArgumentParser(prog="benchmarks", description="Ratios against named peers, side by side.")
    parser.add_argument("names", nargs="*", metavar="BENCHMARK", help=", ".join(known()))
    parser.add_argument("--json", type=Path, default=Path("build/benchmarks.json"), help="where the figures go")
    parser.add_argument("--small", action="store_true", help="as small as it can be, of those that can")
    options = parser.parse_args()
    unknown = [name for name in options.names if name not in known()]
    if unknown:
        parser.error(f"there is no benchmark {unknown[0]!r}; there are {', '.join(known())}")
    found: dict[str, Any] = {}
    for name in options.names or [name for name in known() if name not in ON_REQUEST]:
        if options.small and not hasattr(import_module(f"benchmarks.{name}"), "SMALL"):
            print(f"{name}: left out, it has no small run", file=sys.stderr)
            continue
        found[name] = run(name, small=options.small)
        show(name, found[name])
    options.json.parent.mkdir(parents=True, exist_ok=True)
    machine = {"python": platform.python_version(), "machine": platform.machine()}
    options.json.write_text(json.dumps({**machine, "results": found}, indent=2) + "\n")
    print(f"figures in {options.json}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
