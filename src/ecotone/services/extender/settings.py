"""What an extender is told at start-up."""

from __future__ import annotations

import ssl
from dataclasses import dataclass, field
from pathlib import Path

from ecotone.model.errors import InputError


@dataclass(frozen=True)
class ExtenderSettings:
    """``allow_bind`` needs a way for callers to prove who they are: ``client_ca`` (mutual TLS) or ``bind_token``."""

    policy: str = "ecotone"
    listen: str = "127.0.0.1:10361"
    max_age: float = 300.0
    allow_bind: bool = False
    bind_token: str | None = field(default=None, repr=False)
    certificate: Path | None = None
    key: Path | None = None
    client_ca: Path | None = None
    trust_annotations: bool = False
    allowed_hosts: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if (self.certificate is None) != (self.key is None):
            raise InputError("--tls-cert and --tls-key go together")
        if self.client_ca is not None and self.certificate is None:
            raise InputError("--client-ca needs --tls-cert and --tls-key: client certificates exist only within TLS")
        if self.allow_bind and self.client_ca is None and self.bind_token is None:
            raise InputError(
                "--allow-bind lets callers place any pod: they must prove who they are",
                hint="--client-ca with --tls-cert and --tls-key (kube-scheduler can present one), or --bind-token-file",
            )

    def tls(self) -> ssl.SSLContext | None:
        if self.certificate is None:
            return None
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        try:
            context.load_cert_chain(self.certificate, self.key)
            if self.client_ca is not None:
                context.load_verify_locations(self.client_ca)
                # Optional in the handshake, so that a kubelet can probe; /bind itself insists.
                context.verify_mode = ssl.CERT_OPTIONAL
        except (OSError, ssl.SSLError) as error:
            raise InputError(f"the extender's certificates do not load: {error}") from None
        return context
