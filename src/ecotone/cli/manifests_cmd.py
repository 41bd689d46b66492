"""``ecotone manifests``: what to install, for ``kubectl apply -f -``."""

from __future__ import annotations

import json
import sys
from typing import Annotated, Any

import typer

from ecotone.model.errors import InputError, did_you_mean


def manifests(
    *,
    part: Annotated[
        list[str] | None,
        typer.Argument(help="crds, rbac, scheduler, extender; everything but the extender if left out."),
    ] = None,
    namespace: Annotated[str, typer.Option("--namespace", "-n", help="Where the programs run.")] = "kube-system",
    image: Annotated[str | None, typer.Option("--image", help="Image that contains `ecotone`.")] = None,
    scheduler_name: Annotated[str, typer.Option("--scheduler-name", help="Name pods ask for.")] = "ecotone",
    policy: Annotated[str, typer.Option("--policy", help="Policy of the scheduler and the extender.")] = "ecotone",
    output: Annotated[str, typer.Option("-o", "--output", help="yaml, json or name.")] = "yaml",
) -> None:
    """Print CRDs, RBAC and deployments.

    Examples:

        ecotone manifests | kubectl apply -f -

        ecotone manifests extender
    """
    from ecotone.services.install import PARTS
    from ecotone.services.install.scheduler import IMAGE

    common: dict[str, Any] = {"namespace": namespace}
    program = {**common, "image": image or IMAGE, "policy": policy}
    options: dict[str, dict[str, Any]] = {
        "crds": {},
        "rbac": common,
        "scheduler": {**program, "scheduler_name": scheduler_name},
        "extender": program,
    }
    objects: list[dict[str, Any]] = []
    for name in part or ["crds", "rbac", "scheduler"]:
        if name not in PARTS:
            raise InputError(f"unknown part {name!r}", hint=did_you_mean(name, PARTS) or ", ".join(PARTS))
        objects += PARTS[name](**options[name])
    sys.stdout.write(_render(objects, output))


def _render(objects: list[dict[str, Any]], output: str) -> str:
    match output:
        case "yaml":
            import yaml

            return str(yaml.safe_dump_all(objects, sort_keys=False, explicit_start=True))
        case "json":
            return json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}, indent=2) + "\n"
        case "name":
            return "".join(f"{one['kind'].lower()}/{one['metadata']['name']}\n" for one in objects)
    raise InputError(f"unknown output {output!r}", hint="yaml, json or name")


def register(app: typer.Typer) -> None:
    app.command("manifests")(manifests)
