"""``ecotone apply``: carries out, on a live cluster, what ``ecotone plan`` would show."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from ecotone.cli.cluster import sources
from ecotone.cli.terminal.output import Output, OutputOption, note, print_document, print_names, print_table

if TYPE_CHECKING:
    from ecotone.services.apply.advice import Setting
    from ecotone.services.apply.node_affinity import Tied
    from ecotone.services.apply.plan import Step

_HELP = """Carries out on a live cluster what `plan` shows: binds, and with --deschedule evictions.

Every write names the very pod it was decided for; one that changed meanwhile is left alone. With --dry-run the API server
checks each write and nothing is changed. The exit code is 1 if something could not be done.

With --affinity pods are not bound: the chosen nodes are written into the templates of their Deployments and StatefulSets
as required node affinity, and the controllers replace the pods. The choice then outlasts them, under any scheduler.

With --traffic-distribution and --replicas what `plan --deschedule` says would gain is set as well: PreferSameNode on the
Services it names, and the number of replicas of the workloads it names.

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
    traffic_distribution: Annotated[
        bool, typer.Option("--traffic-distribution", help="Also set trafficDistribution where the plan says it gains.")
    ] = False,
    replicas: Annotated[
        bool, typer.Option("--replicas", help="Also set numbers of replicas where the plan says it gains.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Let the API server check; change nothing.")] = False,
    namespace: sources.Namespace = None,
    all_namespaces: sources.AllNamespaces = False,
    output: OutputOption = Output.TABLE,
    max_age: sources.MaxAge = None,
    seed: sources.Seed = None,
    kubeconfig: sources.Kubeconfig = None,
    context: sources.Context = None,
    request_timeout: sources.RequestTimeout = sources.REQUEST_TIMEOUT,
    trust_annotations: sources.TrustAnnotations = False,
) -> None:
    import asyncio

    from ecotone.kube.client import ApiClient
    from ecotone.kube.kubeconfig import connect
    from ecotone.model.errors import InputError
    from ecotone.planning.plan import make_plan
    from ecotone.services.apply.advice import follow
    from ecotone.services.apply.node_affinity import tie_to_nodes
    from ecotone.services.apply.plan import carry_out

    if affinity and deschedule:
        raise InputError("--affinity and --deschedule exclude each other", hint="a changed template replaces the pods")
    if (traffic_distribution or replicas) and not deschedule:
        raise InputError("what would gain is known only with --deschedule", hint="add --deschedule")
    profile = sources.chosen_policy(policy, config)
    snapshot = sources.Source(
        None,
        kubeconfig,
        context,
        None,
        max_age,
        seed,
        request_timeout=request_timeout,
        trust_annotations=trust_annotations,
    ).snapshot()
    plan = make_plan(snapshot, profile, moves=deschedule, namespace=None if all_namespaces else namespace)

    async def run() -> list[Step | Tied | Setting]:
        connection = connect(kubeconfig=None if kubeconfig is None else str(kubeconfig), context=context)
        async with ApiClient(
            connection, user_agent="ecotone-apply", timeout=sources.timeout_of(request_timeout)
        ) as client:
            if affinity:
                return [each async for each in tie_to_nodes(client, snapshot, plan.decisions, rehearse=dry_run)]
            found: list[Step | Tied | Setting] = [
                step async for step in carry_out(client, snapshot, plan.decisions, rehearse=dry_run)
            ]
            wanted = follow(client, plan.advice, traffic=traffic_distribution, replicas=replicas, rehearse=dry_run)
            return found + [each async for each in wanted]

    steps = asyncio.run(run())
    if output.structured:
        printed = {"policy": plan.policy, "dryRun": dry_run, "steps": [one.as_document() for one in steps]}
        print_document(printed, output)
    elif output is Output.NAME:
        print_names(one.name for one in steps)
    else:
        rows = [_row(one.name, one.as_document()) for one in steps]
        print_table(("ACTION", "WORKLOAD" if affinity else "POD", "NODE", "RESULT", "DETAIL"), rows, output=output)
    failed = sum(not one.done for one in steps)
    note(f"{len(steps) - failed} of {len(steps)} steps {'would be ' if dry_run else ''}done")
    if failed:
        raise typer.Exit(1)


def _row(name: str, document: dict[str, Any]) -> tuple[str, ...]:
    where = ",".join(document["nodes"]) if "nodes" in document else document.get("node", "-")
    detail = document["detail"]
    if document["action"] == "set":
        key = "trafficDistribution" if "trafficDistribution" in document else "replicas"
        detail = f"{key}: {document[key]}" + (f" ({detail})" if detail else "")
    return (
        document["action"],
        name.removeprefix("pod/"),
        where,
        "done" if document["done"] else "not done",
        detail,
    )
