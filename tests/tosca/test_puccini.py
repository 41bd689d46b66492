"""The same templates read by Puccini and by us.

For every file both must agree on validity and, where valid, on node templates, types, property values (inherited,
overridden and computed) and on where requirements lead. `disagreements.yaml` lists the exceptions with the clause of
the standard that decides each; an exception that no longer holds fails as well. The broken files are compared by what
the standard says, not by what Kubernetes would refuse.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from importlib import resources
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import yaml

from tosca.normal_form import ours

HERE = Path(__file__).parent
EXAMPLES = HERE.parent.parent / "examples" / "tosca"
DISAGREEMENTS: dict[str, dict[str, str]] = yaml.safe_load((HERE / "disagreements.yaml").read_text(encoding="utf-8"))
GOOD = [f"valid/{path.name}" for path in sorted((HERE / "valid").glob("*.yaml"))]
GOOD += [f"examples/{path.name}" for path in sorted(EXAMPLES.glob("*.yaml"))]
BROKEN = [f"broken/{path.name}" for path in sorted((HERE / "broken").glob("*.yaml"))]
HANGING = [name for name, entry in DISAGREEMENTS.items() if entry["differs"] == "puccini hangs"]
SAMPLE = [name for name in [*GOOD[::4], *GOOD[1::4], *GOOD[2::4], *BROKEN[::9]] if name not in HANGING]
REST = [name for name in [*GOOD, *BROKEN] if name not in SAMPLE]

pytestmark = pytest.mark.skipif(find_spec("puccini") is None, reason="pip install puccini (CPython 3.11) to compare")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Copies for Puccini, which finds the profile beside the templates and counts a file per path."""
    root = tmp_path_factory.mktemp("puccini")
    for name, source in (("valid", HERE / "valid"), ("broken", HERE / "broken"), ("examples", EXAMPLES)):
        shutil.copytree(source, root / name)
        profile = root / name / "ecotone" / "profile.yaml"
        profile.parent.mkdir()
        profile.write_bytes(resources.files("ecotone.tosca").joinpath("profiles/ecotone/profile.yaml").read_bytes())
        for types in (root / name / "types").glob("*.yaml"):
            types.write_text(types.read_text(encoding="utf-8").replace("ecotone/profile", "../ecotone/profile"))
    return root


def theirs(path: Path) -> dict[str, Any]:
    oracle = HERE / "puccini_oracle.py"
    patience = 5 if f"{path.parent.name}/{path.name}" in HANGING else 120
    command = [sys.executable, str(oracle), path.name]
    try:
        done = subprocess.run(command, cwd=path.parent, capture_output=True, text=True, timeout=patience)
    except subprocess.TimeoutExpired:
        return {"valid": None, "why": ["no answer"]}
    assert done.returncode == 0, done.stderr[-500:]
    return dict(json.loads(done.stdout))


def mine(name: str) -> dict[str, Any]:
    where, file = name.split("/")
    return ours((EXAMPLES if where == "examples" else HERE / where) / file)


def difference(name: str, folder: Path) -> str:
    """How Puccini differs from us, in the words of disagreements.yaml; empty when it does not."""
    us, them = mine(name), theirs(folder / name)
    if them["valid"] is None:
        return "puccini hangs"
    if us["valid"] != them["valid"]:
        return "puccini accepts" if them["valid"] else "puccini refuses"
    if not us["valid"]:
        return ""
    return "" if us["nodes"] == them["nodes"] else "values"


def compare(names: list[str], folder: Path) -> None:
    with ThreadPoolExecutor(2) as pool:
        found = dict(zip(names, pool.map(lambda name: difference(name, folder), names), strict=True))
    expected = {name: DISAGREEMENTS.get(name, {}).get("differs", "") for name in names}
    assert found == expected


def test_the_sample_is_as_large_as_promised() -> None:
    assert len(SAMPLE) >= 40
    assert sum(name in BROKEN for name in SAMPLE) >= 8


def test_every_disagreement_names_its_clause() -> None:
    assert set(DISAGREEMENTS) <= {*GOOD, *BROKEN}
    for name, entry in DISAGREEMENTS.items():
        assert set(entry) == {"differs", "clause", "reason"}, name


@pytest.mark.lasting
def test_both_read_a_sample_alike(folder: Path) -> None:
    compare(SAMPLE, folder)


@pytest.mark.slow
def test_both_read_all_the_others_alike(folder: Path) -> None:
    compare(REST, folder)
