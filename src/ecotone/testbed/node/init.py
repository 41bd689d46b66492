"""Process 1 of a node: makes the mounts that turn namespaces into a machine of its own, then reaps what is orphaned.

Runs as `python -m ecotone.testbed.node.init DIRECTORY NAME` inside fresh mount, UTS, IPC and PID namespaces. Killing it is a
power cut: the kernel takes every process of the node with it.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

READY = Path("/run/node-ready")
# Settings of the whole machine that a kubelet would change: it gets files of its own to write to.
SHADOWED = {"vm/overcommit_memory": "1", "kernel/panic": "10", "kernel/panic_on_oops": "1"}
PRIVATE = {
    "kubelet": Path("/var/lib/kubelet"),
    "containerd": Path("/var/lib/containerd"),
    "cni": Path("/etc/cni"),
    "cni-state": Path("/var/lib/cni"),
    "log": Path("/var/log"),
}


def main(directory: Path, name: str) -> None:
    socket.sethostname(name)
    _own_sysfs(directory / "sys")
    for own, usual in PRIVATE.items():
        source = directory / own
        source.mkdir(parents=True, exist_ok=True)
        usual.mkdir(parents=True, exist_ok=True)
        _mount("--bind", source, usual)
    _mount("-t", "tmpfs", "tmpfs", "/run")
    for below in ("netns", "containerd", "lock"):
        (Path("/run") / below).mkdir()
    for key, value in SHADOWED.items():
        shadow = directory / f"sysctl.{key.replace('/', '.')}"
        shadow.write_text(f"{value}\n")
        _mount("--bind", shadow, f"/proc/sys/{key}")
    _mount("--make-rshared", "/")
    READY.touch()
    reap_for_ever()


def _own_sysfs(aside: Path) -> None:
    """A sysfs of this network namespace, with the cgroup mounts of the machine bound back into it."""
    aside.mkdir(parents=True, exist_ok=True)
    _mount("--rbind", "/sys/fs/cgroup", aside)
    _mount("-t", "sysfs", "sysfs", "/sys")
    _mount("--rbind", aside, "/sys/fs/cgroup")
    subprocess.run(["umount", "-l", aside], check=True)  # noqa: S603, S607


def _mount(*arguments: str | Path) -> None:
    subprocess.run(["mount", *(str(each) for each in arguments)], check=True)  # noqa: S603, S607


def reap_for_ever() -> None:
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD})
    while True:
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        signal.sigtimedwait({signal.SIGCHLD}, 5.0)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
