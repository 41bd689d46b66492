"""A stand-in for the image that the Dockerfile begins with, made from this machine's Python where no registry is reachable.

It has what the Dockerfile's steps ask of it: an interpreter with its standard library and pip, a shell, the libraries they
load, and this machine's settings for pip, so that packages come from where they come from here.
"""

from __future__ import annotations

import os
import re
import sys
import sysconfig
from collections.abc import Iterator
from importlib.metadata import distribution
from pathlib import Path

from ecotone.testbed.images.archive import Entry, Image, write_image
from ecotone.testbed.images.contents import CERTIFICATES, dependencies
from ecotone.testbed.images.libraries import libraries

SHELL = Path("/bin/sh")
SETTINGS = Path("/etc/pip.conf")
_LEFT_OUT = frozenset(
    {"test", "tests", "idlelib", "tkinter", "turtledemo", "__pycache__", "site-packages", "dist-packages"}
)
_PIP = re.compile(r"PIP_(INDEX_URL|EXTRA_INDEX_URL|CERT|DEFAULT_TIMEOUT)|(https?|no)_proxy", flags=re.IGNORECASE)


def write_base(name: str, out: Path) -> None:
    python = Path(sys.executable).resolve()
    library = f"usr/local/lib/python{sys.version_info.major}.{sys.version_info.minor}"
    entries = [Entry(f"usr/local/bin/{name}", python, 0o755) for name in ("python", "python3")]
    entries += [Entry(f"{library}/{path}", file) for path, file in _standard_library()]
    entries += [Entry(f"{library}/site-packages/{path}", file) for path, file in _pip()]
    entries += [Entry(f"usr/local/lib/{each.name}", each) for each in Path(sys.base_prefix).glob("lib/libpython*.so.*")]
    entries.append(Entry(str(SHELL).lstrip("/"), SHELL.resolve(), 0o755))
    entries += [Entry(str(each).lstrip("/"), each) for each in (CERTIFICATES, SETTINGS) if each.exists()]
    programs = [python, SHELL, *_extensions(), *(entry.content for entry in entries if ".so" in entry.path)]
    entries += libraries([each for each in programs if isinstance(each, Path)])
    settings = [f"{key}={value}" for key, value in os.environ.items() if _PIP.fullmatch(key)]
    environment = ["PATH=/usr/local/bin:/bin", "LD_LIBRARY_PATH=/usr/local/lib", *settings]
    write_image(Image(name, entries, ["/bin/sh"], environment=environment, user="0"), out)


def _standard_library() -> Iterator[tuple[str, Path]]:
    root = Path(sysconfig.get_path("stdlib"))
    for file in sorted(root.rglob("*")):
        path = file.relative_to(root)
        if file.is_file() and not _LEFT_OUT & set(path.parts) and file.suffix not in (".pyc", ".a"):
            yield str(path), file


def _extensions() -> Iterator[Path]:
    """Of the packages that Ecotone needs: their wheels take libraries for granted that every Debian has."""
    for package in dependencies("ecotone"):
        yield from (Path(str(each.locate())) for each in distribution(package).files or () if each.suffix == ".so")


def _pip() -> Iterator[tuple[str, Path]]:
    for each in distribution("pip").files or ():
        file = Path(str(each.locate()))
        if file.is_file() and not {"..", "__pycache__"} & set(each.parts):
            yield str(each), file
