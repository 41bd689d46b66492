"""What kube-scheduler says in its log at ``-v=10``: the weighted score of every plugin for every node and pod."""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path

_SCORED = re.compile(
    r'"Plugin scored node for pod" pod="(?P<pod>[^"]+)" plugin="(?P<plugin>[^"]+)" node="(?P<node>[^"]+)" '
    r"score=(?P<score>-?\d+)"
)
_FINAL = re.compile(r'"Calculated node\'s final score for pod" pod="([^"]+)" node="([^"]+)" score=(-?\d+)')


class SchedulerLog:
    """Reads the log as it grows."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._offset = 0
        self._rest = b""
        self.scores: dict[str, dict[str, dict[str, int]]] = defaultdict(lambda: defaultdict(dict))
        """pod -> node -> plugin -> weighted score"""
        self.finals: dict[str, dict[str, int]] = defaultdict(dict)

    def read(self) -> None:
        with self._path.open("rb") as stream:
            stream.seek(self._offset)
            data = self._rest + stream.read()
            self._offset = stream.tell()
        lines, _, self._rest = data.rpartition(b"\n")
        for line in lines.decode(errors="replace").splitlines():
            found = _SCORED.search(line)
            if found:
                self.scores[found["pod"]][found["node"]][found["plugin"]] = int(found["score"])
                continue
            final = _FINAL.search(line)
            if final:
                self.finals[final[1]][final[2]] = int(final[3])

    def forget(self, pod: str) -> None:
        self.scores.pop(pod, None)
        self.finals.pop(pod, None)
