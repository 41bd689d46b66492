"""``ecotone serve monitor``: measurements become annotations."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ecotone.cli.programs.logs import set_up_logging
from ecotone.cli.programs.scheduler_options import lease_times, own_identity
from ecotone.cli.programs.shared_options import (
    Context,
    Kubeconfig,
    LeaderElect,
    LeaseDuration,
    LeaseRenewDeadline,
    LeaseRetryPeriod,
    Listen,
    MetricsTokenFile,
    Verbose,
    WatchSilence,
    metrics_token,
)
from ecotone.cli.programs.source_options import PROBE, Probe, Reporter, TrustPrometheus, trust
from ecotone.model.errors import InputError


def monitor(
    *,
    prometheus: Annotated[str, typer.Option("--prometheus", help="Address of Prometheus.", show_default=False)],
    prometheus_token_file: Annotated[
        Path | None, typer.Option(help="File with the bearer token for Prometheus (https only).")
    ] = None,
    prometheus_ca: Annotated[
        Path | None, typer.Option(help="Certificates that Prometheus' own is checked with.")
    ] = None,
    prometheus_timeout: Annotated[float, typer.Option(min=0.1, help="Seconds a question may take.")] = 10.0,
    cluster: Annotated[bool, typer.Option("--cluster/--no-cluster", help="Measure nodes (Cluster resources).")] = True,
    applications: Annotated[
        bool, typer.Option("--applications/--no-applications", help="Measure workloads (AppGroup resources).")
    ] = True,
    window: Annotated[
        str, typer.Option("--window", help="Time over which is averaged; at least four scrapes. spec.window wins.")
    ] = "2m",
    max_age: Annotated[float, typer.Option(min=10.0, help="Seconds after which readers distrust a value.")] = 300.0,
    trust_prometheus: TrustPrometheus = False,
    reporter: Reporter = None,
    probe: Probe = PROBE,
    leader_elect: LeaderElect = False,
    lease_namespace: Annotated[str, typer.Option(help="Namespace of the lease.")] = "kube-system",
    lease_name: Annotated[str, typer.Option(help="Name of the lease.")] = "ecotone-monitor",
    lease_duration: LeaseDuration = 15.0,
    lease_renew_deadline: LeaseRenewDeadline = 10.0,
    lease_retry_period: LeaseRetryPeriod = 2.0,
    watch_silence: WatchSilence = 150.0,
    metrics_token_file: MetricsTokenFile = None,
    listen: Listen = None,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
    verbose: Verbose = False,
) -> None:
    """Read a Prometheus and write what it measured as annotations on nodes and workloads.

    A Cluster resource activates the measuring of nodes, an AppGroup resource that of an application's workloads. Nothing is
    written without one. Series count only from whom they are about, or from a --reporter.

    Examples:

        ecotone serve monitor --prometheus http://prometheus.monitoring:9090

        ecotone serve monitor --prometheus http://prometheus.monitoring:9090 --reporter monitoring/node-exporter

        ecotone serve monitor --prometheus http://127.0.0.1:9090 --trust-prometheus --no-applications --window 1m
    """
    set_up_logging(verbose)
    from ecotone.kube.kubeconfig import connect
    from ecotone.services.monitor.annotations import Rules
    from ecotone.services.monitor.program import serve
    from ecotone.services.monitor.settings import MonitorSettings
    from ecotone.telemetry.prometheus import PrometheusSettings
    from ecotone.telemetry.window import parse_window

    if not cluster and not applications:
        raise InputError("nothing is left to monitor", hint="leave out --no-cluster or --no-applications")
    lease = lease_times(lease_duration, lease_renew_deadline, lease_retry_period)
    settings = MonitorSettings(
        prometheus=PrometheusSettings(
            prometheus, token_file=prometheus_token_file, ca_file=prometheus_ca, timeout=prometheus_timeout
        ),
        identity=own_identity(),
        cluster=cluster,
        applications=applications,
        window=parse_window(window),
        rules=Rules(max_age=max_age),
        leader_elect=leader_elect,
        lease=lease,
        lease_namespace=lease_namespace,
        lease_name=lease_name,
        silence=watch_silence,
        trust=trust(trust_prometheus, reporter, probe),
        metrics_token=metrics_token(metrics_token_file),
    )
    serve(connect(kubeconfig=kubeconfig, context=context), settings, listen=listen)


def register(serve_app: typer.Typer) -> None:
    serve_app.command("monitor")(monitor)
