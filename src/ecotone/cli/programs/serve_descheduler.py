"""``ecotone serve descheduler``: the closed loop's last part, from measurements to moves."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ecotone.cli.programs.logs import set_up_logging
from ecotone.cli.programs.scheduler_options import lease_times, own_identity
from ecotone.cli.programs.shared_options import (
    AllowHost,
    Context,
    Kubeconfig,
    LeaderElect,
    LeaseDuration,
    LeaseRenewDeadline,
    LeaseRetryPeriod,
    Listen,
    MetricsTokenFile,
    TrustAnnotations,
    Verbose,
    metrics_token,
)
from ecotone.cli.programs.source_options import Reporter, TrustPrometheus, trust


def descheduler(
    *,
    policy: Annotated[str | None, typer.Option("--policy", help="A policy by name; see `ecotone policies`.")] = None,
    config: Annotated[Path | None, typer.Option("--config", help="A scheduler configuration with one profile.")] = None,
    scheduler_name: Annotated[
        str, typer.Option("--scheduler-name", help="Pods of this scheduler are moved.")
    ] = "ecotone",
    prometheus: Annotated[
        str | None, typer.Option("--prometheus", help="Address of Prometheus: whether objectives (slo) are met.")
    ] = None,
    prometheus_token_file: Annotated[Path | None, typer.Option(help="Token for Prometheus, read anew.")] = None,
    prometheus_ca: Annotated[Path | None, typer.Option(help="Certificates that Prometheus' must come from.")] = None,
    trust_prometheus: TrustPrometheus = False,
    reporter: Reporter = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print what would be moved; change nothing.")] = False,
    leader_elect: LeaderElect = False,
    lease_namespace: Annotated[str, typer.Option(help="Namespace of the leases.")] = "kube-system",
    lease_name: Annotated[str, typer.Option(help="Name of the lease.")] = "ecotone-descheduler",
    lease_duration: LeaseDuration = 15.0,
    lease_renew_deadline: LeaseRenewDeadline = 10.0,
    lease_retry_period: LeaseRetryPeriod = 2.0,
    scheduler_lease: Annotated[
        str, typer.Option(help="Lease of the scheduler; nothing moves while it is not renewed. Empty: not looked at.")
    ] = "ecotone-scheduler",
    exclude_namespace: Annotated[
        list[str] | None, typer.Option("--exclude-namespace", help="Nothing moves there. Repeat; kube-system always.")
    ] = None,
    only_namespace: Annotated[
        list[str] | None, typer.Option("--only-namespace", help="Moves are made there alone. Repeat.")
    ] = None,
    max_age: Annotated[float, typer.Option(help="Seconds after which a measurement counts as unknown.")] = 300.0,
    ready_seconds: Annotated[float, typer.Option(help="Seconds in which a replacement must become ready.")] = 120.0,
    request_timeout: Annotated[float, typer.Option(help="Seconds a request to the API server may take.")] = 10.0,
    trust_annotations: TrustAnnotations = False,
    allow_host: AllowHost = None,
    metrics_token_file: MetricsTokenFile = None,
    listen: Listen = None,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
    verbose: Verbose = False,
) -> None:
    """Move running pods of every AppGroup to where they would be better off.

    Examples:

        ecotone serve descheduler --policy ecotone --dry-run

        ecotone serve descheduler --leader-elect --listen 127.0.0.1:10364
    """
    set_up_logging(verbose)
    from ecotone.kube.kubeconfig import connect
    from ecotone.services.descheduler.program import serve
    from ecotone.services.descheduler.settings import DeschedulerProgramSettings
    from ecotone.services.scheduler.profiles import choose_profiles
    from ecotone.telemetry.prometheus import PrometheusSettings

    lease = lease_times(lease_duration, lease_renew_deadline, lease_retry_period)
    profiles = choose_profiles(names=[scheduler_name], policy=policy, config=config)
    settings = DeschedulerProgramSettings(
        profile=profiles[scheduler_name],
        identity=own_identity(),
        dry_run=dry_run,
        leader_elect=leader_elect,
        lease=lease,
        lease_namespace=lease_namespace,
        lease_name=lease_name,
        scheduler_lease=scheduler_lease,
        excluded_namespaces=frozenset({"kube-system", *(exclude_namespace or ())}),
        only_namespaces=frozenset(only_namespace or ()),
        max_age=max_age,
        ready_seconds=ready_seconds,
        request_timeout=request_timeout,
        prometheus=None
        if prometheus is None
        else PrometheusSettings(prometheus, token_file=prometheus_token_file, ca_file=prometheus_ca),
        trust_annotations=trust_annotations,
        trust=trust(trust_prometheus, reporter),
        allowed_hosts=tuple(allow_host or ()),
        metrics_token=metrics_token(metrics_token_file),
    )
    serve(connect(kubeconfig=kubeconfig, context=context), settings, listen=listen)


def register(serve_app: typer.Typer) -> None:
    serve_app.command("descheduler")(descheduler)
