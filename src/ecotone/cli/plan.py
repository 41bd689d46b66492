"""`ecotone plan`: every decision the policy would take now. Nothing is changed."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from ecotone.cli import sources
from ecotone.cli.output import Output, OutputOption, note, print_document, print_names, print_table
from ecotone.model.decisions import Bind, Decision, Evict, Preempt, Wait
from ecotone.placement.plan import Plan, make_plan, plan_document

_HELP = """Shows all decisions the policy would take now, without taking them.

Binds of waiting pods; with --deschedule also the evictions of running pods that would be better off elsewhere.

Examples:

    ecotone plan -f cluster.yaml

    kubectl get nodes,deploy,rs,pods -A -o yaml | ecotone plan -f - --policy sophos -o json

    ecotone plan -f nodes.yaml -f app.yaml --deschedule -n shop
"""
_LONGEST = 100


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
    application: sources.ApplicationFile = None,
) -> None:
    profile = sources.chosen_policy(policy, config)
    source = sources.Source(files, kubeconfig, context, now, max_age, seed, application)
    made = make_plan(source.snapshot(), profile, moves=deschedule, namespace=None if all_namespaces else namespace)
    for message in made.notes:
        note(message)
    show_plan(made, output)


def show_plan(made: Plan, output: Output) -> None:
    if output.structured:
        print_document(plan_document(made), output)
    elif output is Output.NAME:
        print_names(f"pod/{each.pod}" for each in made.decisions)
    else:
        print_table(("ACTION", "POD", "NODE", "WHY"), [_row(each, output) for each in made.decisions])
        _sum_up(made)


def _row(decision: Decision, output: Output) -> tuple[str, str, str, str]:
    why = decision.why if output is Output.WIDE or len(decision.why) <= _LONGEST else decision.why[: _LONGEST - 1] + "…"
    match decision:
        case Bind():
            return "bind", decision.pod, decision.node, why
        case Evict():
            gain = f"gains {decision.gain:.4g} {decision.unit}: {why}"
            return "evict", decision.pod, f"{decision.origin} -> {decision.target}", gain
        case Preempt():
            return "preempt", decision.pod, decision.node, f"{why} (evicts {', '.join(decision.victims)})"
        case Wait():
            return "wait", decision.pod, "-", why


def _sum_up(made: Plan) -> None:
    names = {Bind: "bound", Evict: "moved", Preempt: "placed by preemption", Wait: "waiting"}
    counts = {word: sum(type(each) is kind for each in made.decisions) for kind, word in names.items()}
    told = ", ".join(f"{count} {word}" for word, count in counts.items() if count) or "nothing to do"
    note(f"{told}; nothing was changed")
    before, after = made.objective.get("before"), made.objective.get("after")
    if isinstance(before, dict) and isinstance(after, dict):
        changed = [
            f"{name} {_figure(before[name])} -> {_figure(after[name])}" for name in after if before[name] != after[name]
        ]
        if changed:
            note(", ".join(changed))
    else:
        note(", ".join(f"{name} {_figure(value)}" for name, value in made.objective.items()))


def _figure(value: Any) -> str:
    if isinstance(value, dict):
        return "(" + ", ".join(f"{name} {_figure(each)}" for name, each in value.items()) + ")"
    return "unknown" if value is None else f"{value:.6g}"
