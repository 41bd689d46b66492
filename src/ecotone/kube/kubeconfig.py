"""Which API server, trusted how, and as whom: from a kubeconfig file or from inside a pod.

The rules are kubectl's: an explicit file, else every file of ``$KUBECONFIG`` (the first to define a name wins), else
``~/.kube/config``, else the service account mounted into a pod. TLS is always verified: a cluster entry that asks for
``insecure-skip-tls-verify`` is refused with the line that says so, because a scheduler that can bind pods must not hand
its token to whoever answers. For the same reason a token is not sent over plain http, except to this machine.
"""

from __future__ import annotations

import base64
import binascii
import ipaddress
import os
import ssl
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec

from ecotone.kube.credentials import ExecToken, FileToken, NoToken, StaticToken, TokenSource
from ecotone.kube.http.tls import ServerContext
from ecotone.manifests.yaml.block import read_blocks
from ecotone.model.errors import InputError

SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
FILE_LIMIT = 4 << 20


@dataclass(frozen=True)
class Connection:
    """Everything a client needs to speak to one API server as one user."""

    server: str
    tokens: TokenSource = field(default_factory=NoToken, repr=False)
    tls: ssl.SSLContext | None = field(default=None, repr=False)
    server_hostname: str | None = None
    namespace: str = "default"
    context: str = ""
    impersonate: str | None = None


def connect(*, kubeconfig: str | None = None, context: str | None = None) -> Connection:
    """The connection a command was asked for, in-cluster credentials last."""
    paths = _candidate_files(kubeconfig)
    present = [path for path in paths if path.is_file()]
    if kubeconfig is not None and not present:
        raise InputError("no such file", file=kubeconfig, hint="--kubeconfig names a kubeconfig file")
    if present:
        return _from_files(present, context=context)
    if in_cluster():
        return from_service_account()
    raise InputError(
        "no cluster: no kubeconfig was found and this is not a pod",
        hint="use --kubeconfig, $KUBECONFIG, or -f FILE to work on exported objects",
    )


def _candidate_files(explicit: str | None) -> list[Path]:
    if explicit is not None:
        return [Path(explicit)]
    variable = os.environ.get("KUBECONFIG", "")
    if variable:
        return [Path(part) for part in variable.split(os.pathsep) if part]
    return [Path.home() / ".kube" / "config"]


def in_cluster() -> bool:
    return "KUBERNETES_SERVICE_HOST" in os.environ and (SERVICE_ACCOUNT / "token").is_file()


def from_service_account(directory: Path = SERVICE_ACCOUNT) -> Connection:
    host, port = os.environ["KUBERNETES_SERVICE_HOST"], os.environ.get("KUBERNETES_SERVICE_PORT", "443")
    if ":" in host:
        host = f"[{host}]"
    namespace = directory / "namespace"
    return Connection(
        server=f"https://{host}:{port}",
        tokens=FileToken(directory / "token"),
        tls=ServerContext.verifying(cafile=str(directory / "ca.crt")),
        namespace=namespace.read_text().strip() if namespace.is_file() else "default",
        context="in-cluster",
    )


class _Entry(msgspec.Struct, frozen=True):
    """A named cluster, user or context and the file it came from: relative paths inside it start there."""

    body: dict[str, Any]
    file: Path

    def text(self, key: str) -> str | None:
        value = self.body.get(key)
        if value is not None and not isinstance(value, str):
            raise InputError(f"{key}: a string is expected", file=str(self.file))
        return value or None

    def path(self, key: str) -> Path | None:
        value = self.text(key)
        return None if value is None else self.file.parent / value

    def material(self, key: str) -> bytes | None:
        """``key-data`` (base64) wins over ``key`` (a path), as in client-go."""
        data = self.text(f"{key}-data")
        if data is not None:
            try:
                return base64.b64decode(data, validate=True)
            except binascii.Error:
                raise InputError(f"{key}-data: not valid base64", file=str(self.file)) from None
        path = self.path(key)
        if path is None:
            return None
        try:
            return path.read_bytes()
        except OSError as error:
            raise InputError(f"{key}: cannot read {path}: {error.strerror}", file=str(self.file)) from None


def _from_files(paths: list[Path], *, context: str | None) -> Connection:
    clusters: dict[str, _Entry] = {}
    users: dict[str, _Entry] = {}
    contexts: dict[str, _Entry] = {}
    current = ""
    for path in paths:
        document = _read(path)
        current = current or str(document.get("current-context") or "")
        for key, singular, into in (
            ("clusters", "cluster", clusters),
            ("users", "user", users),
            ("contexts", "context", contexts),
        ):
            entries = document.get(key) or []
            if not isinstance(entries, list):
                raise InputError(f"{key}: a list is expected", file=str(path))
            for entry in entries:
                if not isinstance(entry, dict) or not isinstance(entry.get("name"), str):
                    raise InputError(f"{key}: every entry needs a name", file=str(path))
                body = entry.get(singular) or {}
                if not isinstance(body, dict):
                    raise InputError(f"{key}: {singular} of {entry['name']!r}: a mapping is expected", file=str(path))
                into.setdefault(entry["name"], _Entry(body, path))
    chosen = context or current
    file = str(paths[0])
    if not chosen:
        raise InputError("no current-context", file=file, hint=f"--context NAME, one of: {_names(contexts)}")
    if chosen not in contexts:
        raise InputError(f"no context named {chosen!r}", file=file, hint=f"contexts: {_names(contexts)}")
    entry = contexts[chosen]
    cluster = _pick(clusters, entry, key="cluster")
    user = _pick(users, entry, key="user") if entry.text("user") else _Entry({}, entry.file)
    server = cluster.text("server")
    if server is None or not _is_address(server):
        raise InputError("cluster.server: an http(s) address is expected", file=str(cluster.file))
    tokens = _tokens(user)
    if server.startswith("http:") and not isinstance(tokens, NoToken) and not is_loopback(server):
        raise InputError(
            f"cluster.server: {server} is not encrypted and the user has a token, which everybody on the way could read",
            file=str(cluster.file),
            hint="use https, or an address of this machine",
        )
    return Connection(
        server=server.rstrip("/"),
        tokens=tokens,
        tls=_tls(cluster, user) if server.startswith("https:") else None,
        server_hostname=cluster.text("tls-server-name"),
        namespace=entry.text("namespace") or "default",
        context=chosen,
        impersonate=user.text("as"),
    )


def _is_address(server: str) -> bool:
    try:
        parts = urlsplit(server)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


def is_loopback(server: str) -> bool:
    """True if this address is one of this machine's own, so that nobody is on the way to it."""
    host = urlsplit(server).hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _names(entries: dict[str, _Entry]) -> str:
    return ", ".join(sorted(entries)) or "none"


def _pick(entries: dict[str, _Entry], context: _Entry, *, key: str) -> _Entry:
    name = context.text(key)
    if name not in entries:
        raise InputError(f"the context names {key} {name!r}, which does not exist", file=str(context.file))
    return entries[name]


def _read(path: Path) -> dict[str, Any]:
    if path.stat().st_size > FILE_LIMIT:
        raise InputError("too large for a kubeconfig", file=str(path))
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", file=str(path)) from None
    document = read_blocks(content)
    if document is None:
        from ecotone.manifests.yaml.positions import load_document  # the library it needs is loaded where it is needed

        document = load_document(content, file=str(path)).plain()
    if not isinstance(document, dict):
        raise InputError("not a kubeconfig: a mapping is expected", file=str(path))
    return document


def _tls(cluster: _Entry, user: _Entry) -> ssl.SSLContext:
    if cluster.body.get("insecure-skip-tls-verify"):
        raise InputError(
            "insecure-skip-tls-verify is not supported: the server's certificate is always verified",
            file=str(cluster.file),
            hint="give certificate-authority or certificate-authority-data",
        )
    authority = cluster.material("certificate-authority")
    try:
        # Without an authority of its own the system's are read, hundreds of them.
        context = ServerContext.verifying(cadata=None if authority is None else authority.decode("ascii", "strict"))
    except (ssl.SSLError, UnicodeDecodeError):
        raise InputError("certificate-authority: no certificate in PEM form", file=str(cluster.file)) from None
    certificate, key = user.material("client-certificate"), user.material("client-key")
    if (certificate is None) != (key is None):
        raise InputError("client-certificate and client-key go together", file=str(user.file))
    if certificate is not None and key is not None:
        _load_pair(context, certificate, key)
    return context


def _load_pair(context: ssl.SSLContext, certificate: bytes, key: bytes) -> None:
    """The ssl module loads a pair from files only: they exist, owner-readable, for this one call."""
    import tempfile

    with tempfile.TemporaryDirectory(prefix="ecotone-") as directory:
        files = []
        for name, content in (("cert", certificate), ("key", key)):
            file = Path(directory) / name
            descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(descriptor, "wb") as stream:
                stream.write(content)
            files.append(str(file))
        try:
            context.load_cert_chain(*files)
        except ssl.SSLError:
            raise InputError("the client certificate and key of the kubeconfig do not load") from None


def _tokens(user: _Entry) -> TokenSource:
    if (file := user.path("tokenFile")) is not None:
        return FileToken(file)
    if (token := user.text("token")) is not None:
        return StaticToken(token)
    plugin = user.body.get("exec")
    if plugin is None:
        return NoToken()
    if not isinstance(plugin, dict) or not isinstance(plugin.get("command"), str):
        raise InputError("user.exec.command: a string is expected", file=str(user.file))
    command = str(plugin["command"])
    # client-go: a command with a slash is relative to the file, a bare one is looked up on PATH.
    if "/" in command and not command.startswith("/"):
        command = str(user.file.parent / command)
    arguments, environment = plugin.get("args") or [], plugin.get("env") or []
    if not isinstance(arguments, list) or not isinstance(environment, list):
        raise InputError("user.exec: args and env are lists", file=str(user.file))
    if not all(isinstance(item, dict) and {"name", "value"} <= item.keys() for item in environment):
        raise InputError("user.exec.env: every entry needs a name and a value", file=str(user.file))
    return ExecToken(
        [command, *(str(argument) for argument in arguments)],
        environment={str(item["name"]): str(item["value"]) for item in environment},
        api_version=str(plugin.get("apiVersion", "client.authentication.k8s.io/v1")),
    )
