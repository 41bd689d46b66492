"""What a bed that is gone may have left on the machine: looked for by name, so that nobody else's things are taken for ours."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from ecotone.testbed.layout import BRIDGE, NAME, NODE_PREFIX, POD_PREFIX
from ecotone.testbed.node import cgroups
from ecotone.testbed.processes import run

OURS = "ecotone.testbed."
PROC = Path("/proc")


def leftovers() -> list[str]:
    """Interfaces, namespaces, routes, rules, mounts, cgroups and processes of any bed; one line each."""
    return [*_network(), *_mounts(), *_cgroups(), *_processes()]


def _network() -> Iterator[str]:
    for line in run("ip", "-o", "link", "show", check=False).splitlines():
        if BRIDGE in line:
            yield f"interface {line.split(':')[1].strip()}"
    for line in run("ip", "netns", "list", check=False).splitlines():
        if line.startswith(NAME):
            yield f"namespace {line.split()[0]}"
    for what, command in (("route", ("ip", "route", "show")), ("rule", ("nft", "list", "ruleset"))):
        for line in run(*command, check=False).splitlines():
            if BRIDGE in line or NODE_PREFIX in line or POD_PREFIX in line:
                yield f"{what} {line.strip()}"


def _mounts() -> Iterator[str]:
    for line in (PROC / "self" / "mountinfo").read_text().splitlines():
        if NAME in line:
            yield f"mount {line.split()[4]}"


def _cgroups() -> Iterator[str]:
    yield from (f"cgroup {each}" for each in cgroups.ROOT.glob(f"*/{NAME}"))


def _processes() -> Iterator[str]:
    for entry in PROC.iterdir():
        if entry.name.isdigit():
            try:
                command = (entry / "cmdline").read_bytes().decode(errors="replace").split("\0")
                group = (entry / "cgroup").read_text()
            except OSError:
                continue  # ended in the meantime
            if f"/{NAME}/" in group or any(part.startswith(OURS) for part in command):
                yield f"process {entry.name} ({' '.join(command)[:80].strip()})"
