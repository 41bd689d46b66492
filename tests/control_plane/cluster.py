"""A real Kubernetes control plane on loopback, up in seconds, gone without a trace.

Without kwok there are no kubelets at all: nodes are objects that never change, which is what scheduling tests want, so
the admission plugin and the controller that would taint silent nodes are off. With kwok, both are on and the fake
kubelet keeps nodes ready and pods running.
"""

from __future__ import annotations

import builtins
import http.client
import json
import secrets
import ssl
import subprocess
import threading
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import yaml

from control_plane import binaries
from control_plane.processes import Child, free_ports, wait_until

HERE = Path(__file__).parent


class Refused(Exception):
    """The API server's answer was not 2xx."""

    def __init__(self, status: int, body: str) -> None:
        super().__init__(f"{status}: {body[:500]}")
        self.status = status


class Cluster:
    """etcd and kube-apiserver; controllers, kwok and kube-scheduler on request."""

    def __init__(self, directory: Path, *, kwok: bool = False, controllers: bool = True, audit: bool = False) -> None:
        found = binaries.directory()
        if found is None:
            raise FileNotFoundError("the control plane's binaries are missing: make controlplane")
        self.bin = found
        self.directory = directory
        self._with_kwok = kwok
        self._with_controllers = controllers
        self._with_audit = audit
        self.audit_log = directory / "audit.log"
        self._children: list[Child] = []
        self._started: dict[str, int] = {}
        self._tokens = {"admin": secrets.token_hex(16)}
        etcd, peer, api, manager, fake = free_ports(5)
        self._ports = {"etcd": etcd, "peer": peer, "api": api, "manager": manager, "kwok": fake}
        self.server = f"https://127.0.0.1:{api}"
        self.etcd_address = f"http://127.0.0.1:{etcd}"
        self.kubeconfig = directory / "kubeconfig"
        self._tls: ssl.SSLContext | None = None
        self._kept = threading.local()
        self.apiserver: Child
        self.etcd: Child

    def start(self) -> Cluster:
        try:
            self.directory.mkdir(parents=True, exist_ok=True)
            self._write_secrets()
            self.start_etcd()
            self.start_apiserver()
            if self._with_controllers:
                self._start_controllers()
            if self._with_kwok:
                self._start_kwok()
        except BaseException:
            self.stop()
            raise
        return self

    def stop(self) -> None:
        # Clients first. An API server takes its time to go, and what it and etcd have goes with them.
        for child in reversed(self._children):
            if child.name in ("kube-apiserver", "etcd"):
                child.kill()
            else:
                child.stop(grace=5.0)
        self._children.clear()

    def stop_others(self) -> None:
        """Everything that was started beside the control plane itself: programs, schedulers, controllers."""
        for child in [one for one in reversed(self._children) if one not in (self.apiserver, self.etcd)]:
            child.stop(grace=5.0)
            self.forget(child)

    def child(self, name: str, command: Sequence[str | Path], *, env: dict[str, str] | None = None) -> Child:
        """Starts a process that ends with the cluster."""
        number = self._started.get(name, 0)
        self._started[name] = number + 1
        child = Child(name, command, log=self.directory / f"{name}-{number}.log", env=env)
        self._children.append(child)
        return child

    def forget(self, child: Child) -> None:
        self._children.remove(child)

    def _write_secrets(self) -> None:
        key = self.directory / "service-account.key"
        subprocess.run(["openssl", "genrsa", "-out", key, "2048"], check=True, capture_output=True)
        # Users without rights of their own: what they may do is what a test grants them by RBAC.
        for name in ("ecotone", "nobody"):
            self._tokens[name] = secrets.token_hex(16)
        rows = [f'{self._tokens["admin"]},admin,admin,"system:masters"']
        rows += [f"{token},{name},{name}" for name, token in self._tokens.items() if name != "admin"]
        (self.directory / "tokens.csv").write_text("\n".join(rows) + "\n")

    def start_etcd(self) -> None:
        peer = f"http://127.0.0.1:{self._ports['peer']}"
        self.etcd = self.child(
            "etcd",
            [
                self.bin / "etcd",
                f"--data-dir={self.directory / 'etcd'}",
                f"--listen-client-urls={self.etcd_address}",
                f"--advertise-client-urls={self.etcd_address}",
                f"--listen-peer-urls={peer}",
                f"--initial-advertise-peer-urls={peer}",
                f"--initial-cluster=default={peer}",
                "--unsafe-no-fsync",
                "--log-level=error",
                "--quota-backend-bytes=8589934592",
            ],
        )

    def start_apiserver(self) -> None:
        disabled = "" if self._with_kwok else "--disable-admission-plugins=TaintNodesByCondition,ServiceAccount"
        key = self.directory / "service-account.key"
        command: builtins.list[str | Path] = [
            self.bin / "kube-apiserver",
            f"--etcd-servers={self.etcd_address}",
            "--bind-address=127.0.0.1",
            "--advertise-address=127.0.0.1",
            f"--secure-port={self._ports['api']}",
            f"--cert-dir={self.directory / 'certs'}",
            f"--token-auth-file={self.directory / 'tokens.csv'}",
            "--authorization-mode=RBAC",
            "--service-cluster-ip-range=10.255.0.0/16",
            "--service-account-issuer=https://cluster.test",
            f"--service-account-key-file={key}",
            f"--service-account-signing-key-file={key}",
            "--endpoint-reconciler-type=none",
            "--v=0",
        ]
        if self._with_audit:
            policy = self.directory / "audit-policy.yaml"
            policy.write_text("apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{level: Metadata}]\n")
            command += [f"--audit-policy-file={policy}", f"--audit-log-path={self.audit_log}"]
        self.apiserver = self.child("kube-apiserver", [*command, disabled] if disabled else command)
        certificate = self.directory / "certs" / "apiserver.crt"
        wait_until(lambda: self._trusts(certificate), timeout=30, what="server certificate", child=self.apiserver)
        wait_until(self._ready, timeout=60, what="ready API server", child=self.apiserver)
        self.write_kubeconfig(self.kubeconfig, user="admin")

    def _trusts(self, certificate: Path) -> bool:
        """False as long as there is no certificate, or only the beginning of one."""
        try:
            self._tls = ssl.create_default_context(cafile=str(certificate))
        except OSError:
            return False
        return True

    def restart_apiserver(self) -> None:
        """Gone at once, as in a crash, and back with the same data, address and certificate."""
        self.apiserver.kill()
        self.forget(self.apiserver)
        self.start_apiserver()

    def _ready(self) -> bool:
        try:
            return self.call("GET", "/readyz", raw=True) == "ok" and bool(
                self.call("GET", "/api/v1/namespaces/default")
            )
        except (OSError, Refused):
            return False

    def write_kubeconfig(self, path: Path, *, user: str) -> Path:
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [
                {
                    "name": "test",
                    "cluster": {
                        "server": self.server,
                        "certificate-authority": str(self.directory / "certs" / "apiserver.crt"),
                    },
                }
            ],
            "users": [{"name": user, "user": {"token": self._tokens[user]}}],
            "contexts": [{"name": "test", "context": {"cluster": "test", "user": user}}],
            "current-context": "test",
        }
        path.write_text(yaml.safe_dump(config))
        path.chmod(0o600)
        return path

    def _start_controllers(self) -> None:
        silent = "" if self._with_kwok else ",-node-lifecycle-controller,-taint-eviction-controller"
        self.child(
            "kube-controller-manager",
            [
                self.bin / "kube-controller-manager",
                f"--kubeconfig={self.kubeconfig}",
                f"--service-account-private-key-file={self.directory / 'service-account.key'}",
                f"--secure-port={self._ports['manager']}",
                "--bind-address=127.0.0.1",
                f"--cert-dir={self.directory / 'manager-certs'}",
                "--leader-elect=false",
                f"--controllers=*{silent}",
                "--kube-api-qps=500",
                "--kube-api-burst=1000",
            ],
        )

    def _start_kwok(self) -> None:
        self.child(
            "kwok",
            [
                self.bin / "kwok",
                f"--kubeconfig={self.kubeconfig}",
                "--manage-all-nodes=true",
                "--node-lease-duration-seconds=40",
                "--cidr=10.0.0.1/8",
                "--node-ip=127.0.0.1",
                f"--server-address=127.0.0.1:{self._ports['kwok']}",
                f"--config={HERE / 'stages.yaml'}",
            ],
        )

    def start_kube_scheduler(
        self, config: dict[str, Any] | None = None, *, verbosity: int = 0, flags: Iterable[str] = ()
    ) -> Child:
        """The real kube-scheduler; ``config`` extends a KubeSchedulerConfiguration without leader election."""
        port = free_ports(1)[0]
        body = {
            "apiVersion": "kubescheduler.config.k8s.io/v1",
            "kind": "KubeSchedulerConfiguration",
            "leaderElection": {"leaderElect": False},
            "clientConnection": {"kubeconfig": str(self.kubeconfig), "qps": 5000, "burst": 5000},
            **(config or {}),
        }
        file = self.directory / f"kube-scheduler-{port}.yaml"
        file.write_text(yaml.safe_dump(body))
        return self.child(
            "kube-scheduler",
            [
                self.bin / "kube-scheduler",
                f"--config={file}",
                f"--secure-port={port}",
                "--bind-address=127.0.0.1",
                f"--cert-dir={self.directory / f'scheduler-certs-{port}'}",
                f"--v={verbosity}",
                *flags,
            ],
        )

    def call(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        user: str = "admin",
        content_type: str = "application/json",
        raw: bool = False,
        timeout: float = 60,
        acting_as: str | None = None,
    ) -> Any:
        """A plain blocking request, independent of the code under test; ``acting_as`` impersonates another user."""
        headers = {"Authorization": f"Bearer {self._tokens[user]}"}
        if acting_as is not None:
            headers["Impersonate-User"] = acting_as
        data = None
        if body is not None:
            headers["Content-Type"] = content_type
            data = json.dumps(body).encode()
        status, content = self._exchange(method, path, data, headers, timeout)
        if not 200 <= status < 300:
            raise Refused(status, content.decode(errors="replace"))
        return content.decode() if raw else json.loads(content)

    def _exchange(
        self, method: str, path: str, data: bytes | None, headers: dict[str, str], timeout: float
    ) -> tuple[int, bytes]:
        """Tests ask again and again, and a handshake costs more than an answer: each thread keeps the connection it reads from.

        What was kept may be gone with the server that it led to, so reading is tried once more on a new one; a write always
        has one of its own, and is sent once.
        """
        kept: http.client.HTTPSConnection | None = getattr(self._kept, "connection", None) if method == "GET" else None
        self._kept.connection = None
        if kept is not None and kept.sock is not None:
            kept.sock.settimeout(timeout)
            try:
                return self._ask(kept, method, path, data, headers)
            except (OSError, http.client.HTTPException):
                kept.close()
        port = self._ports["api"]
        fresh = http.client.HTTPSConnection("127.0.0.1", port, timeout=timeout, context=self._tls)
        try:
            return self._ask(fresh, method, path, data, headers)
        except BaseException as error:
            fresh.close()
            if isinstance(error, http.client.HTTPException):
                raise ConnectionError(str(error)) from error
            raise

    def _ask(
        self,
        connection: http.client.HTTPSConnection,
        method: str,
        path: str,
        data: bytes | None,
        headers: dict[str, str],
    ) -> tuple[int, bytes]:
        connection.request(method, path, body=data, headers=headers)
        answer = connection.getresponse()
        found = answer.status, answer.read()
        if method == "GET":
            self._kept.connection = connection
        else:
            connection.close()
        return found

    def kubectl(
        self, *arguments: str, env: dict[str, str] | None = None, plain: bool = False
    ) -> subprocess.CompletedProcess[str]:
        """``plain`` adds no flag of its own: in front of a plugin's name kubectl would take it for the plugin."""
        own: builtins.list[str] = [] if plain else [f"--kubeconfig={self.kubeconfig}"]
        command = [str(self.bin / "kubectl"), *own, *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=False, env=env, timeout=60)

    def token(self, user: str) -> str:
        return self._tokens[user]

    def add_token(self, user: str, token: str) -> None:
        """A token that the cluster itself has issued."""
        self._tokens[user] = token

    def review(self, user: str, rule: dict[str, Any]) -> bool:
        """Whether this user has the right that the rule describes."""
        resource, _, subresource = rule["resources"][0].partition("/")
        attributes = {
            "group": rule["apiGroups"][0],
            "resource": resource,
            "subresource": subresource,
            "verb": rule["verbs"][0],
            "namespace": "default",
        }
        body = {
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SubjectAccessReview",
            "spec": {"user": user, "resourceAttributes": attributes},
        }
        answer = self.call("POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", body)
        return bool(answer["status"]["allowed"])

    def list(self, path: str) -> builtins.list[dict[str, Any]]:
        return self.call("GET", path)["items"]

    def pods(self, namespace: str = "default") -> builtins.list[dict[str, Any]]:
        return self.list(f"/api/v1/namespaces/{namespace}/pods")

    def create(self, *objects: dict[str, Any]) -> None:
        for one in objects:
            self.call("POST", collection(one), one)


PLURALS = {
    "PriorityClass": "priorityclasses",
    "StorageClass": "storageclasses",
    "NetworkMap": "networkmaps",
    "NetworkPolicy": "networkpolicies",
    "Ingress": "ingresses",
    "ValidatingAdmissionPolicy": "validatingadmissionpolicies",
}
CLUSTER_SCOPED = {
    "Node",
    "Namespace",
    "PriorityClass",
    "StorageClass",
    "PersistentVolume",
    "ClusterRole",
    "ClusterRoleBinding",
    "CustomResourceDefinition",
    "NetworkMap",
    "Cluster",
    "CSINode",
    "FlowSchema",
    "ValidatingAdmissionPolicy",
    "ValidatingAdmissionPolicyBinding",
}


def collection(one: dict[str, Any]) -> str:
    """The path objects like this one are created at."""
    version, kind = one["apiVersion"], one["kind"]
    root = f"/apis/{version}" if "/" in version else f"/api/{version}"
    plural = PLURALS.get(kind, kind.lower() + "s")
    if kind in CLUSTER_SCOPED:
        return f"{root}/{plural}"
    return f"{root}/namespaces/{one['metadata'].get('namespace', 'default')}/{plural}"
