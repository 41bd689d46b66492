"""The other published applications as short experiments on a bed, beside the simulator's prediction of the same runs.

`pogonip-1 --on testbed`: the taxi application around its message queue on seven edge nodes. `communication-aware --on testbed`:
messages through a broker on four nodes. `kubedsm-means --on testbed`: the stress service with its four pod sizes, replica
counts as the published generator draws them. CPU is scaled to what a machine can offer, time is compressed.
"""

from __future__ import annotations

from dataclasses import replace

from ecotone.experiments.bed.campaign import Campaign, play_all, table
from ecotone.experiments.bed.fitting import smaller, with_room
from ecotone.experiments.bed.parts import chosen
from ecotone.experiments.bed.playing.contenders import ECOTONE, KUBE_DEFAULT, Contender
from ecotone.experiments.bed.scenarios import CONTROL, STARTUP
from ecotone.experiments.campaign.registry import Options, Result
from ecotone.sim.scenario import Scenario, load_scenario, read_scenario
from ecotone.sim.scenario.families.kubedsm import KubeDsm
from ecotone.sim.scenario.schema import Load

WARMUP, SECONDS, QUICK_SECONDS = 30.0, 60.0, 30.0
TAXI_USERS = 4
CYCLES = 3
STRESS = KubeDsm(1.5, 0.4)
POGONIP = Contender("pogonip", policy="pogonip")
COMMUNICATION = Contender("communication-aware", policy="communication-aware")
KUBEDSM = Contender("kubedsm", policy="kubedsm")


def run_taxi(options: Options) -> Result:
    title = "The taxi application of Pogonip on seven real nodes, and the simulator's prediction"
    return _run("taxi", title, taxi(_seconds(options)), (KUBE_DEFAULT, POGONIP, ECOTONE), options)


def run_messaging(options: Options) -> Result:
    title = "Messages through a real broker on four real nodes, and the simulator's prediction"
    return _run("messaging", title, messaging(_seconds(options)), (KUBE_DEFAULT, COMMUNICATION, ECOTONE), options)


def run_stress(options: Options) -> Result:
    title = "KubeDSM's stress pods on real nodes, and the simulator's prediction"
    return _run("stress", title, stress(_seconds(options)), (KUBE_DEFAULT, KUBEDSM, ECOTONE), options)


def _seconds(options: Options) -> float:
    return options.seconds or (QUICK_SECONDS if options.quick else SECONDS)


def _run(name: str, title: str, scenario: Scenario, contenders: tuple[Contender, ...], options: Options) -> Result:
    whole = {each.key: each for each in contenders}
    campaign = Campaign(
        f"testbed-{name}.json", with_room(scenario), options.seed, [each.name for each in contenders], told=scenario
    )
    play_all([(campaign, list(chosen(whole, options.only).values()))], options.runs or 1, options)
    figures = {"testbed": campaign.summary(), "simulator": campaign.expected()}
    return Result(f"{name} on the test bed", [table(title, [campaign])], [], figures)


def taxi(seconds: float) -> Scenario:
    """A bit less than half the published cores; four rides a second instead of one, so that a short run has enough of them."""
    published = smaller(load_scenario("pogonip-1"), cpu=0.45)
    (load,) = published.load
    return _compressed(published, "taxi-bed", (replace(load, users=TAXI_USERS),), seconds)


def messaging(seconds: float) -> Scenario:
    """A bit less than the published cores, and a third of the requests."""
    published = smaller(load_scenario("messaging"), cpu=0.9)
    load = tuple(replace(each, poisson=each.poisson / 3) for each in published.load)
    return _compressed(published, "messaging-bed", load, seconds)


def _compressed(scenario: Scenario, name: str, load: tuple[Load, ...], seconds: float) -> Scenario:
    """All loads from the beginning on; the first part is not counted."""
    warmup = min(WARMUP, 2 * seconds)
    whole = warmup + seconds
    services = tuple(replace(each, startup=STARTUP, grace=10.0) for each in scenario.application.services)
    return replace(
        scenario,
        name=name,
        warmup=warmup,
        duration=whole,
        load=tuple(replace(each, at=0.0, length=whole) for each in load),
        application=replace(scenario.application, services=services),
        control=CONTROL,
    )


def stress(seconds: float) -> Scenario:
    """A tenth of the cores, half the memory, three cycles of the published generator, a request a second for every replica."""
    published = smaller(read_scenario(STRESS.replayed(), file="stress.yaml"), cpu=0.1, memory=0.5)
    names = [service.name for service in published.application.services]
    warmup = min(WARMUP, 2 * seconds)
    starts = [0.0, *(warmup + number * seconds for number in range(CYCLES))]
    cycles = [dict.fromkeys(names, 1), *STRESS.cycles()[:CYCLES]]
    ends = [*starts[1:], warmup + CYCLES * seconds]
    first = {load.service: load for load in reversed(published.load)}
    load = tuple(
        replace(first[name], at=start, length=end - start, users=cycle[name])
        for name in names
        for start, end, cycle in zip(starts, ends, cycles, strict=True)
    )
    traces = {name: tuple((start, cycle[name]) for start, cycle in zip(starts, cycles, strict=True)) for name in names}
    services = tuple(replace(each, startup=STARTUP, grace=10.0) for each in published.application.services)
    return replace(
        published,
        name="stress-bed",
        warmup=warmup,
        duration=ends[-1],
        load=load,
        application=replace(published.application, services=services, traces=traces),
        control=CONTROL,
    )
