"""Images as containerd keeps them, unpacked once and shared by all nodes.

Unpacking half a gigabyte on every node is most of what starting a bed would cost. Instead one containerd unpacks the images
into a store in the cache, named after what is in it, and every node starts with hard links to its files: containerd never
writes to an image's files, only its two databases are copied.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import signal
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from ecotone.testbed import processes

_CONFIG = """version = 2
root = "{root}"
state = "{state}"
disabled_plugins = ["io.containerd.grpc.v1.cri"]
[grpc]
  address = "{state}/containerd.sock"
"""
_KEPT = 2


def prepared(images: Sequence[Path]) -> Path:
    """The store with these images, made if there is none."""
    folder = images[0].parent / "stores"
    store = folder / _digest(images)
    if not store.exists():
        folder.mkdir(parents=True, exist_ok=True)
        part = folder / f".{store.name}.{os.getpid()}"
        try:
            _unpack(images, part)
            part.rename(store)
        finally:
            shutil.rmtree(part, ignore_errors=True)
    os.utime(store)
    for old in sorted((each for each in folder.iterdir() if each.name != store.name), key=_age)[_KEPT - 1 :]:
        shutil.rmtree(old, ignore_errors=True)
    return store


def _age(store: Path) -> float:
    return -store.stat().st_mtime


def _digest(images: Sequence[Path]) -> str:
    found = hashlib.sha256()
    for image in sorted(images):
        status = image.stat()
        found.update(f"{image.name} {status.st_size} {status.st_mtime_ns}\n".encode())
    return found.hexdigest()[:16]


def _unpack(images: Sequence[Path], root: Path) -> None:
    with TemporaryDirectory(prefix="ecotone-images-") as state:
        config = Path(state) / "config.toml"
        config.write_text(_CONFIG.format(root=root, state=state))
        log = Path(state) / "containerd.log"
        # Mounts that are made while unpacking stay among themselves, and end with the process.
        command: list[str | Path] = ["unshare", "--mount", "--propagation", "private", "containerd", "--config", config]
        daemon = processes.start("images/containerd", command, log=log)
        socket = Path(state) / "containerd.sock"
        ctr: list[str | Path] = ["ctr", "--address", socket, "-n", "k8s.io"]
        try:
            processes.wait_until(
                lambda: socket.exists() and "Server" in processes.run(*ctr, "version", check=False),
                seconds=60,
                what="containerd",
                log=log,
            )
            for image in images:
                processes.run(*ctr, "images", "import", "--snapshotter", "overlayfs", image)
            processes.send(daemon, signal.SIGTERM)
            processes.wait_until(lambda: _ended(daemon), seconds=30, what="end of containerd", log=log)
        finally:
            processes.end([daemon])


def _ended(daemon: processes.Daemon) -> bool:
    processes.reap()
    return not processes.alive(daemon)


def link(store: Path, target: Path) -> None:
    """A node's own containerd directory with the store's images."""
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copytree(store, target, symlinks=True, copy_function=_link, dirs_exist_ok=True)


def _link(source: str, target: str) -> None:
    if source.endswith(".db"):
        shutil.copy2(source, target)
        return
    try:
        os.link(source, target, follow_symlinks=False)
    except OSError:
        shutil.copy2(source, target, follow_symlinks=False)  # another file system
