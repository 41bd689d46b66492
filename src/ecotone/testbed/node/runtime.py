"""One node: its namespaces, containerd, kubelet and kube-proxy.

`up` starts it, `cut_power` ends everything in it at once, and a node that was cut can be started again on the same
directory, as a machine that reboots.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path
from typing import Any

from ecotone.testbed import processes
from ecotone.testbed.control_plane import ControlPlane
from ecotone.testbed.images.contents import PAUSE_IMAGE
from ecotone.testbed.layout import DNS_SERVICE, POD_RANGE, BedNode, reserved
from ecotone.testbed.processes import Daemon
from ecotone.testbed.requirements import cni_directory

MOST_PODS = 60
# What a kubelet keeps for itself on a node whose memory it believes to be the whole machine's.
SPARE_MEMORY = 256 * 2**20


class NodeRuntime:
    """The processes of one node, whose kubelet offers so many millicores; `daemons[0]` is its process 1."""

    def __init__(self, node: BedNode, directory: Path, plane: ControlPlane, binaries: Path, *, millicores: int) -> None:
        self.node = node
        self.directory = directory
        self._plane = plane
        self._bin = binaries
        self._millicores = millicores

    def write_configuration(self) -> None:
        self.directory.mkdir(parents=True, exist_ok=True)
        network = self.directory / "cni" / "net.d"
        network.mkdir(parents=True, exist_ok=True)
        (network / "10-bed.conflist").write_text(json.dumps(self._cni()))
        (self.directory / "containerd.toml").write_text(_CONTAINERD.format(pause=PAUSE_IMAGE, cni=cni_directory()))
        (self.directory / "kubelet.json").write_text(json.dumps(self._kubelet()))
        (self.directory / "kube-proxy.json").write_text(json.dumps(self._proxy()))

    def start_init(self) -> Daemon:
        """The namespaces and process 1; returns when its mounts stand."""
        log = self.directory / "init.log"
        outer = processes.start(
            f"{self.node.name}/init",
            [
                "nsenter", f"--net=/run/netns/{self.node.network_namespace}", "unshare", "--mount", "--propagation",
                "private", "--uts", "--ipc", "--pid", "--fork", "--mount-proc", "--kill-child",
                sys.executable, "-m", "ecotone.testbed.node.init", self.directory, self.node.name,
            ],
            log=log,
        )  # fmt: skip
        found: list[int] = []

        def ready() -> bool:
            found[:] = _children(outer.pid)
            return bool(found) and os.path.exists(Path("/proc", str(found[0]), "root", "run", "node-ready"))  # noqa: PTH110

        processes.wait_until(ready, seconds=20, what=f"process 1 of {self.node.name}", log=log)
        return Daemon(f"{self.node.name}/init", found[0], processes.start_time(found[0]) or 0)

    def start_daemons(self, init: Daemon) -> list[Daemon]:
        log = self.directory / "containerd.log"
        before = log.stat().st_size if log.exists() else 0
        containerd = self._inside(init, "containerd", "containerd", "--config", self.directory / "containerd.toml")
        processes.wait_until(lambda: serves_kubelets(log, since=before), seconds=60, what="containerd", log=log)
        kubelet = self._inside(
            init, "kubelet", self._bin / "kubelet", f"--config={self.directory / 'kubelet.json'}",
            f"--kubeconfig={self._plane.kubeconfig(self.node.name)}", f"--hostname-override={self.node.name}",
            f"--node-ip={self.node.address}", f"--node-labels={self._labels()}", *self._taints(),
        )  # fmt: skip
        proxy = self._inside(
            init, "kube-proxy", self._bin / "kube-proxy", f"--config={self.directory / 'kube-proxy.json'}",
            f"--hostname-override={self.node.name}",
        )  # fmt: skip
        return [containerd, kubelet, proxy]

    def _inside(self, init: Daemon, name: str, *command: str | Path) -> Daemon:
        return processes.start(
            f"{self.node.name}/{name}", [*_enter(init), *command], log=self.directory / f"{name}.log"
        )

    def _labels(self) -> str:
        labels = {key: value for key, value in self.node.spec.labels.items() if not reserved(key)}
        if self.node.spec.tier is not None:
            labels.setdefault("ecotone.dev/tier", self.node.spec.tier)
        return ",".join(f"{key}={value}" for key, value in sorted(labels.items()))

    def _taints(self) -> list[str]:
        taints = [f"{taint.key}={taint.value}:{taint.effect}" for taint in self.node.spec.taints]
        return [f"--register-with-taints={','.join(taints)}"] if taints else []

    def _cni(self) -> dict[str, Any]:
        ipam = {"type": "host-local", "ranges": [[{"subnet": self.node.pod_range}]], "routes": [{"dst": "0.0.0.0/0"}]}
        bridge = {"type": "bridge", "bridge": "cni0", "isGateway": True, "ipMasq": False, "hairpinMode": True}
        ports = {"type": "portmap", "capabilities": {"portMappings": True}, "snat": True}
        return {"cniVersion": "1.0.0", "name": "bed", "plugins": [{**bridge, "ipam": ipam}, ports]}

    def _kubelet(self) -> dict[str, Any]:
        pki = self._plane.authority.directory
        machine_cpu, machine_memory = (os.cpu_count() or 1) * 1000, _machine_memory()
        return {
            "apiVersion": "kubelet.config.k8s.io/v1beta1",
            "kind": "KubeletConfiguration",
            "failCgroupV1": False,
            "cgroupDriver": "cgroupfs",
            "cgroupRoot": f"/{self.node.cgroup}",
            "failSwapOn": False,
            # Scenario CPU is scaled by the node's quota as a whole; pod quotas above it would be refused.
            "cpuCFSQuota": False,
            "authentication": {
                "anonymous": {"enabled": False},
                "webhook": {"enabled": True},
                "x509": {"clientCAFile": str(self._plane.authority.certificate)},
            },
            "authorization": {"mode": "Webhook"},
            "tlsCertFile": str(pki / f"kubelet-{self.node.name}.crt"),
            "tlsPrivateKeyFile": str(pki / f"kubelet-{self.node.name}.key"),
            "containerRuntimeEndpoint": "unix:///run/containerd/containerd.sock",
            "imageGCHighThresholdPercent": 100,
            "imageGCLowThresholdPercent": 99,
            "evictionHard": {"nodefs.available": "1%", "imagefs.available": "1%", "memory.available": "100Mi"},
            "nodeStatusUpdateFrequency": "4s",
            "nodeLeaseDurationSeconds": 20,
            "enforceNodeAllocatable": ["pods"],
            "maxPods": MOST_PODS,
            "clusterDNS": [DNS_SERVICE],
            "clusterDomain": "cluster.local",
            "allowedUnsafeSysctls": ["net.ipv4.ping_group_range"],
            # Every kubelet sees the whole machine; what is reserved leaves the node's own share allocatable.
            "kubeReserved": {
                "cpu": f"{max(0, machine_cpu - self._millicores)}m",
                "memory": str(max(SPARE_MEMORY, machine_memory - self.node.spec.memory)),
            },
        }

    def _proxy(self) -> dict[str, Any]:
        return {
            "apiVersion": "kubeproxy.config.k8s.io/v1alpha1",
            "kind": "KubeProxyConfiguration",
            "clientConnection": {"kubeconfig": str(self._plane.kubeconfig("proxy"))},
            "mode": "nftables",
            "clusterCIDR": POD_RANGE,
            "conntrack": {"maxPerCore": 0, "min": 0, "tcpEstablishedTimeout": "0s", "tcpCloseWaitTimeout": "0s"},
        }

    def forget(self) -> None:
        """Removes what the node kept on disk."""
        shutil.rmtree(self.directory, ignore_errors=True)


def serves_kubelets(log: Path, *, since: int) -> bool:
    """True if containerd has said so after the first `since` bytes of its log.

    It answers its own client long before that: a kubelet that asks in between is refused, and ends for good.
    """
    if not log.exists():
        return False
    with log.open("rb") as stream:
        stream.seek(since)
        return _SERVES_KUBELETS in stream.read()


def cut_power(init: Daemon) -> None:
    """Ends every process of the node at once."""
    processes.end([init])


def _enter(init: Daemon) -> list[str | Path]:
    return ["nsenter", "-t", str(init.pid), "-m", "-u", "-i", "-n", "-p"]


def _children(pid: int) -> list[int]:
    try:
        text = Path(f"/proc/{pid}/task/{pid}/children").read_text()
    except OSError:
        return []
    return [int(each) for each in text.split()]


def _machine_memory() -> int:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


_SERVES_KUBELETS = b"Start streaming server"

# restrict_oom_score_adj: without it a sandbox fails to start where processes may not lower their score.
_CONTAINERD = """version = 2
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "{pause}"
  disable_apparmor = true
  restrict_oom_score_adj = true
  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = "overlayfs"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"
      [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
        SystemdCgroup = false
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "{cni}"
    conf_dir = "/etc/cni/net.d"
"""
