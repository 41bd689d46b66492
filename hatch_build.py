"""Wheels carry the simulator's hot path compiled, where they are built with a C compiler; elsewhere they are pure Python."""

from __future__ import annotations

import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class CompiledHotPath(BuildHookInterface[Any]):
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        root = Path(self.root)
        subprocess.run([sys.executable, str(root / "scripts/compile.py")], check=True)  # noqa: S603 - a file of this folder
        package = root / "src/ecotone/sim"
        folder: Path = runpy.run_path(str(package / "hot_path.py"))["place"](package)
        if version == "editable" or not folder.is_dir():
            return
        build_data["pure_python"] = False
        build_data["infer_tag"] = True
        for file in sorted(folder.iterdir()):
            build_data["force_include"][str(file)] = f"ecotone/sim/{folder.parent.name}/{folder.name}/{file.name}"
