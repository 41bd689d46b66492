"""Compiles the simulator's hot path (src/ecotone/sim/hot_path.py says which modules) with mypyc, where a C compiler is.

    python scripts/compile.py

Does nothing when the binaries fit the sources. mypyc need not be installed: scripts/aside lends it for as long as it takes.
Binaries are built aside and put in place by one rename, so that a run that starts meanwhile sees all of them or none; those
of earlier sources are removed. Where something is missing, one line on stderr says what, and the simulator stays with the
sources, which give the same results to the byte. In CI (CI=true) that is an error.
"""

from __future__ import annotations

import os
import runpy
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from importlib.util import find_spec
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "src/ecotone/sim"
PACKAGES = ("mypyc", "setuptools")
LENDER = (ROOT / "scripts/aside", ROOT / "requirements/build.lock")
# Results must not depend on who computed them: a*b+c rounds twice, as it does in Python, on machines that could do it once.
SAME_ROUNDING = "-ffp-contract=off"
# The modules are checked elsewhere, by strict rules. Here nothing but themselves is looked at, so that what comes out depends
# on their text alone: not on other modules, nor on which libraries have brought their types.
SETTINGS = """
[mypy]
mypy_path = src
namespace_packages = True
explicit_package_bases = True
ignore_missing_imports = True
follow_imports = skip
[mypy-numpy.*]
follow_imports = skip
follow_imports_for_stubs = True
"""


def missing() -> str | None:
    """What compiling would need and does not find."""
    compiler = shlex.split(os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc")[0]
    if shutil.which(compiler) is None:
        return f"no C compiler ({compiler})"
    header = Path(sysconfig.get_path("include"), "Python.h")
    if not header.is_file():
        return f"no {header}"
    for package in PACKAGES:
        if not (find_spec(package) or LENDER[0].is_file()):
            return f"no Python package {package}"
    return None


def command() -> list[str]:
    """What builds: this very file, in a process of its own, where mypyc is or with one that is lent."""
    lent = [] if all(map(find_spec, PACKAGES)) else [str(LENDER[0]), sys.executable, str(LENDER[1])]
    return [*lent, "python" if lent else sys.executable, __file__, "--build"]


def build(hot_path: dict[str, Any], scratch: Path) -> Path:
    """Translate and compile below `scratch`; returns the folder that holds the extension modules."""
    from mypyc.build import mypycify
    from setuptools import Distribution
    from setuptools.command.build_ext import build_ext

    settings = scratch / "mypy.ini"
    settings.write_text(SETTINGS)
    extensions = mypycify(
        ["--config-file", str(settings), *(f"src/ecotone/sim/{name}.py" for name in hot_path["MODULES"])],
        opt_level="3",
        debug_level="0",
        target_dir=str(scratch / "c"),
        group_name=hot_path["GROUP"],
    )
    for extension in extensions:
        extension.extra_compile_args.append(SAME_ROUNDING)
    command = build_ext(Distribution({"name": "ecotone", "ext_modules": extensions}))
    command.build_lib, command.build_temp = str(scratch / "lib"), str(scratch / "objects")
    command.ensure_finalized()
    command.run()
    return scratch / "lib/ecotone/sim"


def put_in_place(made: Path, target: Path) -> None:
    target.parent.mkdir(exist_ok=True)
    aside = Path(tempfile.mkdtemp(prefix=".new-", dir=target.parent))
    aside.chmod(0o755)
    for file in made.iterdir():
        shutil.copy2(file, aside)
    try:
        aside.rename(target)
    except OSError:  # somebody else was faster
        shutil.rmtree(aside)
    for other in target.parent.iterdir():
        if other != target and not other.name.startswith("."):
            shutil.rmtree(other, ignore_errors=True)


def main() -> int:
    hot_path = runpy.run_path(str(PACKAGE / "hot_path.py"))
    target = hot_path["place"](PACKAGE)
    if target.is_dir():
        return 0
    if "--build" in sys.argv:  # in a process of its own: mypyc exits where others raise, and writes to stdout
        with tempfile.TemporaryDirectory(prefix="ecotone-compile-") as scratch:
            put_in_place(build(hot_path, Path(scratch)), target)
        return 0
    reason = missing()
    if reason is None:
        sys.stderr.write("compile: the simulator's hot path (half a minute)\n")
        done = subprocess.run(command(), cwd=ROOT, capture_output=True, text=True, check=False)  # noqa: S603 - see there
        if done.returncode == 0:
            return 0
        sys.stderr.write(done.stdout[-4000:] + done.stderr[-4000:])
        reason = "compiling failed, see above"
    sys.stderr.write(f"compile: {reason}; the simulator runs in pure Python: the same results, slower\n")
    return 1 if os.environ.get("CI") == "true" else 0


if __name__ == "__main__":
    raise SystemExit(main())
