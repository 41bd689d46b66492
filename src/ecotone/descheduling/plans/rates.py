"""Where an application's load is going, from the measurements of now and of the time before.

Rates are averages over a window. When users have just moved, half of the window still shows them where they were; when they
have just come, it holds a time without them, and the CPU that their requests need is underestimated as much as their
number. What changed between the last two measurements is therefore taken to go on for one more: flows that grew are larger
by the same amount, flows that shrank are smaller. A load that only moved keeps its size, one that shrinks is taken as it is,
and so is one that has grown twice: a window shows a load that came at once as one that grows until it has filled, and
taking that growth on would call for more CPU than anybody needs. Changes that may be chance (less than `NOTABLE` of all
flows) are taken as they are. Monitoring writes only what differs from what is written, so figures
that have stood for as long as the last change took to show up, `LONGEST` at the most, have settled.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from ecotone.model.state import ClusterState
from ecotone.scheduling.response.call_graph import CallGraph

MEMORY = "rates"
NOTABLE = 0.2
LONGEST = 120.0
_USERS = "@"

Flows = dict[str, float]


@dataclass(frozen=True)
class _Noted:
    """Flows that were first seen at `since`, and those before them, which had been seen `apart` seconds earlier.

    `grown`: those before them had grown as well, or were the first.
    """

    flows: Flows
    since: float
    before: Flows | None = None
    apart: float = 0.0
    grown: bool = False

    @classmethod
    def read(cls, kept: object) -> _Noted | None:
        match kept:
            case [dict() as flows, float() as since, dict() | None as before, float() as apart, bool() as grown]:
                return cls(flows, since, before, apart, grown)
            case _:
                return None

    @property
    def grows(self) -> bool:
        """True if more came than before, or if nothing was known before."""
        return self.before is None or _from_users(self.flows) > (1 + NOTABLE) * _from_users(self.before)

    @property
    def notable(self) -> bool:
        """True if more has changed since the time before than chance would change."""
        now, before = self.flows, self.before or {}
        changed = sum(abs(now.get(name, 0.0) - before.get(name, 0.0)) for name in sorted(now.keys() | before.keys()))
        return changed >= NOTABLE * max(sum(now.values()), sum(before.values()))


class Rates:
    """The last two different measurements of every application, by its first workload."""

    def __init__(self, state: ClusterState) -> None:
        kept = state.memory.get(MEMORY)
        self._names = state.nodes.names
        self._moment = float(state.now)
        self._before = dict(kept) if isinstance(kept, Mapping) else {}
        self._watched = isinstance(kept, Mapping)
        self._now: dict[str, _Noted] = {}

    def note(self, application: CallGraph) -> None:
        name = "/".join(application.names[0])
        flows = self._flows(application)
        last = _Noted.read(self._before.get(name))
        if last is None:
            self._now[name] = _Noted(flows, self._moment)
        elif last.flows == flows:
            self._now[name] = last
        else:
            self._now[name] = _Noted(flows, self._moment, last.flows, self._moment - last.since, last.grows)

    def _flows(self, application: CallGraph) -> Flows:
        """Requests per second by who sends them to whom; users are told by `@` and their node."""
        names = ["/".join(name) for name in application.names]
        found = {f"{names[call.caller]}>{names[call.callee]}": float(call.rate) for call in application.calls}
        for workload, place in np.argwhere(application.users > 0.0).tolist():
            node = self._names[application.rows[place]]
            found[f"{_USERS}{node}>{names[workload]}"] = float(application.users[workload, place])
        return found

    def new(self, application: CallGraph) -> bool:
        """True if there was no time before: nobody knows yet how large its load will be, or that of a part of it."""
        return any(each.before is None for each in self._noted(application))

    def _noted(self, application: CallGraph) -> list[_Noted]:
        """Of all applications that this one consists of: plans may be made for several as one."""
        return [self._now[name] for each in application.names if (name := "/".join(each)) in self._now]

    def growth(self, application: CallGraph) -> float:
        """Requests per second that the flow which grew most has grown by since the time before; 0 once figures have settled.

        Without bound for an application that came while others, or nobody, were measured already.
        """
        return max(map(self._growth, self._noted(application)), default=0.0)

    def _growth(self, noted: _Noted) -> float:
        if self._settled(noted):
            return 0.0
        if noted.before is None:
            return np.inf if self._watched else 0.0
        if not noted.notable:
            return 0.0
        return max(rate - noted.before.get(name, 0.0) for name, rate in noted.flows.items())

    def changing(self, application: CallGraph) -> bool:
        """True if flows differ from the time before by more than chance, or are the first, and have not settled since."""
        return any(
            not self._settled(each) and (each.before is None or each.notable) for each in self._noted(application)
        )

    def before(self, application: CallGraph) -> CallGraph | None:
        """The application with the flows of the time before, None if there was none."""
        known = [noted.before for noted in self._noted(application) if noted.before is not None]
        return (
            self._with(application, {name: rate for flows in known for name, rate in flows.items()}) if known else None
        )

    def _settled(self, noted: _Noted) -> bool:
        """True if the figures have stood for as long as they took to change."""
        apart = LONGEST if noted.before is None else min(noted.apart, LONGEST)
        return self._moment - noted.since >= apart

    def ahead(self, application: CallGraph) -> CallGraph:
        """The application with the flows that the next measurement will show if things go on."""
        noted = self._now["/".join(application.names[0])]
        now, before = noted.flows, noted.before
        if before is None or self._settled(noted) or not noted.notable:
            return application
        flows = {name: max(0.0, 2 * rate - before.get(name, 0.0)) for name, rate in now.items()}
        size, last = _from_users(now), _from_users(before)
        if _from_users(flows) <= 0.0:
            return application
        as_it_is = size < last or noted.grown
        if as_it_is:  # only where it comes from goes on changing
            flows |= {name: rate for name, rate in now.items() if not name.startswith(_USERS)}
        scale = (size if as_it_is else max(size, 2 * size - last)) / _from_users(flows)
        return self._with(
            application,
            {name: scale * rate if name.startswith(_USERS) else rate for name, rate in flows.items()},
        )

    def _with(self, application: CallGraph, flows: Flows) -> CallGraph:
        """CPU follows the requests that each workload gets."""
        names = ["/".join(name) for name in application.names]
        users = application.users.copy()
        for workload, place in np.argwhere(users > 0.0).tolist():
            site = self._names[application.rows[place]]
            users[workload, place] = flows.get(f"{_USERS}{site}>{names[workload]}", 0.0)
        calls = tuple(
            replace(call, rate=flows.get(f"{names[call.caller]}>{names[call.callee]}", 0.0))
            for call in application.calls
        )
        before, after = application.users.sum(axis=1), users.sum(axis=1)
        for old, new in zip(application.calls, calls, strict=True):
            before[old.callee] += old.rate
            after[new.callee] += new.rate
        growth = np.divide(after, before, out=np.ones_like(before), where=before > 0.0)
        return replace(application, users=users, calls=calls, use=application.use * growth, rate=float(users.sum()))

    def write(self, memory: Mapping[str, object]) -> dict[str, object]:
        kept = {name: [each.flows, each.since, each.before, each.apart, each.grown] for name, each in self._now.items()}
        return {**memory, MEMORY: kept}


def _from_users(flows: Flows) -> float:
    return sum(rate for name, rate in flows.items() if name.startswith(_USERS))
