"""`ecotone explain POD`: every node with its verdicts and figures, the winner, and why it won."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from rich.text import Text

from ecotone.cli import sources
from ecotone.cli.output import Cell, Output, OutputOption, print_document, print_names, print_table, print_text
from ecotone.cli.recorded import fetch_record, rows_of
from ecotone.model.quantity import show
from ecotone.model.snapshot import Snapshot
from ecotone.scheduling.explanation import Explanation, NodeView, TermView, document, explain

_HELP = """Explains for one pod, waiting or running, every node's verdicts and scores, the winner and why.

A running pod is judged as if it were removed first. The exit code is 1 if it fits nowhere.

Examples:

    ecotone explain -f cluster.yaml front-end-0

    ecotone explain -f cluster.yaml shop/front-end-0 --policy sophos -o json

    ecotone explain pod/front-end-0 -n shop
"""
_MOST_ROWS = 40


def register(app: typer.Typer) -> None:
    app.command("explain", help=_HELP)(explain_pod)


def explain_pod(
    pod: Annotated[str, typer.Argument(metavar="POD", help="name, pod/name or namespace/name")],
    *,
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
    application: sources.ApplicationFile = None,
    scheduler: Annotated[
        str | None,
        typer.Option("--scheduler", help="Address of a running scheduler: what it decided, as it saw it then."),
    ] = None,
) -> None:
    if scheduler is not None:
        _show_record(fetch_record(scheduler, pod, namespace=namespace), output)
        return
    profile = sources.chosen_policy(policy, config)
    snapshot = sources.Source(files, kubeconfig, context, now, max_age, seed, application).snapshot()
    found = sources.find_pod(snapshot, pod, None if all_namespaces else namespace)
    answer = explain(snapshot, profile, found.key)
    if output.structured:
        print_document(document(answer), output)
    elif output is Output.NAME:
        print_names([] if answer.node is None else [f"node/{answer.node}"])
    else:
        _show(answer, snapshot, wide=output is Output.WIDE)
    if answer.node is None:
        raise typer.Exit(1)


def _show_record(record: dict[str, Any], output: Output) -> None:
    if output.structured:
        print_document(record, output)
    elif output is Output.NAME:
        print_names([] if record["node"] is None else [f"node/{record['node']}"])
    else:
        print_text(f"Pod {record['pod']}, policy {record['policy']}: {record['action']}\n")
        print_table(["NODE", "TOTAL", "VERDICT"], rows_of(record), right=(1,))
        print_text(f"\n{record['why']}")
    if record["node"] is None:
        raise typer.Exit(1)


def _show(answer: Explanation, snapshot: Snapshot, *, wide: bool) -> None:
    runs = "waiting" if answer.current is None else f"running on {answer.current}, judged as if removed first"
    print_text(f"Pod {answer.pod} ({runs}), policy {answer.policy}\n")
    terms = list(dict.fromkeys(name for view in answer.nodes for name in view.scores))
    weights = {name: view.scores[name].weight for view in answer.nodes for name in view.scores}
    headers = ["", "NODE", "TOTAL", *(f"{name} x {weights[name]:g}" for name in terms)]
    headers += ["TIEBREAK", "TIER", "FREE"] if wide else []
    headers += ["VERDICT"]
    shown = answer.nodes if wide else answer.nodes[:_MOST_ROWS]
    rows = [_row(view, answer, snapshot, terms, wide=wide) for view in shown]
    print_table(headers, rows, right=(2,))
    if len(shown) < len(answer.nodes):
        print_text(f"... and {len(answer.nodes) - len(shown)} more nodes (-o wide shows all)")
    print_text("")
    if answer.node is None:
        print_text(f"No node for it: {answer.why}")
    else:
        stays = " It is there already." if answer.node == answer.current else ""
        print_text(f"{answer.why}.{stays}")


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
