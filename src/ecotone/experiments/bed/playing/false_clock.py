"""A clock for Ecotone's own programs that can be set while they run.

The kernel's clock is one for all namespaces, so a step of it cannot be tried on one node. Debian's libfaketime tells a single
process another time, read from a file whenever it asks. Intervals (the monotonic clock) stay true, as after a real step.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ecotone.model.errors import OutsideError

LIBRARIES = tuple(Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1"))
_MOUNT, _LIBRARY_MOUNT = "/clock", "/faketime"


class FalseClock:
    """`directory` is on the machine; pods see it, because the nodes of a bed share the machine's files."""

    def __init__(self, directory: Path) -> None:
        if not LIBRARIES:
            raise OutsideError("libfaketime is not installed (apt-get install faketime)")
        self._directory = directory
        directory.mkdir(parents=True, mode=0o755)
        self.set(0)

    def set(self, seconds: float) -> None:
        """Ahead of the true time by so much."""
        (self._directory / "offset").write_text(f"{seconds:+g}\n")

    def give_to(self, pod: dict[str, Any]) -> None:
        """Makes the containers of a pod's specification go by this clock."""
        environment = {
            "LD_PRELOAD": f"{_LIBRARY_MOUNT}/{LIBRARIES[0].name}",
            "FAKETIME_TIMESTAMP_FILE": f"{_MOUNT}/offset",
            "FAKETIME_NO_CACHE": "1",
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
        }
        places = {"clock": (self._directory, _MOUNT), "faketime": (LIBRARIES[0].parent, _LIBRARY_MOUNT)}
        pod.setdefault("volumes", []).extend(
            {"name": name, "hostPath": {"path": str(source), "type": "Directory"}}
            for name, (source, _) in places.items()
        )
        for container in pod["containers"]:
            container.setdefault("env", []).extend({"name": key, "value": text} for key, text in environment.items())
            container.setdefault("volumeMounts", []).extend(
                {"name": name, "mountPath": where, "readOnly": True} for name, (_, where) in places.items()
            )
