"""``ecotone manifests``: what to install, for ``kubectl apply -f -``."""

from __future__ import annotations

import ipaddress
import json
import sys
from typing import Annotated, Any

import typer

from ecotone.cli.programs.source_options import Reporter, TrustPrometheus, trust
from ecotone.kube.resources import is_label
from ecotone.model.errors import InputError, did_you_mean


def manifests(
    *,
    part: Annotated[
        list[str] | None,
        typer.Argument(
            help="Only these parts, such as crds, rbac, admission, rules; everything but the extender if left out."
        ),
    ] = None,
    component: Annotated[
        list[str] | None,
        typer.Option("--component", help="scheduler, monitor, descheduler or probe; all if left out. Repeat."),
    ] = None,
    namespace: Annotated[str, typer.Option("--namespace", "-n", help="Where the programs run.")] = "kube-system",
    image: Annotated[str | None, typer.Option("--image", help="Image that contains `ecotone`.")] = None,
    scheduler_name: Annotated[str, typer.Option("--scheduler-name", help="Name pods ask for.")] = "ecotone",
    policy: Annotated[str, typer.Option("--policy", help="Policy of scheduler, descheduler and extender.")] = "ecotone",
    prometheus: Annotated[str | None, typer.Option("--prometheus", help="Prometheus that the monitor reads.")] = None,
    trust_prometheus: TrustPrometheus = False,
    reporter: Reporter = None,
    prometheus_token_secret: Annotated[
        str | None,
        typer.Option("--prometheus-token-secret", help="Secret whose key `token` the monitor sends to Prometheus."),
    ] = None,
    prometheus_ca_config_map: Annotated[
        str | None,
        typer.Option(
            "--prometheus-ca-config-map", help="ConfigMap whose key `ca.crt` Prometheus' certificate is checked with."
        ),
    ] = None,
    metrics_token_secret: Annotated[
        str | None,
        typer.Option(
            "--metrics-token-secret",
            help="Secret whose key `token` readers of metrics send to see applications' names.",
        ),
    ] = None,
    allow_from: Annotated[
        list[str] | None,
        typer.Option(
            "--allow-from", help="CIDR from which the extender may be reached (a kube-scheduler's node). Repeat."
        ),
    ] = None,
    exclude_namespace: Annotated[
        list[str] | None,
        typer.Option(
            "--exclude-namespace",
            help="The descheduler moves nothing there; kube-system and its own namespace always. Repeat.",
        ),
    ] = None,
    move_only_in: Annotated[
        list[str] | None,
        typer.Option(
            "--move-only-in", help="The descheduler gets rights to evict and scale in this namespace alone. Repeat."
        ),
    ] = None,
    front_end: Annotated[
        list[str] | None,
        typer.Option(
            "--front-end", metavar="NAMESPACE/WORKLOAD:PORT", help="Print an input proxy for it instead. Repeat."
        ),
    ] = None,
    proxy_image: Annotated[str | None, typer.Option("--proxy-image", help="Image of the input proxy's Envoy.")] = None,
    proxy_priority: Annotated[
        str | None, typer.Option("--proxy-priority", help="Priority class of proxies; none if left out.")
    ] = None,
    external: Annotated[
        list[str] | None,
        typer.Option("--external", metavar="NAME=HOST:PORT", help="Print an output proxy for it instead. Repeat."),
    ] = None,
    output: Annotated[str, typer.Option("-o", "--output", help="yaml, json or name.")] = "yaml",
) -> None:
    """Print CRDs, roles, policies and programs, with rules for Prometheus and dashboards for Grafana.

    Examples:

        ecotone manifests --image registry.example/ecotone:0.1.0 | kubectl apply -f -

        ecotone manifests --component scheduler | kubectl apply -f -

        ecotone manifests extender

        ecotone manifests -n shop --front-end shop/front-end:8079 --external orders-db=db.example:5432
    """
    from ecotone.scheduling.profiles.policies import resolve
    from ecotone.services.install import (
        COMPONENTS,
        PARTS,
        PROMETHEUS,
        REPORTERS,
        Files,
        input_proxy,
        installation,
        output_proxy,
    )
    from ecotone.services.install.proxies import ENVOY
    from ecotone.services.install.workloads import IMAGE

    resolve(policy)
    trust(trust_prometheus, reporter)
    if not is_label(namespace):
        raise InputError(f"--namespace {namespace}: no name of a namespace", hint="lower case letters, digits and -")
    for option, names in (("--exclude-namespace", exclude_namespace), ("--move-only-in", move_only_in)):
        for name in names or ():
            if not is_label(name):
                raise InputError(f"{option} {name}: no name of a namespace", hint="lower case letters, digits and -")
    for given, known, what in ((part or (), PARTS, "part"), (component or (), tuple(COMPONENTS), "component")):
        for name in given:
            if name not in known:
                raise InputError(f"unknown {what} {name!r}", hint=did_you_mean(name, known) or ", ".join(known))
    if prometheus_token_secret and not (prometheus or PROMETHEUS).startswith("https://"):
        raise InputError("a token is sent only over https", hint="give --prometheus https://...")
    objects: list[dict[str, Any]] = []
    if front_end or external:
        for each in front_end or ():
            objects += input_proxy(each, image=proxy_image or ENVOY, priority=proxy_priority)
        for each in external or ():
            objects += output_proxy(each, namespace=namespace, priority=proxy_priority)
    else:
        objects = installation(
            part or (),
            components=component or tuple(COMPONENTS),
            namespace=namespace,
            image=image or IMAGE,
            policy=policy,
            scheduler_name=scheduler_name,
            prometheus=prometheus or PROMETHEUS,
            reporters=reporter or REPORTERS,
            trust=["--trust-prometheus"] if trust_prometheus else (),
            files=Files(
                prometheus_token=_held("--prometheus-token-secret", prometheus_token_secret),
                prometheus_ca=_held("--prometheus-ca-config-map", prometheus_ca_config_map),
                metrics_token=_held("--metrics-token-secret", metrics_token_secret),
            ),
            allow_from=[_cidr(one) for one in allow_from or ()],
            excluded=exclude_namespace or (),
            move_only_in=move_only_in or (),
        )
    sys.stdout.write(_render(objects, output))


def _held(option: str, name: str | None) -> str:
    if name is not None and not (name and all(map(is_label, name.split(".")))):
        raise InputError(f"{option} {name}: no name of an object", hint="lower case letters, digits, - and .")
    return name or ""


def _cidr(text: str) -> str:
    try:
        return str(ipaddress.ip_network(text))
    except ValueError:
        raise InputError(
            f"--allow-from {text}: a range of addresses is expected", hint="for example 10.0.0.0/24"
        ) from None


def _render(objects: list[dict[str, Any]], output: str) -> str:
    match output:
        case "yaml":
            import yaml

            # Through JSON, so that what two objects share is written twice instead of as an alias.
            plain = json.loads(json.dumps(objects))
            return str(yaml.safe_dump_all(plain, sort_keys=False, explicit_start=True))
        case "json":
            return json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}, indent=2) + "\n"
        case "name":
            return "".join(f"{one['kind'].lower()}/{one['metadata']['name']}\n" for one in objects)
    raise InputError(f"unknown output {output!r}", hint="yaml, json or name")


def register(app: typer.Typer) -> None:
    app.command("manifests")(manifests)
