"""`ecotone status` and `ecotone moves`: is the loop at work, what moved lately, and what did it bring."""

from __future__ import annotations

import time
from typing import Any

import typer

from ecotone.cli.cluster import sources
from ecotone.cli.terminal.output import (
    Cell,
    Output,
    OutputOption,
    note,
    print_document,
    print_names,
    print_table,
    print_text,
)
from ecotone.kube.reading.app_groups import AppGroupStatus, read_app_groups
from ecotone.kube.reading.figures import told
from ecotone.manifests.times import time_or_none

TROUBLE = frozenset({"CircuitBreakerOpen", "SchedulerUnavailable", "MeasurementsStale"})

_STATUS_HELP = """Tells of every application if measurements are fresh and believed, and what the loop does and brought.

The exit code is 1 if the loop of an application is held up: stale measurements, an open breaker, no scheduler.

Examples:

    ecotone status

    ecotone status -n shop -o json
"""
_MOVES_HELP = """Lists recent moves, newest first, with predicted and measured gain.

Examples:

    ecotone moves -A

    ecotone moves -n shop -o json
"""


def register(app: typer.Typer) -> None:
    app.command("status", help=_STATUS_HELP)(status)
    app.command("moves", help=_MOVES_HELP)(moves)


def status(
    *,
    namespace: sources.Namespace = None,
    all_namespaces: sources.AllNamespaces = False,
    output: OutputOption = Output.TABLE,
    kubeconfig: sources.Kubeconfig = None,
    context: sources.Context = None,
    trust_annotations: sources.TrustAnnotations = False,
) -> None:
    groups, doubt = _groups(namespace, all_namespaces=all_namespaces, kubeconfig=kubeconfig, context=context)
    if trust_annotations:
        doubt = None
    if doubt is not None:
        note(told(doubt))
    if output.structured:
        believed = {"holds": doubt is None, "reason": doubt or ""}
        print_document([{**_summary(one), "believed": believed} for one in groups], output)
    elif output is Output.NAME:
        print_names(f"appgroup/{one.key}" for one in groups)
    elif not groups:
        print_text("no AppGroups: nothing is monitored or moved")
    else:
        headers = ["APPLICATION", "MEASUREMENTS", "DESCHEDULING", "MOVES", "LAST", "PREDICTED", "MEASURED"]
        print_table(headers, [_row(one) for one in groups], right=(3, 5, 6), output=output)
    if any(_summary(one)["descheduling"]["reason"] in TROUBLE for one in groups):
        raise typer.Exit(1)


def moves(
    *,
    namespace: sources.Namespace = None,
    all_namespaces: sources.AllNamespaces = False,
    output: OutputOption = Output.TABLE,
    kubeconfig: sources.Kubeconfig = None,
    context: sources.Context = None,
) -> None:
    groups, _ = _groups(namespace, all_namespaces=all_namespaces, kubeconfig=kubeconfig, context=context)
    found = sorted(
        ({"application": group.key, **one} for group in groups for one in group.moves),
        key=lambda one: str(one.get("at", "")),
        reverse=True,
    )
    if output.structured:
        print_document(found, output)
    elif output is Output.NAME:
        print_names(f"pod/{one.get('pod', '')}" for one in found)
    elif not found:
        print_text("no moves are remembered")
    else:
        headers = ["AGE", "APPLICATION", "POD", "FROM", "TO", "LANDED", "PREDICTED", "MEASURED", "OUTCOME"]
        wide = output in (Output.WIDE, Output.CSV)
        headers += ["DETAIL"] if wide else []
        print_table(headers, [_move_row(one, wide=wide) for one in found], right=(6, 7), output=output)


def _groups(
    namespace: str | None, *, all_namespaces: bool, kubeconfig: Any, context: str | None
) -> tuple[list[AppGroupStatus], str | None]:
    wanted = None if all_namespaces else namespace
    return read_app_groups(kubeconfig=kubeconfig, context=context, namespace=wanted)


def _condition(group: AppGroupStatus, kind: str) -> dict[str, Any]:
    found = group.condition(kind)
    holds = {"True": True, "False": False}.get(str(found.get("status")))
    return {"holds": holds, "reason": str(found.get("reason", "")), "message": str(found.get("message", ""))}


def _summary(group: AppGroupStatus) -> dict[str, Any]:
    made = [one for one in group.moves if one.get("outcome") not in ("Refused", "Undone")]
    judged = [one for one in made if isinstance(one.get("measuredGain"), int | float)]
    return {
        "application": group.key,
        "measurements": _condition(group, "MeasurementsFresh"),
        "descheduling": _condition(group, "Descheduling"),
        "moves": len(made),
        "last": max((str(one.get("at", "")) for one in made), default=None),
        "predictedGain": sum(float(one.get("predictedGain", 0.0)) for one in judged),
        "measuredGain": sum(float(one["measuredGain"]) for one in judged),
        "unit": next((str(one.get("unit", "")) for one in reversed(made)), ""),
        "breaker": group.status.get("breaker") or {},
    }


def _row(group: AppGroupStatus) -> list[Cell]:
    summary = _summary(group)
    measurements, descheduling = summary["measurements"], summary["descheduling"]
    return [
        summary["application"],
        measurements["message"] or "not told yet",
        descheduling["reason"]
        if descheduling["holds"]
        else f"{descheduling['reason']}: {descheduling['message']}"
        if descheduling["reason"]
        else "no descheduler has looked at it",
        str(summary["moves"]),
        _age(summary["last"]),
        f"{summary['predictedGain']:.4g} {summary['unit']}".rstrip(),
        f"{summary['measuredGain']:.4g} {summary['unit']}".rstrip(),
    ]


def _move_row(move: dict[str, Any], *, wide: bool) -> list[Cell]:
    def figure(key: str) -> str:
        value = move.get(key)
        return f"{value:.4g} {move.get('unit', '')}".rstrip() if isinstance(value, int | float) else "-"

    row: list[Cell] = [_age(move.get("at"))]
    row += [str(move.get(key) or "-") for key in ("application", "pod", "from", "to", "landed")]
    row += [figure("predictedGain"), figure("measuredGain"), str(move.get("outcome", ""))]
    return [*row, str(move.get("detail", ""))] if wide else row


def _age(moment: str | None) -> str:
    at = time_or_none(moment) if moment else None
    if at is None:
        return "-"
    seconds = max(0, int(time.time() - at))
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "m")):
        if seconds >= size:
            return f"{seconds // size}{unit}"
    return f"{seconds}s"
