"""``ecotone apply``: carries out, on a live cluster, what ``ecotone plan`` would show."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from ecotone.cli import sources
from ecotone.cli.output import Output, OutputOption, note, print_document, print_names, print_table

if TYPE_CHECKING:
    from ecotone.services.applying import Step
    from ecotone.services.applying_affinity import Tied

_HELP = """Carries out on a live cluster what `plan` shows: binds, and with --deschedule evictions.

Every write names the very pod it was decided for; one that changed meanwhile is left alone. With --dry-run the API server
checks each write and nothing is changed. The exit code is 1 if something could not be done.

With --affinity pods are not bound: the chosen nodes are written into the templates of their Deployments and StatefulSets
as required node affinity, and the controllers replace the pods. The choice then outlasts them, under any scheduler.

Examples:

    ecotone apply --dry-run

    ecotone apply --policy sophos --deschedule -n shop

    ecotone apply --policy pogonip-opt --affinity --dry-run
"""


def register(app: typer.Typer) -> None:
    app.command("apply", help=_HELP)(apply)


def apply(
    *,
    policy: sources.PolicyName = None,
    config: sources.ConfigFile = None,
    deschedule: Annotated[bool, typer.Option("--deschedule", help="Also move pods that already run.")] = False,
    affinity: Annotated[
        bool, typer.Option("--affinity", help="Write the nodes into the workloads' templates instead of binding pods.")
    ] = False,
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
    from ecotone.model.errors import InputError
    from ecotone.placement.plan import make_plan
    from ecotone.services.applying import carry_out
    from ecotone.services.applying_affinity import tie_to_nodes

    if affinity and deschedule:
        raise InputError("--affinity and --deschedule exclude each other", hint="a changed template replaces the pods")
    profile = sources.chosen_policy(policy, config)
    snapshot = sources.Source(None, kubeconfig, context, None, max_age, seed).snapshot()
    plan = make_plan(snapshot, profile, moves=deschedule, namespace=None if all_namespaces else namespace)

    async def run() -> list[Step] | list[Tied]:
        connection = connect(kubeconfig=None if kubeconfig is None else str(kubeconfig), context=context)
        async with ApiClient(connection, user_agent="ecotone-apply") as client:
            if affinity:
                return [each async for each in tie_to_nodes(client, snapshot, plan.decisions, rehearse=dry_run)]
            return [step async for step in carry_out(client, snapshot, plan.decisions, rehearse=dry_run)]

    steps = asyncio.run(run())
    if output.structured:
        document = {"policy": plan.policy, "dryRun": dry_run, "steps": [one.told() for one in steps]}
        print_document(document, output)
    elif output is Output.NAME:
        print_names(one.name for one in steps)
    else:
        rows = [_row(one.name, one.told()) for one in steps]
        print_table(("ACTION", "WORKLOAD" if affinity else "POD", "NODE", "RESULT", "DETAIL"), rows)
    failed = sum(not one.done for one in steps)
    note(f"{len(steps) - failed} of {len(steps)} steps {'would be ' if dry_run else ''}done")
    if failed:
        raise typer.Exit(1)


def _row(name: str, told: dict[str, Any]) -> tuple[str, ...]:
    where = ",".join(told["nodes"]) if "nodes" in told else told["node"]
    return (told["action"], name.removeprefix("pod/"), where, "done" if told["done"] else "not done", told["detail"])
