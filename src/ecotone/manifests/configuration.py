"""Scheduler configurations: profiles as YAML, read with positions and written back.

The shape is KubeSchedulerConfiguration's, so what people know carries over. Ours (`ecotone.dev/v1alpha1`,
`SchedulerConfiguration`) says all there is to a profile: what it does not name does not run, unless `policy` names a
built-in one to start from. A `KubeSchedulerConfiguration` starts from kube-scheduler's defaults, as it does there.

    apiVersion: ecotone.dev/v1alpha1
    kind: SchedulerConfiguration
    profiles:
    - schedulerName: ecotone
      name: mine
      policy: sophos                  # start from this one
      plugins:
        score: {enabled: [{name: NetworkAware, weight: 0.8}]}
      pluginConfig:
      - {name: NetworkAware, args: {perPod: true}}
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ecotone.manifests.yamlpos import Node, did_you_mean, load_document
from ecotone.model.errors import InputError
from ecotone.scheduling import registry
from ecotone.scheduling.policies import POLICIES
from ecotone.scheduling.profile import POINTS, Profile, Solver, Use

API_VERSION = "ecotone.dev/v1alpha1"
KIND = "SchedulerConfiguration"
KUBE_KIND = "KubeSchedulerConfiguration"
KUBE_GROUP = "kubescheduler.config.k8s.io"
MULTI_POINT = "multiPoint"
MAX_BYTES = 4 * 1024 * 1024
# Read by kube-scheduler and meaningless here, or ours to know elsewhere; present in many files, so passed over.
_PASSED_OVER = (
    "leaderElection",
    "clientConnection",
    "parallelism",
    "percentageOfNodesToScore",
    "podInitialBackoffSeconds",
    "podMaxBackoffSeconds",
    "extenders",
    "enableProfiling",
    "enableContentionProfiling",
    "healthzBindAddress",
    "metricsBindAddress",
    "delayCacheUntilActive",
    "metadata",
)
_EXECUTORS_POINTS = ("preBind", "bind", "postBind")
_EXECUTORS_PLUGINS = ("DefaultBinder", "GangScheduling", "DeferredPodScheduling")
_PROFILE_KEYS = (
    "schedulerName",
    "name",
    "summary",
    "policy",
    "plugins",
    "pluginConfig",
    "tieBreak",
    "tieDraw",
    "solver",
    "percentageOfNodesToScore",
)


def read_configuration(path: Path) -> tuple[Profile, ...]:
    """The profiles of a file, each complete; InputError names line, column and the nearest valid word."""
    try:
        with path.open("rb") as stream:
            data = stream.read(MAX_BYTES + 1)
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror or error}", file=str(path)) from None
    if len(data) > MAX_BYTES:
        raise InputError(f"a configuration of more than {MAX_BYTES // 2**20} MiB", file=str(path))
    return parse_configuration(data, file=str(path))


def parse_configuration(data: str | bytes, *, file: str) -> tuple[Profile, ...]:
    root = load_document(data, file=file)
    _expect(root, "mapping", "a scheduler configuration")
    kube = _kind(root)
    _only(root, ("apiVersion", "kind", "profiles", *_PASSED_OVER))
    listed = root.get("profiles")
    if listed is None or not listed.elements():
        if kube and listed is None:
            return (POLICIES["kube-default"],)
        raise (listed or root).error("profiles must list at least one profile")
    profiles = tuple(_profile(each, kube=kube) for each in listed.elements())
    for place, profile in enumerate(profiles):
        if any(profile.name == other.name for other in profiles[:place]):
            raise listed.elements()[place].error(f"the profile {profile.name!r} appears twice")
    return profiles


def _kind(root: Node) -> bool:
    kind, version = root.get("kind"), root.get("apiVersion")
    if kind is None:
        raise root.error("the configuration has no kind", hint=f"kind: {KIND}")
    if kind.value not in (KIND, KUBE_KIND):
        raise kind.error(
            f"{kind.text!r} is no scheduler configuration", hint=did_you_mean(kind.text, (KIND, KUBE_KIND))
        )
    kube = kind.text == KUBE_KIND
    given = "" if version is None else version.text
    if version is not None and not given.startswith(f"{KUBE_GROUP}/" if kube else API_VERSION):
        raise version.error(f"{kind.text} of {given!r} is not known", hint=f"apiVersion: {API_VERSION}")
    return kube


def _profile(node: Node, *, kube: bool) -> Profile:
    _expect(node, "mapping", "a profile")
    _only(node, _PROFILE_KEYS)
    profile = _base(node, kube=kube)
    scheduler = _word(node, "schedulerName")
    if scheduler is not None:
        profile = replace(profile, scheduler_name=scheduler)
    summary = _word(node, "summary")
    if summary is not None:
        profile = replace(profile, summary=summary)
    name = _word(node, "name") or _word(node, "policy") or scheduler or "profile"
    profile = replace(profile, name=name)
    plugins = node.get("plugins")
    if plugins is not None and not plugins.is_null:
        profile = _with_plugins(profile, plugins)
    tie_break, tie_draw = node.get("tieBreak"), node.get("tieDraw")
    if tie_break is not None:
        profile = replace(profile, tie_break=_uses(tie_break))
    if tie_draw is not None:
        if not isinstance(tie_draw.value, bool):
            raise tie_draw.error(f"tieDraw must be true or false, not {tie_draw.describe()}")
        profile = replace(profile, tie_draw=tie_draw.value)
    config = node.get("pluginConfig")
    for each in () if config is None else config.elements():
        profile = _with_args(profile, each)
    solver = node.get("solver")
    return profile if solver is None else replace(profile, solver=_solver(solver))


def _base(node: Node, *, kube: bool) -> Profile:
    given = node.get("policy")
    if given is None:
        return POLICIES["kube-default"] if kube else Profile(name="profile")
    found = POLICIES.get(given.text)
    if found is None:
        raise given.error(f"unknown policy {given.text!r}", hint=did_you_mean(given.text, POLICIES))
    return found


def _with_plugins(profile: Profile, node: Node) -> Profile:
    _expect(node, "mapping", "plugins")
    _only(node, (MULTI_POINT, *POINTS, *_EXECUTORS_POINTS))
    points, disabled = dict(profile.points), dict(profile.disabled)
    for point, given in node.items():
        _expect(given, "mapping", point)
        _only(given, ("enabled", "disabled"))
        on = _uses(given.get("enabled"))
        off = frozenset(use.name for use in _uses(given.get("disabled"), star=True))
        if point in _EXECUTORS_POINTS:
            continue
        if point == MULTI_POINT:
            named = {use.name for use in on}
            left = () if "*" in off else tuple(use for use in profile.enabled if use.name not in off | named)
            profile = replace(profile, enabled=_in_place(profile.enabled, left, on))
        else:
            own = () if "*" in off else tuple(use for use in points.get(point, ()) if use.name not in off)
            points[point] = _in_place(points.get(point, ()), own, on)
            disabled[point] = disabled.get(point, frozenset()) | off
    return replace(
        profile,
        points={point: uses for point, uses in points.items() if uses},
        disabled={point: names for point, names in disabled.items() if names},
    )


def _in_place(before: Sequence[Use], left: Sequence[Use], on: Sequence[Use]) -> tuple[Use, ...]:
    """A plugin that was there and is named again keeps its place and takes the new weight; new ones come last."""
    renewed = {use.name: use for use in on}
    staying = {use.name for use in left} | {use.name for use in before if use.name in renewed}
    kept = tuple(renewed.pop(use.name, use) for use in before if use.name in staying)
    return (*kept, *renewed.values())


def _uses(node: Node | None, *, star: bool = False) -> tuple[Use, ...]:
    if node is None or node.is_null:
        return ()
    _expect(node, "sequence", "a list of plugins")
    found = []
    for each in node.elements():
        _expect(each, "mapping", "a plugin with its name")
        _only(each, ("name", "weight"))
        name = _word(each, "name")
        if name is None:
            raise each.error("a plugin without name")
        if not (star and name == "*") and name not in _EXECUTORS_PLUGINS:
            _known_plugin(each.get("name") or each)
        if name not in _EXECUTORS_PLUGINS:
            found.append(Use(name, _weight(each)))
    return tuple(found)


def _weight(node: Node) -> float:
    weight = node.get("weight")
    if weight is None or weight.is_null:
        return 1.0
    if isinstance(weight.value, bool) or not isinstance(weight.value, int | float) or not 0 < weight.value < 1e9:
        raise weight.error(f"weight must be a number above 0, not {weight.describe()}", hint="or disable the plugin")
    return float(weight.value)


def _known_plugin(node: Node) -> None:
    names = registry.plugin_names()
    if node.text not in names:
        raise node.error(f"unknown plugin {node.text!r}", hint=did_you_mean(node.text, names))


def _with_args(profile: Profile, node: Node) -> Profile:
    _expect(node, "mapping", "a plugin's configuration")
    _only(node, ("name", "args"))
    name = _word(node, "name")
    if name is None:
        raise node.error("a plugin's configuration without name")
    if name in _EXECUTORS_PLUGINS:
        return profile
    _known_plugin(node.get("name") or node)
    given = node.get("args")
    if given is None or given.is_null:
        return profile
    _expect(given, "mapping", "args")
    args = {key: value.plain() for key, value in given.items() if key not in ("apiVersion", "kind")}
    _known_args(given, args, _plugin_arguments(name))
    return profile.with_args(name, **args)


def _solver(node: Node) -> Solver:
    if node.is_scalar:
        name, given = node, None
    else:
        _only(node, ("name", "args"))
        name, given = node.get("name") or node, node.get("args")
    if name.text not in registry.solver_names():
        raise name.error(f"unknown solver {name.text!r}", hint=did_you_mean(name.text, registry.solver_names()))
    if given is None or given.is_null:
        return Solver(name.text)
    _expect(given, "mapping", "args")
    args = {key: value.plain() for key, value in given.items()}
    _known_args(given, args, arguments(registry.find_solver(name.text)))
    return Solver(name.text, args)


def _known_args(node: Node, args: Mapping[str, Any], known: Iterable[str] | None) -> None:
    """None: the factory takes anything."""
    if known is None:
        return
    names = list(known)
    for key in args:
        if key not in names:
            place = node.key(key) or node
            raise place.error(f"unknown argument {key!r}", hint=did_you_mean(key, names) or "it takes none")


def _only(node: Node, keys: Sequence[str]) -> None:
    for key, _ in node.items():
        if key not in keys:
            raise (node.key(key) or node).error(f"unknown key {key!r}", hint=did_you_mean(key, keys))


def _expect(node: Node, kind: str, what: str) -> None:
    if node.kind != kind:
        shape = {"mapping": "a mapping", "sequence": "a list"}[kind]
        raise node.error(f"{what} must be {shape}, not {node.describe()}")


def _word(node: Node, key: str) -> str | None:
    found = node.get(key)
    if found is None or found.is_null:
        return None
    if not isinstance(found.value, str):
        raise found.error(f"{key} must be text, not {found.describe()}", hint="quote it")
    return found.value


# Writing


def configuration_document(profiles: Iterable[Profile]) -> dict[str, Any]:
    """Profiles as a configuration that reads back to the same profiles."""
    return {"apiVersion": API_VERSION, "kind": KIND, "profiles": [_profile_document(each) for each in profiles]}


def _profile_document(profile: Profile) -> dict[str, Any]:
    shown: dict[str, Any] = {"schedulerName": profile.scheduler_name, "name": profile.name}
    if profile.summary:
        shown["summary"] = profile.summary
    plugins: dict[str, Any] = {}
    if profile.enabled:
        plugins[MULTI_POINT] = {"enabled": _uses_document(profile.enabled)}
    for point in POINTS:
        on, off = profile.points.get(point, ()), profile.disabled.get(point, frozenset())
        if on or off:
            plugins[point] = {
                **({"enabled": _uses_document(on)} if on else {}),
                **({"disabled": [{"name": name} for name in sorted(off)]} if off else {}),
            }
    if plugins:
        shown["plugins"] = plugins
    if profile.tie_break:
        shown["tieBreak"] = _uses_document(profile.tie_break)
    if profile.tie_draw:
        shown["tieDraw"] = True
    if profile.args:
        shown["pluginConfig"] = [{"name": name, "args": dict(args)} for name, args in sorted(profile.args.items())]
    if profile.solver is not None:
        args = {"args": dict(profile.solver.args)} if profile.solver.args else {}
        shown["solver"] = {"name": profile.solver.name, **args}
    return shown


def _uses_document(uses: Iterable[Use]) -> list[dict[str, Any]]:
    return [
        {
            "name": use.name,
            **({} if use.weight == 1 else {"weight": int(use.weight) if use.weight % 1 == 0 else use.weight}),
        }
        for use in uses
    ]


def _plugin_arguments(name: str) -> list[str] | None:
    return arguments(registry.find_plugin(name), by_place=True)


def arguments(factory: Any, *, by_place: bool = False) -> list[str] | None:
    """The keyword arguments a plugin or solver understands; None if it takes any, or nobody can tell.

    A solver's arguments by place are the snapshot and the pods, not the profile's to set.
    """
    try:
        parameters = inspect.signature(factory).parameters.values()
    except ValueError:
        return None
    if any(each.kind is inspect.Parameter.VAR_KEYWORD for each in parameters):
        return None
    kinds = {inspect.Parameter.KEYWORD_ONLY, *([inspect.Parameter.POSITIONAL_OR_KEYWORD] if by_place else [])}
    return [each.name for each in parameters if each.kind in kinds]
