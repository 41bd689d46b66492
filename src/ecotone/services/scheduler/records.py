"""Decision records: the why of recent decisions, kept by a running scheduler for ``ecotone explain``.

Records are put together only when somebody asks, those in full (every node, every term) from the view the decision was made
on. Views are large, so only those of the last rounds are kept; older records keep the decision and its reason.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable
from typing import Any

import msgspec

LIMIT = 10_000
VIEWS = 32

Short = Callable[[], dict[str, Any]]
Full = Callable[[Any], dict[str, Any]]


class _Record(msgspec.Struct):
    short: Short
    full: Full
    round: int


class DecisionRecords:
    def __init__(self, *, limit: int = LIMIT, views: int = VIEWS) -> None:
        self._limit = limit
        self._records: OrderedDict[str, _Record] = OrderedDict()
        self._views: deque[tuple[int, Any]] = deque(maxlen=views)
        self._round = 0

    def new_round(self, view: Any) -> None:
        self._round += 1
        self._views.append((self._round, view))

    def keep(self, key: str, short: Short, full: Full) -> None:
        """``key`` is ``namespace/name``; ``full`` gets the round's view. A later decision replaces an earlier one."""
        self._records[key] = _Record(short, full, self._round)
        self._records.move_to_end(key)
        while len(self._records) > self._limit:
            self._records.popitem(last=False)

    def get(self, key: str) -> dict[str, Any] | None:
        record = self._records.get(key)
        if record is None:
            return None
        view = next((view for number, view in self._views if number == record.round), None)
        return record.short() if view is None else {**record.full(view), **record.short()}

    def __len__(self) -> int:
        return len(self._records)
