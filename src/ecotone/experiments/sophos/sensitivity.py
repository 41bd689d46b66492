"""How much the evaluation of Sophos depends on what its authors do not state: weights, message sizes, replicas.

Sock Shop at one latency and one number of users (100 ms and 50 unless asked otherwise), p95 and mean over trials. The
weights are alpha (CPU against memory) and gamma (resources against network) of algorithm 1. Message sizes are those of the
answers to users beside internal ones: the literal sum weighs channels by their bytes, so that it sits on a knife edge where
both are equal. Replicas are those of every service.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ecotone.experiments.campaign.comparison import known
from ecotone.experiments.campaign.record import Run
from ecotone.experiments.campaign.registry import Cell, Options, Result, Table
from ecotone.experiments.campaign.runs import Job
from ecotone.experiments.campaign.statistics import mean, significant
from ecotone.experiments.campaign.sweep import sweep
from ecotone.scheduling import POLICIES, Profile, Use
from ecotone.sim.scenario.families.sock_shop import SockShop
from ecotone.sim.scenario.overrides import with_values

LATENCY, USERS = 100.0, 50
NAMES = ("kube-default", "sophos", "sophos-normalized", "ecotone")
GAMMAS = (0.1, 0.3, 0.5, 0.7, 0.9)
ALPHAS = (0.0, 0.5, 1.0)
SIZES = {"smaller": "200B", "equal": "3kB", "larger": "20kB"}  # answers to users; between services they are 2 to 4 kB
REPLICAS = (1, 2, 3)

Case = tuple[str, str, Profile]  # what is varied, the scenario's text, under which policy


def run(options: Options) -> Result:
    """`ecotone experiment sophos-sensitivity`."""
    latency = options.latencies[0] if options.latencies else LATENCY
    users = options.users[0] if options.users else USERS
    trials = options.runs or (2 if options.quick else 10)
    text = SockShop(latency, users).text()
    cases = variations(text)
    options.say_duration(users * 2400.0 * trials * len(cases))
    jobs = [
        Job(scenario, "sock-shop.yaml", profile, trial, options.seed)
        for _, scenario, profile in cases
        for trial in range(trials)
    ]
    done = sweep(jobs, workers=options.workers, dask=options.dask, folder=options.folder, progress=options.progress)
    found: dict[tuple[str, str], list[Run]] = {}
    for (what, _, profile), at in zip(cases, range(0, len(done), trials), strict=True):
        found[what, profile.name] = done[at : at + trials]
    rows: list[list[Cell]] = [[what, name, *_figures(runs)] for (what, name), runs in found.items()]
    header = ["varied", "policy", "p95 ms", "mean ms", "failed", "moves"]
    title = f"Sock Shop at {latency:g} ms with {users} users, {trials} trial{'s' if trials > 1 else ''}"
    return Result("sophos-sensitivity", [Table(title, header, rows)], figures={"latency": latency, "users": users})


def variations(text: str) -> list[Case]:
    return [*_weights(text), *_sizes(text), *_replicas(text)]


def _weights(text: str) -> list[Case]:
    found = []
    for gamma in GAMMAS:
        terms = (Use("ResourceAware", gamma), Use("NetworkAware", round(1 - gamma, 2)))
        found.append((f"gamma {gamma:g}", text, _weighed(POLICIES["sophos"], terms)))
    sophos = POLICIES["sophos"]
    return found + [(f"alpha {each:g}", text, sophos.with_args("ResourceAware", alpha=each)) for each in ALPHAS]


def _weighed(profile: Profile, terms: tuple[Use, Use]) -> Profile:
    """The profile with other weights for the two terms, in placing and in moving."""
    weights = {use.name: use for use in terms}
    points = {
        point: tuple(weights.get(use.name, use) if point == "score" else use for use in uses)
        for point, uses in profile.points.items()
    }
    moving = None if profile.descheduler is None else replace(profile.descheduler, score=terms)
    return replace(profile, points=points, descheduler=moving)


def _sizes(text: str) -> list[Case]:
    return [
        (f"users' answers {word}", with_values(text, {"load.*.response": size}, file="sock-shop.yaml"), POLICIES[name])
        for word, size in SIZES.items()
        for name in NAMES
    ]


def _replicas(text: str) -> list[Case]:
    return [
        (
            f"{count} replica{'s' if count > 1 else ''}",
            with_values(text, {"application.services.*.replicas": count}, file="sock-shop.yaml"),
            POLICIES[name],
        )
        for count in REPLICAS
        for name in NAMES
    ]


def _figures(runs: Sequence[Run]) -> list[Cell]:
    p95 = mean(known(run.response_ms.p95 for run in runs))
    average = mean(known(run.response_ms.mean for run in runs))
    failed = sum(run.failed for run in runs) / max(1, sum(run.requests for run in runs))
    moves = mean([float(run.evictions) for run in runs])
    return [significant(p95, 4), significant(average, 4), f"{100 * failed:.2f} %", significant(moves, 4)]
