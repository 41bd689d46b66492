"""The profile file and the settings of the descheduler, from what their readers accept."""

from __future__ import annotations

from ecotone.cli.reference.markdown import code, prose, table, value
from ecotone.cli.reference.markdown import page as whole
from ecotone.manifests.configuration import descheduler, profile_reader
from ecotone.scheduling.profiles import registry
from ecotone.scheduling.profiles.profile import POINTS
from ecotone.scheduling.profiles.windows import __doc__ as windows

_POINTS = """Under `plugins`, each point has `enabled` (a list of `{name, weight}`) and `disabled` (a list of `{name}`, `*` for
all). `multiPoint` enables a plugin at every point it implements. A plugin is named as in [policies and plugins](policies.md),
by an entry point, or by its file: `./my_plugin.py:Class`, relative to the profile's own. The points are """


def page() -> str:
    rules = registry.rule_names()
    rows = [
        [code(key), *(code(value(getattr(registry.settings_of_rule(rule), field))) for rule in rules), meaning]
        for key, (field, _, meaning) in descheduler.KEYS.items()
    ]
    return whole(
        "Profile file and descheduler settings",
        prose(profile_reader.__doc__).partition("\n\n")[2],
        "## A profile",
        table(["key", "meaning"], [[code(key), meaning] for key, meaning in profile_reader.PROFILE_KEYS.items()]),
        f"{_POINTS}{', '.join(code(point) for point in POINTS)}.",
        "## Settings of the descheduler",
        prose(descheduler.__doc__).partition("\n\n")[2],
        "Every rule comes with settings of its own, from which a profile starts:",
        table(["key", *(f"{code(rule)}" for rule in rules), "meaning"], rows),
        "What the rules do, and their own `args`, is in [policies and plugins](policies.md#rules-of-descheduling).",
        "## Windows",
        prose(windows),
    )
