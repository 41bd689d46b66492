"""etcd, API server, controllers and kube-scheduler of a bed, on the bridge's address."""

from __future__ import annotations

import json
import secrets
import ssl
import urllib.error
import urllib.request
from collections.abc import Sequence
from pathlib import Path

from ecotone.testbed import processes
from ecotone.testbed.certificates import Authority
from ecotone.testbed.layout import API_ADDRESS, API_PORT, API_SERVICE, POD_RANGE, SERVICE_RANGE, BedNode
from ecotone.testbed.processes import Daemon

SERVER = f"https://{API_ADDRESS}:{API_PORT}"
ETCD, PEER = "http://127.0.0.1:24790", "http://127.0.0.1:24800"
MANAGER_PORT, SCHEDULER_PORT = 17257, 17259
# Kubernetes' own times are 50 s and 300 s; a bed that is up for minutes wants to see failures sooner.
GRACE_SECONDS = 20


class ControlPlane:
    def __init__(self, directory: Path, binaries: Path) -> None:
        self.directory = directory
        self._bin = binaries
        self.authority = Authority(directory / "pki")
        self._tokens: dict[str, str] = {}

    def prepare(self, nodes: Sequence[BedNode]) -> None:
        """Certificates, tokens and kubeconfigs."""
        self.authority.create()
        self.authority.issue(
            "apiserver",
            subject="/CN=kube-apiserver",
            names=[
                f"IP:{API_ADDRESS}", f"IP:{API_SERVICE}", "IP:127.0.0.1", "DNS:localhost", "DNS:kubernetes",
                "DNS:kubernetes.default", "DNS:kubernetes.default.svc", "DNS:kubernetes.default.svc.cluster.local",
            ],
        )  # fmt: skip
        self.authority.issue("kubelet-client", subject="/O=system:masters/CN=kube-apiserver-kubelet-client")
        self.authority.issue("service-account", subject="/CN=service-account")
        rows = [self._user("admin", "admin", "system:masters"), self._user("proxy", "system:kube-proxy", "")]
        for node in nodes:
            rows.append(self._user(node.name, f"system:node:{node.name}", "system:nodes"))
            self.authority.issue(
                f"kubelet-{node.name}",
                subject=f"/O=system:nodes/CN=system:node:{node.name}",
                names=[f"DNS:{node.name}", f"IP:{node.address}"],
            )
        tokens = self.directory / "tokens.csv"
        tokens.touch(mode=0o600)
        tokens.write_text("\n".join(rows) + "\n")

    def _user(self, key: str, user: str, group: str) -> str:
        token = self._tokens[key] = secrets.token_hex(16)
        self._write_kubeconfig(self.kubeconfig(key), token)
        return f'{token},{user},{key},"{group}"'

    def kubeconfig(self, key: str) -> Path:
        return self.directory / f"{key}.kubeconfig"

    def _write_kubeconfig(self, path: Path, token: str) -> None:
        cluster = {"server": SERVER, "certificate-authority": str(self.authority.certificate)}
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "bed", "cluster": cluster}],
            "users": [{"name": "bed", "user": {"token": token}}],
            "contexts": [{"name": "bed", "context": {"cluster": "bed", "user": "bed"}}],
            "current-context": "bed",
        }
        path.touch(mode=0o600)
        path.write_text(json.dumps(config, indent=1))

    def start(self) -> list[Daemon]:
        """All four, each after what it needs is ready."""
        daemons = [self._start_etcd(), self._start_apiserver()]
        log = self.directory / "kube-apiserver.log"
        processes.wait_until(self.ready, seconds=60, what="ready API server", log=log)
        return [*daemons, self._start_manager(), self._start_scheduler()]

    def ready(self) -> bool:
        context = ssl.create_default_context(cafile=str(self.authority.certificate))
        request = urllib.request.Request(f"{SERVER}/readyz")  # noqa: S310 - the scheme is ours
        request.add_header("Authorization", f"Bearer {self._tokens['admin']}")
        try:
            with urllib.request.urlopen(request, timeout=2, context=context) as answer:  # noqa: S310
                return bool(answer.read(16) == b"ok")
        except (OSError, urllib.error.URLError):
            return False

    def _daemon(self, name: str, *flags: str) -> Daemon:
        return processes.start(name, [self._bin / name, *flags], log=self.directory / f"{name}.log")

    def _start_etcd(self) -> Daemon:
        return self._daemon(
            "etcd",
            f"--data-dir={self.directory / 'etcd'}",
            f"--listen-client-urls={ETCD}",
            f"--advertise-client-urls={ETCD}",
            f"--listen-peer-urls={PEER}",
            f"--initial-advertise-peer-urls={PEER}",
            f"--initial-cluster=default={PEER}",
            "--unsafe-no-fsync",
            "--log-level=error",
        )

    def _start_apiserver(self) -> Daemon:
        pki = self.authority.directory
        return self._daemon(
            "kube-apiserver",
            f"--etcd-servers={ETCD}",
            f"--bind-address={API_ADDRESS}",
            f"--advertise-address={API_ADDRESS}",
            f"--secure-port={API_PORT}",
            f"--tls-cert-file={pki / 'apiserver.crt'}",
            f"--tls-private-key-file={pki / 'apiserver.key'}",
            f"--kubelet-client-certificate={pki / 'kubelet-client.crt'}",
            f"--kubelet-client-key={pki / 'kubelet-client.key'}",
            f"--kubelet-certificate-authority={self.authority.certificate}",
            "--kubelet-preferred-address-types=InternalIP",
            f"--token-auth-file={self.directory / 'tokens.csv'}",
            "--authorization-mode=Node,RBAC",
            "--enable-admission-plugins=NodeRestriction",
            "--service-account-issuer=https://kubernetes.default.svc",
            f"--service-account-key-file={pki / 'service-account.key'}",
            f"--service-account-signing-key-file={pki / 'service-account.key'}",
            f"--service-cluster-ip-range={SERVICE_RANGE}",
            "--allow-privileged=true",
            f"--default-not-ready-toleration-seconds={GRACE_SECONDS}",
            f"--default-unreachable-toleration-seconds={GRACE_SECONDS}",
        )

    def _start_manager(self) -> Daemon:
        return self._daemon(
            "kube-controller-manager",
            f"--kubeconfig={self.kubeconfig('admin')}",
            f"--service-account-private-key-file={self.authority.directory / 'service-account.key'}",
            f"--root-ca-file={self.authority.certificate}",
            "--leader-elect=false",
            "--bind-address=127.0.0.1",
            f"--secure-port={MANAGER_PORT}",
            f"--cert-dir={self.directory / 'manager'}",
            f"--cluster-cidr={POD_RANGE}",
            f"--node-monitor-grace-period={GRACE_SECONDS}s",
            "--node-monitor-period=2s",
        )

    def _start_scheduler(self) -> Daemon:
        config = {
            "apiVersion": "kubescheduler.config.k8s.io/v1",
            "kind": "KubeSchedulerConfiguration",
            "leaderElection": {"leaderElect": False},
            "clientConnection": {"kubeconfig": str(self.kubeconfig("admin"))},
        }
        file = self.directory / "kube-scheduler.json"
        file.write_text(json.dumps(config))
        return self._daemon(
            "kube-scheduler",
            f"--config={file}",
            "--bind-address=127.0.0.1",
            f"--secure-port={SCHEDULER_PORT}",
            f"--cert-dir={self.directory / 'scheduler'}",
        )
