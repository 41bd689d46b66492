"""``ecotone cleanup``: takes off a cluster what Ecotone wrote onto other objects."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ecotone.cli.terminal.output import note

_HELP = """Remove Ecotone's annotations from nodes, workloads and ReplicaSets, and its reservations and leases.

For use after uninstalling, with the programs stopped. What owners wrote themselves (tiers, prices, QoS targets, channel
priorities) stays. One line for each removal on stdout.

Examples:

    ecotone cleanup --dry-run

    ecotone manifests | kubectl delete -f - --ignore-not-found; ecotone cleanup
"""


def cleanup(
    *,
    namespace: Annotated[
        str, typer.Option("--namespace", "-n", help="Where the programs ran (their leases).")
    ] = "kube-system",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print what would be removed; change nothing.")] = False,
    kubeconfig: Annotated[Path | None, typer.Option("--kubeconfig", help="Path to a kubeconfig file.")] = None,
    context: Annotated[str | None, typer.Option("--context", help="Context of the kubeconfig to use.")] = None,
) -> None:
    import asyncio

    from ecotone.kube.client import ApiClient
    from ecotone.kube.kubeconfig import connect
    from ecotone.services.install.cleanup import Removal
    from ecotone.services.install.cleanup import cleanup as clean

    async def run() -> list[Removal]:
        connection = connect(kubeconfig=None if kubeconfig is None else str(kubeconfig), context=context)
        async with ApiClient(connection, user_agent="ecotone-cleanup") as client:
            return await clean(client, namespace=namespace, dry_run=dry_run)

    done = asyncio.run(run())
    for removal in done:
        typer.echo(str(removal))
    note(f"{'would remove' if dry_run else 'removed'} {len(done)} things")


def register(app: typer.Typer) -> None:
    app.command("cleanup", help=_HELP)(cleanup)
