"""`ecotone experiment sophos --on testbed`: the thesis' application on six real nodes, compressed, beside the simulator.

For every latency and trial each contender plays the same scenario: Sock Shop from nothing, users who enter at three nodes one
after the other. The simulator plays the same scenario with the CPU that the bed's nodes really have and what sidecars cost.
Trials are paired: the same trial has the same order of pods and the same users for everybody.
"""

from __future__ import annotations

from collections.abc import Sequence

from ecotone.experiments.bed.campaign import Campaign, play_all, table
from ecotone.experiments.bed.fitting import with_infrastructure
from ecotone.experiments.bed.parts import chosen
from ecotone.experiments.bed.playing.contenders import ALL, ECOTONE, HIGH, KUBE_DEFAULT, LOW, SOPHOS, Contender
from ecotone.experiments.bed.playing.session import set_network
from ecotone.experiments.bed.plots import p95_bars
from ecotone.experiments.bed.scenarios import Schedule, sock_shop
from ecotone.experiments.campaign.registry import Options, Result

LATENCIES = (10.0, 100.0, 300.0)
PEER_LATENCY = 100.0  # where the upstream descheduler runs beside the others
INFRASTRUCTURE_CPU = 2000  # millicores
QUICK = Schedule(warmup=20.0, phase=30.0)


def run(options: Options) -> Result:
    latencies = [float(each) for each in options.latencies or LATENCIES]
    schedule = QUICK if options.quick else Schedule()
    if options.seconds is not None:
        schedule = schedule.with_phases_of(options.seconds)
    order = [each.name for each in ALL.values()]
    campaigns = [
        Campaign(
            f"testbed-sophos-{each:g}ms.json",
            with_infrastructure(sock_shop(each, schedule), cpu=INFRASTRUCTURE_CPU),
            options.seed,
            order,
            told=sock_shop(each, schedule),
        )
        for each in latencies
    ]
    wanted = [contenders_at(each, options) for each in latencies]
    trials = options.runs or (1 if options.quick else 3)
    play_all(list(zip(campaigns, wanted, strict=True)), trials, options, between=set_network)
    plots = []
    if options.report is not None:
        options.report.mkdir(parents=True, exist_ok=True)
        summaries = {each: campaign.summary() for each, campaign in zip(latencies, campaigns, strict=True)}
        plots.append(p95_bars(summaries, options.report / "testbed-sophos.svg"))
    title = "Sock Shop on six real nodes, and the simulator's prediction of the same runs"
    figures = {each.scenario.name: {"testbed": each.summary(), "simulator": each.expected()} for each in campaigns}
    return Result("sophos on the test bed", [table(title, campaigns)], [], figures, plots)


def contenders_at(latency: float, options: Options) -> Sequence[Contender]:
    """Those asked for by name; otherwise ours and kube-scheduler, and at one latency the upstream descheduler as well."""
    if options.only:
        return list(chosen(ALL, options.only).values())
    peers = (LOW, HIGH) if latency == PEER_LATENCY and not options.quick else ()
    return (KUBE_DEFAULT, SOPHOS, ECOTONE, *peers)
