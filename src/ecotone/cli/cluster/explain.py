"""`ecotone explain POD...`: for each pod every node with its verdicts and figures, the winner, and why it won."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.text import Text

from ecotone.cli.cluster import sources
from ecotone.cli.cluster.measurements import measured, shown_measurements
from ecotone.cli.cluster.pods import find_pods
from ecotone.cli.cluster.recorded import fetch_record, rows_of, token_for
from ecotone.cli.terminal.output import Cell, Output, OutputOption, print_document, print_names, print_table, print_text
from ecotone.model.errors import InputError
from ecotone.model.quantity import show
from ecotone.model.snapshot import Snapshot
from ecotone.scheduling.explanation import Explanation, NodeView, TermView, document, explain

_HELP = """Explains for one pod, waiting or running, every node's verdicts and scores, the winner and why.

Several pods, or all of a workload, are explained one after the other; -o json gives one object for one pod and a list for
several. A running pod is judged as if it were removed first. The exit code is 1 if one fits nowhere.

Examples:

    ecotone explain -f cluster.yaml front-end-0

    ecotone explain -f cluster.yaml shop/front-end-0 --policy sophos -o json

    ecotone explain pod/front-end-0 -n shop

    ecotone explain -f cluster.yaml deploy/front-end

    ecotone explain -f cluster.yaml -l 'app in (front-end, catalogue)' -n shop
"""
_MOST_ROWS = 40


def register(app: typer.Typer) -> None:
    app.command("explain", help=_HELP)(explain_pod)


def explain_pod(
    pods: Annotated[
        list[str] | None,
        typer.Argument(metavar="POD...", help="name, pod/name, namespace/name, or a workload: deploy/name"),
    ] = None,
    *,
    selector: Annotated[
        str | None, typer.Option("-l", "--selector", help="Pods with these labels, as in kubectl: app=web,tier!=db.")
    ] = None,
    files: sources.Files = None,
    policy: sources.PolicyName = None,
    config: sources.ConfigFile = None,
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
    scheduler: Annotated[
        str | None,
        typer.Option("--scheduler", help="Address of a running scheduler: what it decided, as it saw it then."),
    ] = None,
    token_file: Annotated[
        Path | None,
        typer.Option("--token-file", help="Token for --scheduler; that of the kubeconfig if left out."),
    ] = None,
) -> None:
    if scheduler is not None:
        if selector is not None or pods is None or len(pods) != 1:
            raise InputError("--scheduler tells of one pod", hint="give one name")
        token = token_for(scheduler, token_file=token_file, kubeconfig=kubeconfig, context=context)
        _show_record(fetch_record(scheduler, pods[0], namespace=namespace, token=token), output)
        return
    profile = sources.chosen_policy(policy, config)
    snapshot = sources.Source(
        files, kubeconfig, context, now, max_age, seed, application, request_timeout, strict, None, trust_annotations
    ).snapshot()
    chosen = find_pods(snapshot, pods or (), selector, None if all_namespaces else namespace)
    answers = [explain(snapshot, profile, found.key) for found in chosen]
    if output.structured:
        shown = [
            {**document(answer), "measured": measured(snapshot, found)}
            for answer, found in zip(answers, chosen, strict=True)
        ]
        print_document(shown[0] if len(shown) == 1 else shown, output)
    elif output is Output.NAME:
        print_names(f"node/{answer.node}" for answer in answers if answer.node is not None)
    elif output is Output.CSV and len(answers) > 1:
        _show_csv(answers, snapshot)
    else:
        for number, (answer, found) in enumerate(zip(answers, chosen, strict=True)):
            if number:
                print_text("")
            _show(answer, snapshot, output=output, figures=shown_measurements(snapshot, found))
    if any(answer.node is None for answer in answers):
        raise typer.Exit(1)


def _show_csv(answers: list[Explanation], snapshot: Snapshot) -> None:
    """One table for all of them, each line with its pod."""
    headers, terms = _headers(answers, wide=True)
    rows: list[list[Cell]] = [
        [answer.pod, *_row(view, answer, snapshot, terms, wide=True)] for answer in answers for view in answer.nodes
    ]
    print_table(["POD", *headers], rows, output=Output.CSV)


def _show_record(record: dict[str, Any], output: Output) -> None:
    if output.structured:
        print_document(record, output)
    elif output is Output.NAME:
        print_names([] if record["node"] is None else [f"node/{record['node']}"])
    else:
        if output is not Output.CSV:
            print_text(f"Pod {record['pod']}, policy {record['policy']}: {record['action']}\n")
        print_table(["NODE", "TOTAL", "VERDICT"], rows_of(record), right=(1,), output=output)
        if output is not Output.CSV:
            print_text(f"\n{record['why']}")
    if record["node"] is None:
        raise typer.Exit(1)


def _show(answer: Explanation, snapshot: Snapshot, *, output: Output, figures: list[str]) -> None:
    wide = output in (Output.WIDE, Output.CSV)
    runs = "waiting" if answer.current is None else f"running on {answer.current}, judged as if removed first"
    if output is not Output.CSV:
        print_text(f"Pod {answer.pod} ({runs}), policy {answer.policy}\n")
    headers, terms = _headers([answer], wide=wide)
    shown = answer.nodes if wide else answer.nodes[:_MOST_ROWS]
    rows = [_row(view, answer, snapshot, terms, wide=wide) for view in shown]
    print_table(headers, rows, right=(2,), output=output)
    if output is Output.CSV:
        return
    if len(shown) < len(answer.nodes):
        print_text(f"... and {len(answer.nodes) - len(shown)} more nodes (-o wide shows all)")
    for line in ["", *figures, ""] if figures else [""]:
        print_text(line)
    if answer.node is None:
        print_text(f"No node for it: {answer.why}")
    else:
        stays = " It is there already." if answer.node == answer.current else ""
        print_text(f"{answer.why}.{stays}")


def _headers(answers: list[Explanation], *, wide: bool) -> tuple[list[str], list[str]]:
    """The table's headers and the plugins that have a column in it."""
    weights = {name: term.weight for answer in answers for view in answer.nodes for name, term in view.scores.items()}
    headers = ["", "NODE", "TOTAL", *(f"{name} x {weight:g}" for name, weight in weights.items())]
    headers += ["TIEBREAK", "TIER", "FREE"] if wide else []
    return [*headers, "VERDICT"], list(weights)


def _row(view: NodeView, answer: Explanation, snapshot: Snapshot, terms: list[str], *, wide: bool) -> list[Cell]:
    winner = view.name == answer.node
    mark = "*" if winner else "=" if view.name == answer.current else ""
    name: Cell = Text(view.name, style="bold green" if winner else "" if view.feasible else "dim")
    row: list[Cell] = [mark, name, "-" if view.total is None else f"{view.total:.4g}"]
    row += [_term(view.scores.get(term)) for term in terms]
    if wide:
        row += ["-" if view.tiebreak is None else f"{view.tiebreak:.4g}", *_place(snapshot, view.name)]
    return [*row, "fits" if view.feasible else Text("; ".join(view.reasons), style="red")]


def _term(term: TermView | None) -> str:
    if term is None:
        return "-"
    raw = "unknown" if term.raw is None else f"{term.raw:.4g}"
    return f"{term.normalized:.4g} ({term.told or raw})"


def _place(snapshot: Snapshot, name: str) -> tuple[str, str]:
    row = snapshot.nodes.index[name]
    free = snapshot.nodes.allocatable[row, :2] - snapshot.usage.requested[row, :2]
    tier = snapshot.nodes.nodes[row].tier or "-"
    return tier, f"{show('cpu', float(free[0]))} cpu, {show('memory', float(free[1]))}"
