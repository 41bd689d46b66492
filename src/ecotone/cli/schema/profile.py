"""The schema of scheduler configurations, from the keys that their reader knows."""

from __future__ import annotations

from ecotone.cli.schema.parts import FLAG, NUMBER, WHOLE, Schema, document, either, list_of, mapping, words
from ecotone.manifests.configuration import descheduler, profile_reader
from ecotone.manifests.configuration.uses import EXECUTORS_PLUGINS
from ecotone.scheduling.profiles import registry
from ecotone.scheduling.profiles.descheduler import SINGLE_REPLICAS
from ecotone.scheduling.profiles.policies import POLICIES
from ecotone.scheduling.profiles.profile import POINTS

_NOTHING: Schema = {"type": "null"}
_STRING: Schema = {"type": "string"}
_ARGUMENTS: Schema = {"type": ["object", "null"]}
_PLUGIN: Schema = {"$ref": "#/$defs/plugin"}
_ABOVE_ZERO: Schema = {"type": "number", "exclusiveMinimum": 0}


def schema() -> Schema:
    passed_over = {key: {"description": "Of kube-scheduler; passed over."} for key in profile_reader.PASSED_OVER}
    properties: dict[str, Schema] = {
        "apiVersion": _STRING,
        "kind": words((profile_reader.KIND, profile_reader.KUBE_KIND)),
        "profiles": list_of(_profile()),
        **passed_over,
    }
    made = mapping(properties, required=("kind",))
    return document("Ecotone scheduler configuration", {**made, "$defs": {"plugin": _plugin()}})


def _plugin() -> Schema:
    """By name; a plugin of one's own by its file, which no list can hold."""
    known = words((*registry.plugin_names(), *EXECUTORS_PLUGINS, "*"))
    return either(known, {"type": "string", "pattern": "\\.py:"})


def _uses() -> Schema:
    return list_of(mapping({"name": _PLUGIN, "weight": _ABOVE_ZERO}, required=("name",)))


def _point() -> Schema:
    return mapping({"enabled": _uses(), "disabled": _uses()})


def _profile() -> Schema:
    points = (profile_reader.MULTI_POINT, *POINTS, *profile_reader.EXECUTORS_POINTS)
    named = mapping({"name": _PLUGIN, "args": _ARGUMENTS}, required=("name",))
    solver = words(registry.solver_names())
    shapes: dict[str, Schema] = {
        "schedulerName": _STRING,
        "name": _STRING,
        "summary": _STRING,
        "policy": words(POLICIES),
        "plugins": either(_NOTHING, mapping({point: _point() for point in points})),
        "pluginConfig": list_of(named),
        "tieBreak": _uses(),
        "tieDraw": FLAG,
        "solver": either(solver, mapping({"name": solver, "args": _ARGUMENTS}, required=("name",))),
        "descheduler": either(_NOTHING, _descheduler()),
        "objective": mapping({"unit": _STRING, "report": words(registry.report_names())}),
        "allOrNothing": FLAG,
        "percentageOfNodesToScore": NUMBER,
    }
    return mapping({key: {**shapes[key], "description": told} for key, told in profile_reader.PROFILE_KEYS.items()})


def _descheduler() -> Schema:
    maybe_words = either(_NOTHING, list_of(_STRING))
    shapes: dict[str, Schema] = {
        "singleReplicas": words(SINGLE_REPLICAS),
        "maxMovesPerRun": either(_NOTHING, WHOLE),
        "maxGroup": WHOLE,
        "budget": WHOLE,
        "rescueAfterSeconds": either(_NOTHING, NUMBER),
        "windows": list_of(_STRING),
        "localStorage": FLAG,
        "volumeClaims": FLAG,
        "resourceClaims": FLAG,
        "schedulerNames": maybe_words,
        "score": either(_NOTHING, _uses()),
        "queueSort": either(_NOTHING, _STRING),
    }
    keys = {key: {**shapes.get(key, NUMBER), "description": told} for key, (_, _, told) in descheduler.KEYS.items()}
    return mapping({"rule": words(registry.rule_names()), **keys, "args": _ARGUMENTS})
