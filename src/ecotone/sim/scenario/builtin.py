"""The scenarios that ship, and finding a scenario by name or by file."""

from __future__ import annotations

from importlib import resources
from pathlib import Path

from ecotone.model.errors import InputError, did_you_mean
from ecotone.sim.scenario.families.kubedsm import kubedsm_scenarios
from ecotone.sim.scenario.families.replicated import replicated_scenarios
from ecotone.sim.scenario.families.sock_shop import sock_shop_scenarios
from ecotone.sim.scenario.families.taxis import NAME as POGONIP_2
from ecotone.sim.scenario.families.taxis import pogonip_2
from ecotone.sim.scenario.reader import read_scenario
from ecotone.sim.scenario.schema import Scenario

_LARGEST = 8 * 1024 * 1024


def builtin_scenarios() -> dict[str, str]:
    """Name -> text of the scenario file."""
    folder = resources.files("ecotone.sim") / "scenarios"
    files = {
        entry.name.removesuffix(".yaml"): entry.read_text(encoding="utf-8")
        for entry in sorted(folder.iterdir(), key=lambda each: each.name)
        if entry.name.endswith(".yaml") and not entry.name.endswith(".template.yaml")
    }
    return {**sock_shop_scenarios(), **files, POGONIP_2: pogonip_2(), **kubedsm_scenarios(), **replicated_scenarios()}


def load_scenario(name: str) -> Scenario:
    """A built-in scenario by name, or the scenario in a file."""
    return read_text(name)[2]


def read_text(name: str) -> tuple[str, str, Scenario]:
    """The text of a scenario, what its file is called, and what it says."""
    known = builtin_scenarios()
    if name in known:
        file = f"{name}.yaml"
        return known[name], file, read_scenario(known[name], file=file)
    path = Path(name)
    if not path.exists():
        hint = did_you_mean(name, known) or "see `ecotone scenarios`"
        raise InputError(f"there is no scenario {name!r} and no such file", hint=hint)
    try:
        with path.open("rb") as stream:
            content = stream.read(_LARGEST + 1)
            told = path.stat().st_size
    except OSError as error:
        raise InputError(f"cannot read {name}: {error.strerror}") from None
    if len(content) > _LARGEST:
        size = f"{told:,} bytes" if told > _LARGEST else "more"
        raise InputError(f"a scenario has at most {_LARGEST:,} bytes, this one {size}", file=name)
    scenario = read_scenario(content, file=name)
    return content.decode("utf-8-sig"), name, scenario
