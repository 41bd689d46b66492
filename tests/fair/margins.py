"""Named waits whose deadline is less than five times what they took, from a record that a run of tests has kept.

    ECOTONE_WAITS=/tmp/waits.jsonl make test
    python tests/fair/margins.py /tmp/waits.jsonl

To be asked on a quiet machine. Waits are told apart by test and name.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from pathlib import Path

MARGIN = 5.0


def tight(lines: Iterable[str]) -> list[tuple[float, str]]:
    """Deadline over seconds, tightest first, of the waits with too little room, each in words."""
    longest: dict[tuple[str, str], tuple[float, float]] = {}
    for line in lines:
        one = json.loads(line)
        wait = one["test"].partition(" (")[0], one["what"]
        longest[wait] = max(longest.get(wait, (0.0, 0.0)), (one["seconds"] / one["timeout"], one["seconds"]))
    return sorted(
        (1 / share, f"{test}: {what} took {seconds:.1f} s of {seconds / share:g}")
        for (test, what), (share, seconds) in longest.items()
        if share * MARGIN > 1
    )


def main() -> None:
    for times, told in tight(Path(sys.argv[1]).read_text(encoding="utf-8").splitlines()):
        sys.stdout.write(f"{times:4.1f} times: {told}\n")


if __name__ == "__main__":
    main()
