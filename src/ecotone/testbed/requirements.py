"""What this machine must have before a bed can be built, asked first and told all at once."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from ecotone.model.errors import OutsideError

CNI_DIRECTORIES = (Path("/usr/lib/cni"), Path("/opt/cni/bin"))
CONTROL_PLANE = ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubectl")
NODE = ("kubelet", "kube-proxy", "pause")
# command -> Debian package
PACKAGES = {
    "containerd": "containerd",
    "ctr": "containerd",
    "runc": "runc",
    "iptables": "iptables",
    "nft": "nftables",
    "conntrack": "conntrack",
    "ip": "iproute2",
    "nsenter": "util-linux",
    "unshare": "util-linux",
    "openssl": "openssl",
}


def binaries_directory() -> Path:
    """Where `make controlplane` and `make images` put what they build."""
    given = os.environ.get("ECOTONE_BINARIES")
    if given:
        return Path(given)
    found = sorted((cache_directory() / "controlplane").glob("kubernetes-*"))
    return found[-1] if found else cache_directory() / "controlplane"


def cache_directory() -> Path:
    """Where the scripts keep what they build or fetch."""
    cache = Path(os.environ.get("ECOTONE_CACHE") or Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache") / "ecotone")
    return cache.expanduser()


def cni_directory() -> Path | None:
    return next((each for each in CNI_DIRECTORIES if (each / "bridge").exists()), None)


def check(binaries: Path) -> None:
    """Raises with everything that is missing and how to get it."""
    missing = []
    if os.geteuid() != 0:
        missing.append("root: namespaces, cgroups and mounts need it (sudo ecotone testbed up ...)")
    packages = {package for command, package in PACKAGES.items() if shutil.which(command) is None}
    if cni_directory() is None:
        packages.add("containernetworking-plugins")
    if packages:
        missing.append(f"packages: apt-get install {' '.join(sorted(packages))}")
    built = [name for name in (*CONTROL_PLANE, *NODE) if not (binaries / name).exists()]
    if built:
        missing.append(f"binaries in {binaries}: {', '.join(built)} (scripts/controlplane --nodes builds them)")
    if not Path("/sys/fs/cgroup/cpu").is_dir():
        missing.append("cgroup v1 hierarchies under /sys/fs/cgroup: a unified hierarchy is not supported yet")
    if missing:
        raise OutsideError("this machine cannot run a test bed; missing: " + "; ".join(missing))
