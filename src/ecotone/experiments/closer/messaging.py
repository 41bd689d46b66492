"""The use case of the communication-aware scheduler (CLOSER 2022, section 5) carried on to what it only argues.

The paper ends with a placement (figure 5) and a sentence: with more requests to message-publisher than to message-reader, a
new api-gateway pod scores node0 higher, goes there, and publishing gets faster. Here the placement is set up as figure 5 has
it (what the paper supposes is pinned; node0 takes no pods while the first gateway is placed, so that it goes to node1), load
runs for four and a half minutes, the gateway's pod is replaced as after a failure, and load runs on. Response times before
and after are those of the same run, the interval is over trials.

Users enter at node0 and node1 alike, so nothing but the channels tells the two nodes apart. The affinity of a channel is its
bytes, and the paper speaks of requests: which of the two services weighs more also depends on how large answers are. Hence
two sets of message sizes, and loads with more of the one, more of the other, and equally many.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ecotone.experiments.campaign.comparison import known
from ecotone.experiments.campaign.record import Placed, Run
from ecotone.experiments.campaign.registry import Cell, Options, Result, Table
from ecotone.experiments.campaign.runs import Job
from ecotone.experiments.campaign.statistics import interval95, mean, significant
from ecotone.experiments.campaign.sweep import sweep
from ecotone.sim.scenario import builtin_scenarios, read_scenario
from ecotone.sim.scenario.overrides import with_values

POLICY, CONTROL = "communication-aware", "kube-default"
GATEWAY, TARGET = "api-gateway", "node0"
FIGURE_5 = {
    "message-publisher": "node0",
    "message-reader": "node1",
    "message-notifier": "node2",
    "rabbitmq": "node3",
    "mongodb": "node2",
}
LOADED, REPLACED, AGAIN, END = 30, 300, 330, 600  # seconds
READ_ALIKE = ("1kB", "200B")  # a request and its answer, as those of publishing are
PHASES = 3


@dataclass(frozen=True, slots=True)
class Case:
    """Requests per second of each kind; `alike`: reading sends and answers as many bytes as publishing."""

    publish: int
    read: int
    alike: bool = False
    policy: str = POLICY

    @property
    def sizes(self) -> str:
        return "alike" if self.alike else "reads answer 8 kB"


CASES = (
    Case(30, 10, alike=True),
    Case(20, 20, alike=True),
    Case(10, 30, alike=True),
    Case(36, 4),
    Case(30, 10),
    Case(10, 30),
    Case(30, 10, alike=True, policy=CONTROL),
)
CLAIMED = CASES[0]


def run(options: Options) -> Result:
    """`ecotone experiment communication-aware`."""
    trials = options.runs or (2 if options.quick else 10)
    options.say_duration(sum(case.publish + case.read for case in CASES) * float(END - LOADED) * trials)
    jobs = [
        Job(scenario_of(case), "messaging.yaml", case.policy, trial, options.seed)
        for case in CASES
        for trial in range(trials)
    ]
    done = sweep(jobs, workers=options.workers, dask=options.dask, folder=options.folder, progress=options.progress)
    found = [Finding(case, done[at : at + trials]) for case, at in zip(CASES, range(0, len(done), trials), strict=True)]
    header = [
        *("policy", "message sizes", "publish/s", "read/s", "new pod on node0"),
        *("publish ms before", "after", "difference", "95 % interval"),
        *("read ms before", "after", "failed"),
    ]
    title = f"A new api-gateway pod in figure 5's placement, {trials} trial{'s' if trials > 1 else ''}"
    table = Table(title, header, [each.row() for each in found])
    return Result("communication-aware", [table], claims(found), figures={"trials": trials})


def scenario_of(case: Case) -> str:
    """The built-in scenario, set up as figure 5 has it and loaded in three stretches: before, meanwhile, after."""
    text = builtin_scenarios()["messaging"]
    services = [each.name for each in read_scenario(text, file="messaging.yaml").application.services]
    values: dict[str, object] = {
        "duration": f"{END}s",
        "application.traces": {GATEWAY: [["0s", 0], ["5s", 1], [f"{REPLACED}s", 0], [f"{REPLACED + 1}s", 1]]},
        "events": [
            {"at": "2s", "node": TARGET, "state": "cordoned"},
            {"at": "20s", "node": TARGET, "state": "uncordoned"},
        ],
        "load": [
            {
                "at": f"{start}s",
                "for": f"{end - start}s",
                "entry": f"{GATEWAY}.{kind}",
                "from": ["node0", "node1"],
                "arrivals": {"poisson": rate},
            }
            for kind, rate in (("publish", case.publish), ("read", case.read))
            for start, end in ((LOADED, REPLACED), (REPLACED, AGAIN), (AGAIN, END))
        ],
    }
    for name, node in FIGURE_5.items():
        values[f"application.services.{services.index(name)}.pinned"] = node
    if case.alike:
        call = f"application.services.{services.index(GATEWAY)}.endpoints.1.stages.0.0"
        values[f"{call}.request"], values[f"{call}.response"] = READ_ALIKE
    return with_values(text, values, file="messaging.yaml")


@dataclass(frozen=True, slots=True)
class Finding:
    """All trials of one case."""

    case: Case
    runs: Sequence[Run]

    @property
    def new_pods(self) -> list[Placed]:
        """The last bind of the gateway in each trial."""
        return [[each for each in run.binds if each.service == GATEWAY][-1] for run in self.runs]

    @property
    def went(self) -> int:
        return sum(each.node == TARGET for each in self.new_pods)

    def times(self, kind: int, stretch: int) -> list[float]:
        """Mean response times of publishing (0) or reading (1) in one stretch, by trial."""
        return known(run.intervals[kind * PHASES + stretch].mean_ms for run in self.runs)

    @property
    def differences(self) -> list[float]:
        return [after - before for before, after in zip(self.times(0, 0), self.times(0, 2), strict=True)]

    @property
    def interval(self) -> tuple[float, float] | None:
        return interval95(self.differences)

    def row(self) -> list[Cell]:
        case = self.case
        lost = sum(run.failed for run in self.runs) / max(1, sum(run.requests for run in self.runs))
        return [
            *(case.policy, case.sizes, case.publish, case.read, f"{self.went} of {len(self.runs)}"),
            *(_ms(self.times(0, 0)), _ms(self.times(0, 2)), _ms(self.differences), _ends(self.interval)),
            *(_ms(self.times(1, 0)), _ms(self.times(1, 2)), f"{100 * lost:.2f} %"),
        ]


def claims(found: Sequence[Finding]) -> list[str]:
    """The paper's sentence, and the same where reads weigh more in bytes."""
    notes = []
    for each in found:
        if each.case.policy != POLICY or each.case.publish <= each.case.read:
            continue
        ends = each.interval
        holds = each.went == len(each.runs) and ends is not None and ends[1] < 0.0
        notes.append(
            f"claim: with more publish requests a new api-gateway pod goes to node0 and publishing gets faster. "
            f"{'Holds' if holds else 'Does not hold'} with {each.case.publish} and {each.case.read} requests a second and "
            f"message sizes: {each.case.sizes}. The new pod went to node0 in {each.went} of {len(each.runs)} trials; "
            f"publishing took {_ms(each.times(0, 0))} ms before and {_ms(each.times(0, 2))} ms after"
            f" ({_ends(ends) or 'no interval'}), reading {_ms(each.times(1, 0))} and {_ms(each.times(1, 2))} ms."
        )
    return notes


def _ms(values: list[float]) -> float | None:
    return significant(mean(values), 4)


def _ends(ends: tuple[float, float] | None) -> str | None:
    return None if ends is None else f"{ends[0]:+.2f} .. {ends[1]:+.2f}"
