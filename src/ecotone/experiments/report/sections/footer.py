"""How to get these figures again. No clock and no machine: a second run writes the same page."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from hashlib import sha256
from shlex import quote
from typing import Any

import ecotone
from ecotone.experiments.report.html import Markup, element
from ecotone.experiments.report.numbers import clock
from ecotone.experiments.report.reading import Policy
from ecotone.sim.scenario import Scenario


def footer(
    result: Mapping[str, Any], scenario: Scenario | None, policies: Sequence[Policy], extra: Mapping[str, Any]
) -> Markup:
    name = str(result.get("scenario") or (scenario.name if scenario else "unknown"))
    trials = max((policy.trials for policy in policies), default=0)
    facts = [("Scenario", name)]
    if scenario is not None:
        facts.append(
            ("Length", f"{clock(scenario.duration)} simulated, the first {clock(scenario.warmup)} not measured")
        )
    facts += [
        ("Seed", str(result.get("seed", "–"))),
        ("Trials", str(trials)),
        ("Policies", ", ".join(policy.name for policy in policies)),
        ("Version", f"ecotone {ecotone.__version__}"),
        ("Figures", f"sha256 {_digest(result)}"),
    ]
    command = extra.get("command") or _command(result, name, policies, trials)
    listed = element("dl", [element("div", element("dt", key), element("dd", value)) for key, value in facts])
    notes = [element("p", note) for note in extra.get("notes") or ()]
    again = element("p", "The same command gives the same figures, to the byte:")
    code = element("pre", element("code", command), tabindex=0, aria_label="Command")
    return element("footer", element("h2", "Get these figures again"), listed, again, code, notes)


def _command(result: Mapping[str, Any], name: str, policies: Sequence[Policy], trials: int) -> str:
    words = ["ecotone", "simulate", quote(name)]
    for policy in policies:
        words += ["--policy", quote(policy.name)]
    words += ["--trials", str(trials), "--seed", quote(str(result.get("seed", 0)))]
    return " ".join([*words, "--report", "report"])


def _digest(result: Mapping[str, Any]) -> str:
    """Of the figures as canonical JSON, to tell two pages' figures apart at a glance."""
    text = json.dumps(result, sort_keys=True, separators=(",", ":"), default=str)
    return sha256(text.encode(errors="backslashreplace")).hexdigest()[:16]
