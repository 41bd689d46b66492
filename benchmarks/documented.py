"""Stores results of experiments and writes their tables into the documentation.

python -m benchmarks.documented keep RESULT.json ...     what `ecotone experiment NAME -o json` printed, into docs/results
python -m benchmarks.documented fill                     brings the pages up to date with docs/results
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from ecotone.experiments.campaign.documented import compact, filled
from ecotone.experiments.campaign.quality import quality_table

DOCS = Path(__file__).resolve().parents[1] / "docs"


def keep(file: Path) -> None:
    result = json.loads(file.read_text(encoding="utf-8"))
    (DOCS / "results" / f"{result['experiment']}.json").write_text(compact(result), encoding="utf-8")


def fill() -> None:
    for page in sorted(DOCS.glob("*.md")):
        before = page.read_text(encoding="utf-8")
        after = filled(before, DOCS / "results")
        head, mark, rest = after.partition("<!-- quality -->\n")
        if mark and page.name == "simulation.md":
            table = quality_table(DOCS / "results" / "quality.json")
            after = head + mark + table + "\n<!-- /quality -->" + rest.partition("<!-- /quality -->")[2]
        if after != before:
            page.write_text(after, encoding="utf-8")


def main() -> None:
    verb, *files = sys.argv[1:] or ["fill"]
    for each in files if verb == "keep" else ():
        keep(Path(each))
    fill()


if __name__ == "__main__":
    main()
