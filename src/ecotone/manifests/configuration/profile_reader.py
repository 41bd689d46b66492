"""Scheduler configurations: profiles as YAML, read with positions.

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
      descheduler: {minGain: 5}       # see `descheduler`; null: running pods stay
      objective: {unit: points, report: traffic}
      allOrNothing: false
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from ecotone.manifests.configuration.arguments import read_arguments
from ecotone.manifests.configuration.descheduler import read_descheduler
from ecotone.manifests.configuration.expecting import choice, expect, flag, only, word
from ecotone.manifests.configuration.uses import EXECUTORS_PLUGINS, known_plugin, plugin_name, read_uses
from ecotone.manifests.spelling import did_you_mean
from ecotone.manifests.yaml.positions import Node, load_document
from ecotone.model.errors import InputError
from ecotone.scheduling.plugin import GANG
from ecotone.scheduling.profiles import registry
from ecotone.scheduling.profiles.policies import POLICIES
from ecotone.scheduling.profiles.profile import POINTS, Objective, Profile, Solver, Use

API_VERSION = "ecotone.dev/v1alpha1"
KIND = "SchedulerConfiguration"
KUBE_KIND = "KubeSchedulerConfiguration"
KUBE_GROUP = "kubescheduler.config.k8s.io"
MULTI_POINT = "multiPoint"
MAX_BYTES = 4 * 1024 * 1024
# Read by kube-scheduler and meaningless here, or ours to know elsewhere; present in many files, so passed over.
PASSED_OVER = (
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
EXECUTORS_POINTS = ("preBind", "bind", "postBind")
PROFILE_KEYS = {
    "schedulerName": "Whose pods it places: those whose `spec.schedulerName` is this.",
    "name": "Its own name, in tables and records; else that of `policy`, else `schedulerName`.",
    "summary": "One line for people.",
    "policy": "The built-in policy to start from; without it nothing is enabled.",
    "plugins": "Which plugins run, by point.",
    "pluginConfig": "A list of `{name, args}`: arguments of plugins.",
    "tieBreak": "Plugins, as a list of `{name, weight}`, whose sum decides between equal totals.",
    "tieDraw": "True: what is still equal is drawn by seed, as kube-scheduler draws; else the first by name is taken.",
    "solver": "A name, or `{name, args}`: the solver that places whole applications instead of the plugins.",
    "descheduler": "How running pods are moved; null: they stay.",
    "objective": "`{unit, report}`: the unit of gains, and the figures that a plan shows before and after.",
    "allOrNothing": "True: groups of pods are placed as wholes or not at all.",
    "percentageOfNodesToScore": "Read for kube-scheduler's sake and passed over: all nodes are scored.",
}


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
    expect(root, "mapping", "a scheduler configuration")
    kube = _kind(root)
    only(root, ("apiVersion", "kind", "profiles", *PASSED_OVER))
    listed = root.get("profiles")
    if listed is None or not listed.elements():
        if kube and listed is None:
            return (POLICIES["kube-default"],)
        raise (listed or root).error("profiles must list at least one profile")
    profiles = tuple(_profile(each, kube=kube) for each in listed.elements())
    for index, profile in enumerate(profiles):
        if any(profile.name == other.name for other in profiles[:index]):
            raise listed.elements()[index].error(f"the profile {profile.name!r} appears twice")
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
    expect(node, "mapping", "a profile")
    only(node, PROFILE_KEYS)
    profile = _base(node, kube=kube)
    scheduler = word(node, "schedulerName")
    if scheduler is not None:
        profile = replace(profile, scheduler_name=scheduler)
    summary = word(node, "summary")
    if summary is not None:
        profile = replace(profile, summary=summary)
    name = word(node, "name") or word(node, "policy") or scheduler or "profile"
    profile = replace(profile, name=name)
    plugins = node.get("plugins")
    if plugins is not None and not plugins.is_null:
        profile = _with_plugins(profile, plugins)
    tie_break, tie_draw = node.get("tieBreak"), node.get("tieDraw")
    if tie_break is not None:
        profile = replace(profile, tie_break=read_uses(tie_break, at="score"))
    if tie_draw is not None:
        profile = replace(profile, tie_draw=flag(tie_draw, "tieDraw"))
    config = node.get("pluginConfig")
    for each in () if config is None else config.elements():
        profile = _with_args(profile, each)
    solver = node.get("solver")
    if solver is not None:
        profile = replace(profile, solver=_solver(solver))
    return _with_intent(profile, node)


def _with_intent(profile: Profile, node: Node) -> Profile:
    """How running pods are moved, what gains and plans are measured by, and whether groups are placed as wholes."""
    moving, objective, whole = node.get("descheduler"), node.get("objective"), node.get("allOrNothing")
    if moving is not None:
        profile = replace(profile, descheduler=read_descheduler(moving, profile.descheduler))
    if objective is not None:
        profile = replace(profile, objective=_objective(objective, profile.objective))
    if whole is not None:
        return replace(profile, all_or_nothing=flag(whole, "allOrNothing"))
    # A file that enables a plugin which knows groups wants it to be asked.
    holds_groups = any(GANG.offered_by(registry.find_plugin(use.name)) for use in profile.at("permit"))
    return replace(profile, all_or_nothing=profile.all_or_nothing or holds_groups)


def _objective(node: Node, base: Objective) -> Objective:
    expect(node, "mapping", "objective")
    only(node, ("unit", "report"))
    report = node.get("report")
    named = base.report if report is None else choice(report, registry.report_names(), "report")
    return Objective(unit=word(node, "unit") or base.unit, report=named)


def _base(node: Node, *, kube: bool) -> Profile:
    given = node.get("policy")
    if given is None:
        return POLICIES["kube-default"] if kube else Profile(name="profile")
    found = POLICIES.get(given.text)
    if found is None:
        raise given.error(f"unknown policy {given.text!r}", hint=did_you_mean(given.text, POLICIES))
    return found


def _with_plugins(profile: Profile, node: Node) -> Profile:
    expect(node, "mapping", "plugins")
    only(node, (MULTI_POINT, *POINTS, *EXECUTORS_POINTS))
    points, disabled = dict(profile.points), dict(profile.disabled)
    for point, given in node.items():
        expect(given, "mapping", point)
        only(given, ("enabled", "disabled"))
        on = read_uses(given.get("enabled"), at=point if point in POINTS else None)
        off = frozenset(use.name for use in read_uses(given.get("disabled"), star=True))
        if point in EXECUTORS_POINTS:
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


def _with_args(profile: Profile, node: Node) -> Profile:
    expect(node, "mapping", "a plugin's configuration")
    only(node, ("name", "args"))
    name = word(node, "name")
    if name is None:
        raise node.error("a plugin's configuration without name")
    if name in EXECUTORS_PLUGINS:
        return profile
    known_plugin(node.get("name") or node)
    name = plugin_name(node.get("name") or node)
    given = node.get("args")
    if given is None or given.is_null:
        return profile
    return profile.with_args(name, **read_arguments(given, registry.find_plugin(name), by_place=True))


def _solver(node: Node) -> Solver:
    if node.is_scalar:
        name, given = node, None
    else:
        only(node, ("name", "args"))
        name, given = node.get("name") or node, node.get("args")
    if name.text not in registry.solver_names():
        raise name.error(f"unknown solver {name.text!r}", hint=did_you_mean(name.text, registry.solver_names()))
    if given is None or given.is_null:
        return Solver(name.text)
    return Solver(name.text, read_arguments(given, registry.find_solver(name.text)))
