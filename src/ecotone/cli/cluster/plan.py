"""`ecotone plan`: every decision the policy would take now. Nothing is changed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Annotated, Any

import typer

from ecotone.cli.cluster import sources
from ecotone.cli.terminal.output import Output, OutputOption, note, notes, print_document, print_names, print_table
from ecotone.descheduling.staying import Stay
from ecotone.model.decisions import Bind, Decision, DeletionCost, Evict, Preempt, Wait
from ecotone.planning.plan import Plan, make_plan, plan_document

_HELP = """Shows all decisions the policy would take now, without taking them.

Binds of waiting pods; with --deschedule also the evictions of running pods that would be better off elsewhere, and for
every such pod that stays, why (`stays` in the JSON).

Examples:

    ecotone plan -f cluster.yaml

    kubectl get nodes,deploy,rs,pods -A -o yaml | ecotone plan -f - --policy sophos -o json

    ecotone plan -f nodes.yaml -f app.yaml --deschedule -n shop

    ecotone plan --deschedule --exit-code > /dev/null || echo "there is something to do"
"""
_LONGEST = 100
_MOST_STAYS = 10
_ALIKE = 3


def register(app: typer.Typer) -> None:
    app.command("plan", help=_HELP)(plan)


def plan(
    *,
    files: sources.Files = None,
    policy: sources.PolicyName = None,
    config: sources.ConfigFile = None,
    deschedule: Annotated[bool, typer.Option("--deschedule", help="Also move pods that already run.")] = False,
    namespace: sources.Namespace = None,
    all_namespaces: sources.AllNamespaces = False,
    output: OutputOption = Output.TABLE,
    now: sources.Now = None,
    max_age: sources.MaxAge = None,
    seed: sources.Seed = None,
    kubeconfig: sources.Kubeconfig = None,
    context: sources.Context = None,
    request_timeout: sources.RequestTimeout = sources.REQUEST_TIMEOUT,
    trust_annotations: sources.TrustAnnotations = False,
    strict: sources.Strict = False,
    application: sources.ApplicationFile = None,
    exit_code: Annotated[bool, typer.Option("--exit-code", help="Exit with 1 if there is anything to do.")] = False,
) -> None:
    profile = sources.chosen_policy(policy, config)
    source = sources.Source(
        files,
        kubeconfig,
        context,
        now,
        max_age,
        seed,
        application,
        request_timeout,
        strict,
        None if all_namespaces else namespace,
        trust_annotations,
    )
    made = make_plan(source.snapshot(), profile, moves=deschedule, namespace=None if all_namespaces else namespace)
    told = (*made.notes, *made.prices, *(f"would gain: {each}" for each in made.advice))
    for message in (*told, *(f"warning: {each}" for each in made.warnings)):
        note(str(message))
    if not output.structured:
        notes(_kept(made.stays), most=_MOST_STAYS if output is Output.TABLE else len(made.stays))
    show_plan(made, output)
    if exit_code and any(not isinstance(each, Wait) for each in made.decisions):
        raise typer.Exit(1)


def _kept(stays: Sequence[Stay]) -> list[str]:
    """A line for each pod that stays; one for all of them that one reason keeps, if there are many."""
    shared = Counter(each.why for each in stays)
    lines = {
        each.why if shared[each.why] > _ALIKE else each.pod: (
            f"{shared[each.why]} pods stay that would be better off elsewhere: {each.why}"
            if shared[each.why] > _ALIKE
            else str(each)
        )
        for each in stays
    }
    return list(lines.values())


def show_plan(made: Plan, output: Output) -> None:
    if output.structured:
        print_document(plan_document(made), output)
    elif output is Output.NAME:
        print_names(f"pod/{each.pod}" for each in made.decisions)
    else:
        print_table(("ACTION", "POD", "NODE", "WHY"), [_row(each, output) for each in made.decisions], output=output)
        _sum_up(made)


def _row(decision: Decision, output: Output) -> tuple[str, str, str, str]:
    why = (
        decision.why
        if output in (Output.WIDE, Output.CSV) or len(decision.why) <= _LONGEST
        else decision.why[: _LONGEST - 1] + "…"
    )
    match decision:
        case Bind():
            return "bind", decision.pod, decision.node, why
        case Evict():
            gain = f"gains {decision.gain:.4g} {decision.unit}: {why}" if decision.gain else why
            return "evict", decision.pod, f"{decision.origin} -> {decision.target}", gain
        case Preempt():
            return "preempt", decision.pod, decision.node, f"{why} (evicts {', '.join(decision.victims)})"
        case DeletionCost():
            return "deletion-cost", decision.pod, str(decision.cost), why
        case Wait():
            return "wait", decision.pod, "-", why


def _sum_up(made: Plan) -> None:
    note(summary_of(made.decisions))
    if made.survival is not None and made.redundancy:
        note(str(made.survival))
    before, after = made.objective.get("before"), made.objective.get("after")
    if isinstance(before, dict) and isinstance(after, dict):
        changed = [
            f"{name} {_figure(before[name])} -> {_figure(after[name])}" for name in after if before[name] != after[name]
        ]
        if changed:
            note(", ".join(changed))
    else:
        note(", ".join(f"{name} {_figure(value)}" for name, value in made.objective.items()))


def summary_of(decisions: Sequence[Decision]) -> str:
    """What the plan would do, in one line."""
    verbs = {
        Bind: "bind",
        Evict: "move",
        Preempt: "place by preemption",
        DeletionCost: "set the deletion cost of",
    }
    counts = {kind: sum(type(each) is kind for each in decisions) for kind in (*verbs, Wait)}
    does = ", ".join(f"{verb} {_pods(counts[kind])}" for kind, verb in verbs.items() if counts[kind])
    waits = f"{_pods(counts[Wait])} would wait" if counts[Wait] else ""
    said = "; ".join(part for part in (f"would {does}" if does else "", waits) if part)
    return f"{said or 'nothing to do'} (dry run)"


def _pods(count: int) -> str:
    return f"{count} pod{'' if count == 1 else 's'}"


def _figure(value: Any) -> str:
    if isinstance(value, dict):
        return "(" + ", ".join(f"{name} {_figure(each)}" for name, each in value.items()) + ")"
    return "unknown" if value is None else f"{value:.6g}"
