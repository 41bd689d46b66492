"""``ecotone apply``: carries out, on a live cluster, what ``ecotone plan`` would show."""

from __future__ import annotations

from typing import Annotated

import typer

from ecotone.cli import sources
from ecotone.cli.output import Output, OutputOption, note, print_document, print_names, print_table

_HELP = """Carries out on a live cluster what `plan` shows: binds, and with --deschedule evictions.

Every write names the very pod it was decided for; one that changed meanwhile is left alone. With --dry-run the API server
checks each write and nothing is changed. The exit code is 1 if something could not be done.

Examples:

    ecotone apply --dry-run

    ecotone apply --policy sophos --deschedule -n shop
"""


def register(app: typer.Typer) -> None:
    app.command("apply", help=_HELP)(apply)


def apply(
    *,
    policy: sources.PolicyName = None,
    config: sources.ConfigFile = None,
    deschedule: Annotated[bool, typer.Option("--deschedule", help="Also move pods that already run.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Let the API server check; change nothing.")] = False,
    namespace: sources.Namespace = None,
    all_namespaces: sources.AllNamespaces = False,
    output: OutputOption = Output.TABLE,
    max_age: sources.MaxAge = None,
    seed: sources.Seed = None,
    kubeconfig: sources.Kubeconfig = None,
    context: sources.Context = None,
) -> None:
    import asyncio

    from ecotone.kube.client import ApiClient
    from ecotone.kube.kubeconfig import connect
    from ecotone.placement.plan import make_plan
    from ecotone.services.applying import Step, carry_out

    profile = sources.chosen_policy(policy, config)
    snapshot = sources.Source(None, kubeconfig, context, None, max_age, seed).snapshot()
    plan = make_plan(snapshot, profile, moves=deschedule, namespace=None if all_namespaces else namespace)

    async def run() -> list[Step]:
        connection = connect(kubeconfig=None if kubeconfig is None else str(kubeconfig), context=context)
        async with ApiClient(connection, user_agent="ecotone-apply") as client:
            return [step async for step in carry_out(client, snapshot, plan.decisions, rehearse=dry_run)]

    steps = asyncio.run(run())
    if output.structured:
        told = [
            {"action": one.action, "pod": one.pod, "node": one.target, "done": one.done, "detail": one.detail}
            for one in steps
        ]
        print_document({"policy": plan.policy, "dryRun": dry_run, "steps": told}, output)
    elif output is Output.NAME:
        print_names(f"pod/{one.pod}" for one in steps)
    else:
        rows = [(one.action, one.pod, one.target, "done" if one.done else "not done", one.detail) for one in steps]
        print_table(("ACTION", "POD", "NODE", "RESULT", "DETAIL"), rows)
    failed = sum(not one.done for one in steps)
    note(f"{len(steps) - failed} of {len(steps)} steps {'would be ' if dry_run else ''}done")
    if failed:
        raise typer.Exit(1)
