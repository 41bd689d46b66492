"""The custom resources of group ``ecotone.dev/v1alpha1``, with schemas strict enough that a typo is an error."""

from __future__ import annotations

from typing import Any

GROUP = "ecotone.dev"
VERSION = "v1alpha1"
Schema = dict[str, Any]


def _text(description: str, **more: Any) -> Schema:
    return {"type": "string", "description": description, **more}


def _number(description: str, **more: Any) -> Schema:
    return {"type": "number", "description": description, **more}


def _whole(description: str, **more: Any) -> Schema:
    return {"type": "integer", "description": description, **more}


def _object(description: str, properties: dict[str, Schema], *, required: tuple[str, ...] = ()) -> Schema:
    schema: Schema = {"type": "object", "description": description, "properties": properties}
    if required:
        schema["required"] = list(required)
    return schema


def _map(description: str, values: Schema) -> Schema:
    return {"type": "object", "description": description, "additionalProperties": values}


_RUN_PERIOD = _whole("Seconds between two runs.", minimum=1, default=30)
_STATUS = _object(
    "What the controllers last saw.",
    {
        "observedGeneration": _whole("The generation of the spec that the status speaks of.", format="int64"),
        "conditions": {
            "type": "array",
            "description": "Conditions in the usual form.",
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["type"],
            "items": _object(
                "One condition.",
                {
                    "type": _text("Its name."),
                    "status": _text("True, False or Unknown.", enum=["True", "False", "Unknown"]),
                    "reason": _text("One word."),
                    "message": _text("For people."),
                    "lastTransitionTime": _text("When the status last changed.", format="date-time"),
                    "observedGeneration": _whole("The generation it speaks of.", format="int64"),
                },
                required=("type", "status"),
            ),
        },
    },
)


def _column(name: str, path: str, kind: str = "string") -> dict[str, str]:
    return {"name": name, "type": kind, "jsonPath": path}


_READY = _column("Ready", '.status.conditions[?(@.type=="Ready")].status')
_AGE = _column("Age", ".metadata.creationTimestamp", "date")


def _crd(
    kind: str,
    plural: str,
    description: str,
    spec: Schema,
    *,
    namespaced: bool,
    columns: list[dict[str, str]],
    rules: list[dict[str, str]] | None = None,
) -> dict[str, Any]:
    root = _object(description, {"spec": spec, "status": _STATUS}, required=("spec",))
    if rules:
        root["x-kubernetes-validations"] = rules
    version = {
        "name": VERSION,
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": root},
        "subresources": {"status": {}},
        "additionalPrinterColumns": [*columns, _READY, _AGE],
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{GROUP}"},
        "spec": {
            "group": GROUP,
            "scope": "Namespaced" if namespaced else "Cluster",
            "names": {"kind": kind, "plural": plural, "singular": kind.lower(), "listKind": f"{kind}List"},
            "versions": [version],
        },
    }


def crds() -> list[dict[str, Any]]:
    return [_cluster(), _app_group(), _network_map(), _reservation()]


def _cluster() -> dict[str, Any]:
    spec = _object(
        "Which nodes are monitored, and how often.",
        {
            "runPeriod": _RUN_PERIOD,
            "nodeSelector": _map("Labels of the nodes that are monitored; all if empty.", _text("A label's value.")),
        },
    )
    return _crd(
        "Cluster",
        "clusters",
        "Activates cluster monitoring.",
        spec,
        namespaced=False,
        columns=[_column("Period", ".spec.runPeriod", "integer")],
    )


def _app_group() -> dict[str, Any]:
    slo = _object(
        "What users were promised.",
        {
            "percentile": _number("Which percentile of the response times.", minimum=0, maximum=100, default=95),
            "milliseconds": _number("At most this long.", minimum=0),
        },
        required=("milliseconds",),
    )
    descheduler = {
        "type": "object",
        "description": "Settings of the descheduler for this application.",
        "x-kubernetes-preserve-unknown-fields": True,
    }
    spec = _object(
        "Which application is monitored and corrected, and how often.",
        {
            "runPeriod": _RUN_PERIOD,
            "name": _text("Value of the app-group label of its Deployments.", minLength=1, maxLength=63),
            "namespace": _text("For compatibility; must equal the object's own namespace."),
            "slo": slo,
            "descheduler": descheduler,
        },
        required=("name",),
    )
    return _crd(
        "AppGroup",
        "appgroups",
        "Activates monitoring and descheduling of one application.",
        spec,
        namespaced=True,
        columns=[_column("App", ".spec.name"), _column("Period", ".spec.runPeriod", "integer")],
    )


def _network_map() -> dict[str, Any]:
    row = _map("Milliseconds to other domains.", _number("Round trip in milliseconds.", minimum=0, nullable=True))
    spec = _object(
        "Round trips between the domains of a node label.",
        {
            "topologyKey": _text("The node label whose values are the domains.", minLength=1),
            "rtt": _map("Round trips from each domain.", row),
        },
        required=("topologyKey",),
    )
    return _crd(
        "NetworkMap",
        "networkmaps",
        "Latencies between domains, for clusters too large for pairs of nodes.",
        spec,
        namespaced=False,
        columns=[_column("Key", ".spec.topologyKey")],
    )


def _reservation() -> dict[str, Any]:
    quantity: Schema = {
        "anyOf": [{"type": "integer"}, {"type": "string"}],
        "x-kubernetes-int-or-string": True,
        "description": "A quantity.",
    }
    spec = _object(
        "Capacity held on a node for the replacement of an evicted pod.",
        {
            "workload": _text("The workload whose next pod takes it.", minLength=1),
            "podTemplateHash": _text("Which revision of the workload; any if empty."),
            "node": _text("Where.", minLength=1),
            "resources": _map("How much.", quantity),
            "replacesUID": _text("The pod that was evicted for it."),
            "expires": _text("Until when it is held.", format="date-time"),
        },
        required=("workload", "node", "expires"),
    )
    return _crd(
        "Reservation",
        "reservations",
        "Capacity held for the replacement of an evicted pod.",
        spec,
        namespaced=True,
        columns=[
            _column("Workload", ".spec.workload"),
            _column("Node", ".spec.node"),
            _column("Expires", ".spec.expires"),
        ],
    )
