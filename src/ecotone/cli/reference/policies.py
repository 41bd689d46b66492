"""Every policy, and every plugin, rule and solver that policies are made of, from profiles and docstrings."""

from __future__ import annotations

import inspect
import sys
from dataclasses import fields
from typing import Any

from ecotone.cli.reference.markdown import anchor, code, prose, table, value
from ecotone.cli.reference.markdown import page as whole
from ecotone.descheduling.plans.limits import Care
from ecotone.placement.kubedsm import configuration
from ecotone.scheduling.plugin import points_of
from ecotone.scheduling.profiles import registry
from ecotone.scheduling.profiles.policies import KUBERNETES, POLICIES
from ecotone.scheduling.profiles.profile import Profile, Use

_HEAD = """A policy is a profile: plugins with weights, or a solver. `ecotone policies NAME -o yaml` prints one as a file to
change and pass back with `--config` ([profile file](profiles.md)). All policies keep Kubernetes' filters unless their profile
says otherwise; what follows lists what each adds. Arguments are given under `pluginConfig`, in the spelling used here."""

# Arguments that are handed on as they are, and read elsewhere.
_RULES_OWN = {
    "plans": (
        f"Arguments: {prose(Care.__doc__)}",
        table(
            ["argument", "type", "default"],
            [[code(each.name), code(each.type), code(value(each.default))] for each in fields(Care)],
        ),
    )
}
_SOLVERS_OWN = {
    "kubedsm": (
        prose(configuration.__doc__),
        table(["argument", "meaning"], [[code(key), meaning] for key, meaning in configuration.KEYS.items()]),
    )
}


def page() -> str:
    rows = [[f"[{name}](#{anchor(name)})", profile.summary] for name, profile in POLICIES.items()]
    parts = [_HEAD, table(["policy", "in short"], rows), "## Policies"]
    for profile in POLICIES.values():
        parts += [f"### {profile.name}", *_policy(profile)]
    parts.append("## Plugins")
    for name in sorted(registry.built_in_names()):
        parts += [f"### Plugin {name}", *_plugin(name)]
    parts.append("## Rules of descheduling")
    for name in registry.rule_names():
        parts += [f"### Rule {name}", *_function(registry.find_rule(name)), *_RULES_OWN.get(name, ())]
    parts.append("## Solvers")
    for name in registry.solver_names():
        parts += [f"### Solver {name}", *_function(registry.find_solver(name)), *_SOLVERS_OWN.get(name, ())]
    return whole("Policies and plugins", *parts)


def _policy(profile: Profile) -> list[str]:
    parts = [_sentence(profile.summary)]
    if profile.solver is not None:
        parts.append(f"Decided by the [solver {profile.solver.name}](#{anchor(f'Solver {profile.solver.name}')}).")
    else:
        parts.append(_made_of(profile))
    if profile.args:
        said = "; ".join(
            f"{_link(name)} {', '.join(code(f'{key}: {value(each)}') for key, each in args.items())}"
            for name, args in profile.args.items()
        )
        parts.append(f"Arguments that differ from the defaults: {said}.")
    moving = profile.descheduler
    rule = None if moving is None else f"[{moving.rule}](#{anchor(f'Rule {moving.rule}')})"
    parts.append("Running pods stay where they are." if rule is None else f"Running pods are moved by the rule {rule}.")
    return ["\n".join(parts)]


def _made_of(profile: Profile) -> str:
    known = {use.name for use in KUBERNETES}
    score = ", ".join(_use(use) for use in profile.at("score") if _scores(use))
    more = [_link(use.name) for use in profile.enabled if use.name not in known]
    told = f"Score: {score}." if score else "Score: none."
    told += f" Further plugins: {', '.join(dict.fromkeys(more))}." if more else ""
    if profile.tie_break:
        told += " Equal totals are decided by Kubernetes' default scores."
    return told + (" Ties are drawn." if profile.tie_draw else "")


def _scores(use: Use) -> bool:
    return "score" in points_of(registry.find_plugin(use.name))


def _use(use: Use) -> str:
    return f"{_link(use.name)} x {use.weight:g}"


def _link(name: str) -> str:
    return f"[{name}](#{anchor(f'Plugin {name}')})"


def _sentence(text: str) -> str:
    return f"{text if '-' in text.split(maxsplit=1)[0] else text[:1].upper() + text[1:]}."


def _plugin(name: str) -> list[str]:
    factory: Any = registry.find_plugin(name)
    points = points_of(factory)
    told = f"Runs at {', '.join(code(point) for point in points)}." if points else ""
    return [told, prose(_module_of(factory)), _arguments(factory.__init__)]


def _function(found: Any) -> list[str]:
    return [prose(found.__doc__ or _module_of(found)), _arguments(found)]


def _module_of(found: Any) -> str | None:
    return sys.modules[found.__module__].__doc__


def _arguments(made_by: Any) -> str:
    parameters = [
        each for each in inspect.signature(made_by).parameters.values() if each.kind is inspect.Parameter.KEYWORD_ONLY
    ]
    rows = [[code(each.name), code(_type(each)), code(value(each.default))] for each in parameters]
    return table(["argument", "type", "default"], rows) if rows else ""


def _type(parameter: inspect.Parameter) -> str:
    return str(parameter.annotation)
