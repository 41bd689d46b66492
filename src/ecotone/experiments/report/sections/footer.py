"""How to get these figures again. No clock and no machine: a second run writes the same page."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from hashlib import sha256
from shlex import quote
from typing import Any

import ecotone
from ecotone.drawing.html import Markup, element
from ecotone.drawing.numbers import clock
from ecotone.experiments.report.results import Policy
from ecotone.sim.scenario import Scenario


def footer(
    result: Mapping[str, Any], scenario: Scenario | None, policies: Sequence[Policy], extra: Mapping[str, Any]
) -> Markup:
    name = str(result.get("scenario") or (scenario.name if scenario else "unknown"))
    trials = max((policy.trials for policy in policies), default=0)
    text = extra.get("text")
    facts = [("Scenario", name)]
    if text is not None:
        hashed = sha256(str(text).encode(errors="backslashreplace")).hexdigest()[:16]
        facts.append(("Scenario file", f"{extra.get('source', name)}, sha256 {hashed}"))
    if scenario is not None:
        facts.append(
            ("Length", f"{clock(scenario.duration)} simulated, the first {clock(scenario.warmup)} not measured")
        )
    facts += [
        ("Seed", str(result.get("seed", "–"))),
        ("Trials", str(trials)),
        ("Policies", ", ".join(policy.name for policy in policies)),
        ("Version", f"ecotone {ecotone.__version__}"),
        ("Figures", f"sha256 {digest(result)}"),
    ]
    command = extra.get("command") or _command(result, name, policies, trials, extra)
    notes = [element("p", note) for note in extra.get("notes") or ()]
    return again(facts, command, _file(text), notes)


def again(
    facts: Sequence[tuple[str, str]],
    command: str,
    *more: object,
    sentence: str = "The same command gives the same figures, to the byte:",
) -> Markup:
    """The foot of every page: what it was made from, and the command that makes it again."""
    listed = element("dl", [element("div", element("dt", key), element("dd", value)) for key, value in facts])
    code = element("pre", element("code", command), tabindex=0, aria_label="Command")
    return element("footer", element("h2", "Get these figures again"), listed, element("p", sentence), code, *more)


def _file(text: object) -> Markup | None:
    """The scenario itself, so that the page is enough to get its figures again."""
    if text is None:
        return None
    shown = element("pre", element("code", str(text), id="scenario-file"), tabindex=0, aria_label="Scenario file")
    return element("details", element("summary", "The scenario file"), shown)


def _command(
    result: Mapping[str, Any], name: str, policies: Sequence[Policy], trials: int, extra: Mapping[str, Any]
) -> str:
    """`source` is the scenario as it was given, a name or a file; `arguments` how the policies were."""
    words = ["ecotone", "simulate", quote(str(extra.get("source") or name))]
    given = extra.get("arguments")
    named = [word for policy in policies for word in ("--policy", policy.name)] if given is None else list(given)
    words += [quote(word) for word in named]
    words += ["--trials", str(trials), "--seed", quote(str(result.get("seed", 0)))]
    return " ".join([*words, "--report", "report"])


def digest(result: Mapping[str, Any]) -> str:
    """Of the figures as canonical JSON, to tell two pages' figures apart at a glance."""
    text = json.dumps(result, sort_keys=True, separators=(",", ":"), default=str)
    return sha256(text.encode(errors="backslashreplace")).hexdigest()[:16]
