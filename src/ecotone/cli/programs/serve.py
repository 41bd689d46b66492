"""``ecotone serve``: the long-running programs."""

from __future__ import annotations

import logging
import os
import socket
import sys
from pathlib import Path
from typing import Annotated

import typer

serve_app = typer.Typer(no_args_is_help=True, help="Run one of the long-running programs.")

Kubeconfig = Annotated[str | None, typer.Option("--kubeconfig", help="Path to a kubeconfig file.")]
Context = Annotated[str | None, typer.Option("--context", help="Context of the kubeconfig to use.")]
Listen = Annotated[
    str | None, typer.Option("--listen", help="ADDRESS:PORT of /metrics, /healthz and /readyz; none if left out.")
]
Verbose = Annotated[bool, typer.Option("--verbose", "-v", help="Log every step.")]


def set_up_logging(verbose: bool) -> None:
    logging.basicConfig(
        stream=sys.stderr,
        level=logging.DEBUG if verbose else logging.INFO,
        format="%(asctime)s %(levelname)s %(name)s: %(message)s",
    )
    logging.getLogger("asyncio").setLevel(logging.WARNING)


@serve_app.command("scheduler")
def scheduler(
    *,
    scheduler_name: Annotated[
        list[str] | None,
        typer.Option("--scheduler-name", help="Pods that name this scheduler are ours. Repeat for several."),
    ] = None,
    policy: Annotated[str | None, typer.Option("--policy", help="A policy by name; see `ecotone policies`.")] = None,
    config: Annotated[
        Path | None, typer.Option("--config", help="A scheduler configuration with one or more profiles.")
    ] = None,
    leader_elect: Annotated[bool, typer.Option("--leader-elect", help="Only one of several replicas acts.")] = False,
    lease_namespace: Annotated[str, typer.Option(help="Namespace of the lease.")] = "kube-system",
    lease_name: Annotated[str, typer.Option(help="Name of the lease.")] = "ecotone-scheduler",
    lease_duration: Annotated[float, typer.Option(help="Seconds until a silent leader is replaced.")] = 15.0,
    lease_renew_deadline: Annotated[float, typer.Option(help="Seconds a leader acts without renewing.")] = 10.0,
    lease_retry_period: Annotated[float, typer.Option(help="Seconds between attempts.")] = 2.0,
    request_timeout: Annotated[float, typer.Option(help="Seconds a binding may take; below the renew deadline.")] = 5.0,
    bindings: Annotated[int, typer.Option(min=1, help="Bindings under way at a time.")] = 128,
    batch: Annotated[int, typer.Option(min=1, help="Pods decided in one round.")] = 128,
    never_violate_budgets: Annotated[
        bool, typer.Option(help="Preemption never takes a pod whose disruption budget is spent.")
    ] = False,
    max_age: Annotated[float, typer.Option(help="Seconds after which a measurement counts as unknown.")] = 300.0,
    seed: Annotated[int, typer.Option(help="Seed of the draw among equal nodes.")] = 0,
    watch_silence: Annotated[float, typer.Option(help="Seconds of silence after which a watch is replaced.")] = 150.0,
    trust_loopback: Annotated[
        bool, typer.Option("--trust-loopback", help="Show /decisions to callers from this machine without a token.")
    ] = False,
    allow_host: Annotated[
        list[str] | None, typer.Option("--allow-host", help="A further name under which callers may reach it. Repeat.")
    ] = None,
    explain_binds: Annotated[bool, typer.Option(help="Write the reason into each pod (ecotone.dev/why).")] = True,
    listen: Listen = None,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
    verbose: Verbose = False,
) -> None:
    """Schedule pods on a live cluster.

    Examples:

        ecotone serve scheduler --scheduler-name ecotone --policy ecotone

        ecotone serve scheduler --config profiles.yaml --leader-elect --listen 127.0.0.1:10360
    """
    set_up_logging(verbose)
    from ecotone.kube.kubeconfig import connect
    from ecotone.kube.lease import LeaseTimes
    from ecotone.model.errors import InputError
    from ecotone.services.scheduler.profiles import choose_profiles
    from ecotone.services.scheduler.program import serve
    from ecotone.services.scheduler.settings import SchedulerSettings

    try:
        lease = LeaseTimes(lease_duration, lease_renew_deadline, lease_retry_period)
    except ValueError as error:
        raise InputError(
            str(error), hint="see --lease-duration, --lease-renew-deadline, --lease-retry-period"
        ) from None
    settings = SchedulerSettings(
        profiles=choose_profiles(
            names=scheduler_name or [], policy=policy, config=config, never_violate_budgets=never_violate_budgets
        ),
        leader_elect=leader_elect,
        lease=lease,
        lease_namespace=lease_namespace,
        lease_name=lease_name,
        identity=f"{socket.gethostname()}_{os.getpid()}",
        round_size=batch,
        bindings_in_flight=bindings,
        request_timeout=request_timeout,
        max_age=max_age,
        seed=seed,
        trust_loopback=trust_loopback,
        allowed_hosts=tuple(allow_host or ()),
        silence=watch_silence,
        explain_binds=explain_binds,
    )
    serve(connect(kubeconfig=kubeconfig, context=context), settings, listen=listen)


@serve_app.command("extender")
def extender(
    *,
    policy: Annotated[str, typer.Option("--policy", help="The policy whose score is handed out.")] = "ecotone",
    listen: Annotated[str, typer.Option("--listen", help="ADDRESS:PORT of all endpoints.")] = "127.0.0.1:10361",
    max_age: Annotated[float, typer.Option(help="Seconds after which a measurement counts as unknown.")] = 300.0,
    allow_bind: Annotated[
        bool, typer.Option("--allow-bind", help="Answer /bind, too; callers need a certificate or a token.")
    ] = False,
    bind_token_file: Annotated[
        Path | None, typer.Option("--bind-token-file", help="File with the token that callers of /bind send.")
    ] = None,
    tls_cert: Annotated[Path | None, typer.Option("--tls-cert", help="Serve https with this certificate.")] = None,
    tls_key: Annotated[Path | None, typer.Option("--tls-key", help="The certificate's key.")] = None,
    client_ca: Annotated[
        Path | None, typer.Option("--client-ca", help="Callers of /bind prove themselves by certificates of this CA.")
    ] = None,
    allow_host: Annotated[
        list[str] | None, typer.Option("--allow-host", help="A further name under which callers may reach it. Repeat.")
    ] = None,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
    verbose: Verbose = False,
) -> None:
    """Answer a stock kube-scheduler's filter, prioritize and preempt calls, and bind calls if allowed.

    Example:

        ecotone serve extender --policy ecotone --listen 127.0.0.1:10361

    `ecotone manifests extender` prints the configuration to paste.
    """
    set_up_logging(verbose)
    from ecotone.kube.kubeconfig import connect
    from ecotone.services.extender.program import serve
    from ecotone.services.extender.settings import ExtenderSettings, read_token

    settings = ExtenderSettings(
        policy=policy,
        listen=listen,
        max_age=max_age,
        allow_bind=allow_bind,
        bind_token=None if bind_token_file is None else read_token(bind_token_file),
        certificate=tls_cert,
        key=tls_key,
        client_ca=client_ca,
        allowed_hosts=tuple(allow_host or ()),
    )
    serve(connect(kubeconfig=kubeconfig, context=context), settings)


def register(app: typer.Typer) -> None:
    from ecotone.cli.programs import serve_descheduler, serve_monitor, serve_probe, serve_resolver

    for program in (serve_descheduler, serve_monitor, serve_probe, serve_resolver):
        program.register(serve_app)
    app.add_typer(serve_app, name="serve")
