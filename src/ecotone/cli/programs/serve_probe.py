"""``ecotone serve probe``: what the network between nodes is like."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from ecotone.cli.programs.logs import set_up_logging
from ecotone.cli.programs.shared_options import Context, Kubeconfig, Verbose


def probe(
    *,
    node: Annotated[
        str, typer.Option("--node", envvar="NODE_NAME", help="Name of the node this probe runs on.", show_default=False)
    ],
    targets: Annotated[
        Path | None,
        typer.Option("--targets", help="JSON file, node name -> address; the probe's own pods if left out."),
    ] = None,
    listen: Annotated[str, typer.Option("--listen", help="ADDRESS:PORT of all endpoints.")] = "0.0.0.0:9464",
    peer_port: Annotated[
        int | None, typer.Option(min=1, max=65535, help="Port of the other probes (default: the own one).")
    ] = None,
    namespace: Annotated[
        str | None, typer.Option("-n", "--namespace", envvar="POD_NAMESPACE", help="Namespace of the probe's pods.")
    ] = None,
    selector: Annotated[
        str, typer.Option("-l", "--selector", help="Labels of the probe's pods.")
    ] = "app.kubernetes.io/name=ecotone-probe",
    interval: Annotated[float, typer.Option(min=0.1, help="Seconds in which each target is probed.")] = 5.0,
    count: Annotated[int, typer.Option(min=1, max=100, help="Probes per target and interval.")] = 5,
    rate: Annotated[float, typer.Option(min=1.0, help="Probes a second at most.")] = 200.0,
    timeout: Annotated[float, typer.Option(min=0.05, max=10.0, help="Seconds after which a probe is lost.")] = 2.0,
    icmp: Annotated[bool, typer.Option(help="ICMP where allowed; TCP connections otherwise.")] = True,
    bandwidth_interval: Annotated[
        float, typer.Option(min=0.0, help="Seconds between two short transfers; 0 switches them off.")
    ] = 600.0,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
    verbose: Verbose = False,
) -> None:
    """Measure round trips, jitter, loss and bandwidth to the other nodes.

    One per node. ICMP needs no privilege where net.ipv4.ping_group_range holds the group; without it the time of a TCP
    handshake with the peer's endpoint is taken. Above 64 nodes each probes a sample and keeps network coordinates.

    Examples:

        ecotone serve probe --node edge-1

        ecotone serve probe --node edge-1 --targets targets.json --listen 127.0.0.1:9464
    """
    set_up_logging(verbose)
    from ecotone.services.endpoints import parse_listen
    from ecotone.services.probe.program import serve
    from ecotone.services.probe.settings import ProbeSettings

    settings = ProbeSettings(
        node=node,
        listen=listen,
        peer_port=peer_port or parse_listen(listen)[1],
        targets=targets,
        namespace=namespace or os.environ.get("POD_NAMESPACE", "") or "kube-system",
        selector=selector,
        interval=interval,
        count=count,
        rate=rate,
        timeout=timeout,
        icmp=icmp,
        bandwidth_interval=bandwidth_interval,
    )
    serve(settings, kubeconfig=kubeconfig, context=context)


def register(serve_app: typer.Typer) -> None:
    serve_app.command("probe")(probe)
