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
_WINDOW = _text("Over how long measurements are averaged, such as 2m.", pattern=r"^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$")
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
    status: dict[str, Schema] | None = None,
) -> dict[str, Any]:
    seen = {**_STATUS, "properties": {**_STATUS["properties"], **(status or {})}}
    root = _object(description, {"spec": spec, "status": seen}, required=("spec",))
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
            "window": _WINDOW,
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
    latency = _number("Milliseconds.", minimum=0)
    qos = _object(
        "What the workloads' QoS targets are measured by.",
        {
            "latency": _object(
                "Response time of a pod on each tier, in milliseconds.",
                {"edge": latency, "fog": latency, "cloud": latency},
            )
        },
    )
    descheduler = _object(
        "Settings of the descheduler for this application; what is left out is the profile's.",
        {
            "policy": _text("Its policy."),
            "minGainMilliseconds": _number("A move gains at least this much.", minimum=0),
            "minRelativeGain": _number("A move gains at least this share of the cost.", minimum=0, maximum=1),
            "coolDownSeconds": _number("After a move the workload is left alone for so long.", minimum=0),
            "rescueAfterSeconds": _number(
                "How long a node may not be ready until its pods without volumes are replaced.", minimum=0
            ),
            "maxMovesPerRun": _whole("At most so many moves in a run.", minimum=0),
            "windows": {
                "type": "array",
                "description": "When pods may be moved (UTC), such as Mon-Fri 22:00-06:00; always if empty.",
                "items": _text("Days, hours, or both.", minLength=1, maxLength=64),
            },
            "singleReplicas": _text("How workloads of one replica move.", enum=["never", "surge", "evict"]),
        },
    )
    spec = _object(
        "Which application is monitored and corrected, and how often.",
        {
            "runPeriod": _RUN_PERIOD,
            "name": _text("Value of the app-group label of its Deployments.", minLength=1, maxLength=63),
            "namespace": _text("For compatibility; must equal the object's own namespace."),
            "window": _WINDOW,
            "dialect": _text(
                "Which service mesh's metrics are read.",
                enum=["auto", "istio", "envoy", "opentelemetry"],
                default="auto",
            ),
            "queries": _map("PromQL instead of the dialect's own, by name.", _text("PromQL.", maxLength=4096)),
            "paused": {"type": "boolean", "description": "True: it is watched, but nothing moves.", "default": False},
            "slo": slo,
            "qos": qos,
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
        status={"moves": _moves(), "breaker": _breaker(), "workloads": _figures()},
    )


def _figures() -> Schema:
    texts = _map("What would be annotations of the workload.", _text("The annotation's value."))
    return _map("Figures of a group of more than 200 workloads, by Kind/name.", texts)


def _moves() -> Schema:
    move = _object(
        "One move.",
        {
            "at": _text("When the pod was asked to leave.", format="date-time"),
            "pod": _text("namespace/name of the pod that went."),
            "uid": _text("Its uid."),
            "workload": _text("Its workload."),
            "kind": _text("The workload's kind."),
            "from": _text("The node it left."),
            "to": _text("The node its replacement was meant for."),
            "landed": _text("The node its replacement runs on."),
            "predictedGain": _number("What the move promised."),
            "costBefore": _number("What the pod cost before; of a plan, what a request of the application did."),
            "measuredGain": _number("What the replacement costs less; of a plan, its share of what a request does."),
            "unit": _text("Of the gains and costs."),
            "outcome": _text("Started, Done, Elsewhere, NotReady, Refused or Undone."),
            "surge": {"type": "boolean", "description": "The replacement was started first."},
            "plan": _text("When the plan began that the move is a part of.", format="date-time"),
            "detail": _text("Why not, where it was not done."),
        },
        required=("at", "pod", "outcome"),
    )
    return {"type": "array", "description": "Recent moves, oldest first.", "items": move}


def _breaker() -> Schema:
    return _object(
        "Stops moves after disappointments.",
        {
            "trips": _whole("How many times in a row it tripped."),
            "until": _text("Nothing moves until then.", format="date-time"),
            "judged": _text("Moves up to then have been counted.", format="date-time"),
            "message": _text("Why."),
        },
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
            "kind": _text("The workload's kind.", default="Deployment"),
            "workload": _text("The workload whose next pod takes it.", minLength=1),
            "podTemplateHash": _text("Which revision of the workload; any if empty."),
            "node": _text("Where.", minLength=1),
            "resources": _map("How much.", quantity),
            "replacesUID": _text("The pod that was evicted for it."),
            "expires": _text("Until when it is held.", format="date-time"),
            "priority": {
                "type": "integer",
                "format": "int32",
                "description": "That of the evicted pod: pods of a higher one may take its room.",
            },
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
        status={"takenBy": _text("The uid of the pod that took it; the capacity is no longer held then.")},
    )
