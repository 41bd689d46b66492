"""``ecotone serve``: the long-running programs."""

from __future__ import annotations

import inspect
from dataclasses import fields
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer

from ecotone.cli.programs.logs import set_up_logging
from ecotone.cli.programs.scheduler_options import SchedulerOptions, start
from ecotone.cli.programs.shared_options import AllowHost, Context, Kubeconfig, TrustAnnotations, Verbose

serve_app = typer.Typer(no_args_is_help=True, help="Run one of the long-running programs.")


def _scheduler_parameters() -> list[inspect.Parameter]:
    """The fields of the scheduler's options as typer reads them."""
    types = get_type_hints(SchedulerOptions)
    return [
        inspect.Parameter(
            each.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=typer.Option(
                each.default, *each.metadata["names"], help=each.metadata["help"], min=each.metadata["min"]
            ),
            annotation=types[each.name],
        )
        for each in fields(SchedulerOptions)
    ]


def scheduler(**given: Any) -> None:
    """Schedule pods on a live cluster.

    Examples:

        ecotone serve scheduler --scheduler-name ecotone --policy ecotone

        ecotone serve scheduler --config profiles.yaml --leader-elect --listen 127.0.0.1:10360
    """
    start(SchedulerOptions(**given))


def _offer_scheduler(app: typer.Typer) -> None:
    parameters = _scheduler_parameters()
    vars(scheduler)["__signature__"] = inspect.Signature(parameters)
    scheduler.__annotations__ = {each.name: each.annotation for each in parameters}
    app.command("scheduler")(scheduler)


_offer_scheduler(serve_app)


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
    trust_annotations: TrustAnnotations = False,
    allow_host: AllowHost = None,
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
    from ecotone.services.extender.settings import ExtenderSettings
    from ecotone.services.http.tokens import read_token

    settings = ExtenderSettings(
        policy=policy,
        listen=listen,
        max_age=max_age,
        allow_bind=allow_bind,
        bind_token=None if bind_token_file is None else read_token(bind_token_file, option="--bind-token-file"),
        certificate=tls_cert,
        key=tls_key,
        client_ca=client_ca,
        trust_annotations=trust_annotations,
        allowed_hosts=tuple(allow_host or ()),
    )
    serve(connect(kubeconfig=kubeconfig, context=context), settings)


def register(app: typer.Typer) -> None:
    from ecotone.cli.programs import serve_descheduler, serve_monitor, serve_probe, serve_resolver

    for program in (serve_descheduler, serve_monitor, serve_probe, serve_resolver):
        program.register(serve_app)
    app.add_typer(serve_app, name="serve")
