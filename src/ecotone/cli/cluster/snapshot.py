"""`ecotone snapshot`: the cluster as this program sees it, as a file that replays to the same decisions."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from ecotone.cli.cluster import sources
from ecotone.cli.terminal.output import as_json, write
from ecotone.manifests.writing.snapshot import snapshot_documents
from ecotone.manifests.yaml.text import yaml_text

_HELP = """Prints the whole cluster as Kubernetes objects that -f reads back to the same decisions.

Examples:

    ecotone snapshot -o yaml > now.yaml

    ecotone plan -f now.yaml
"""


class Format(StrEnum):
    YAML = "yaml"
    JSON = "json"


def register(app: typer.Typer) -> None:
    app.command("snapshot", help=_HELP)(snapshot)


def snapshot(
    *,
    files: sources.Files = None,
    output: Annotated[Format, typer.Option("-o", "--output", help="yaml or json")] = Format.YAML,
    now: sources.Now = None,
    max_age: sources.MaxAge = None,
    seed: sources.Seed = None,
    kubeconfig: sources.Kubeconfig = None,
    context: sources.Context = None,
    request_timeout: sources.RequestTimeout = sources.REQUEST_TIMEOUT,
    trust_annotations: sources.TrustAnnotations = False,
) -> None:
    source = sources.Source(
        files,
        kubeconfig,
        context,
        now,
        max_age,
        seed,
        request_timeout=request_timeout,
        trust_annotations=trust_annotations,
    )
    documents = snapshot_documents(source.snapshot())
    if output is Format.JSON:
        write(as_json({"apiVersion": "v1", "kind": "List", "items": documents}))
    else:
        write(yaml_text(documents))
