"""``ecotone serve resolver``: whole-application placement over HTTP."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ecotone.model.errors import InputError


def resolver(
    *,
    listen: Annotated[str, typer.Option("--listen", help="ADDRESS:PORT of all endpoints.")] = "127.0.0.1:10362",
    workers: Annotated[int, typer.Option(min=1, max=64, help="Solver processes.")] = 2,
    waiting: Annotated[int, typer.Option(min=1, help="Jobs that may wait before requests are turned away.")] = 200,
    wait: Annotated[float, typer.Option(min=0.0, help="Seconds until a request becomes a job to ask for.")] = 15.0,
    memory: Annotated[int, typer.Option(min=256, help="MiB of address space of a solver process.")] = 4096,
    token_file: Annotated[
        Path | None, typer.Option(help="File with the bearer token that requests must carry; none if left out.")
    ] = None,
) -> None:
    """Place applications that are posted as JSON; the contract is at /v1/openapi.json.

    Examples:

        ecotone serve resolver --listen 127.0.0.1:10362

        curl -s -H 'Content-Type: application/json' -d @problem.json http://127.0.0.1:10362/v1/placements
    """
    from ecotone.cli.programs.logs import set_up_logging
    from ecotone.services.resolver.jobs import JobLimits
    from ecotone.services.resolver.service import ResolverSettings, serve

    token = None
    if token_file is not None:
        try:
            token = token_file.read_text(encoding="utf-8").strip()
        except OSError as error:
            raise InputError(f"cannot read the token: {error.strerror}", file=str(token_file)) from None
        if not token:
            raise InputError("the token file is empty", file=str(token_file))
    set_up_logging(verbose=False)
    limits = JobLimits(workers=workers, waiting=waiting, memory=memory << 20)
    serve(ResolverSettings(limits=limits, wait=wait, token=token), listen=listen)


def register(serve_app: typer.Typer) -> None:
    serve_app.command("resolver")(resolver)
