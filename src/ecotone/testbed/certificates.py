"""A certificate authority for one bed, so that every connection in it is verified."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ecotone.testbed.processes import run

DAYS = "30"


class Authority:
    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.certificate = directory / "ca.crt"
        self._key = directory / "ca.key"

    def create(self) -> None:
        self.directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        run("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", DAYS, "-subj", "/CN=ecotone-bed",
            "-keyout", self._key, "-out", self.certificate)  # fmt: skip

    def issue(self, name: str, *, subject: str, names: Sequence[str] = ()) -> tuple[Path, Path]:
        """A certificate and its key; `names` are subject alternative names such as `IP:10.0.0.1`."""
        key, request, certificate = (self.directory / f"{name}.{ending}" for ending in ("key", "csr", "crt"))
        extensions = self.directory / f"{name}.ext"
        extensions.write_text(f"subjectAltName={','.join(names)}\n" if names else "basicConstraints=CA:FALSE\n")
        run("openssl", "req", "-newkey", "rsa:2048", "-nodes", "-subj", subject, "-keyout", key, "-out", request)
        run("openssl", "x509", "-req", "-days", DAYS, "-in", request, "-CA", self.certificate, "-CAkey", self._key,
            "-CAcreateserial", "-extfile", extensions, "-out", certificate)  # fmt: skip
        return certificate, key
