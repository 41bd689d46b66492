"""TLS towards one API server, whose second handshake is cheaper than its first.

A handshake in which the server signs and its certificate is verified costs both sides as much as several bindings, and a
scheduler opens dozens of connections at once. The first connection makes it in full and is given a ticket; the others show
the ticket, are recognised, and only agree on new keys. A server that does not know the ticket (any more) makes the whole
handshake, as if there were none. A ticket is worth what the handshake was that it came from, so it never leaves the context
in which that server's certificate was verified, and a context is for one server.
"""

from __future__ import annotations

import ssl


class ServerContext(ssl.SSLContext):
    """Certificates are verified, and the last ticket is shown. ``cafile`` or ``cadata``, else the system's authorities."""

    _ticket: ssl.SSLSession | None = None

    @classmethod
    def verifying(cls, *, cafile: str | None = None, cadata: str | None = None) -> ServerContext:
        usual = ssl.create_default_context(cafile=cafile, cadata=cadata)
        context = cls(ssl.PROTOCOL_TLS_CLIENT)
        context.options, context.verify_flags = usual.options, usual.verify_flags
        context.verify_mode, context.check_hostname = usual.verify_mode, usual.check_hostname
        if cafile is None and cadata is None:
            context.load_default_certs()
        else:
            context.load_verify_locations(cafile=cafile, cadata=cadata)
        return context

    def wrap_bio(
        self,
        incoming: ssl.MemoryBIO,
        outgoing: ssl.MemoryBIO,
        server_side: bool = False,
        server_hostname: str | bytes | None = None,
        session: ssl.SSLSession | None = None,
    ) -> ssl.SSLObject:
        return super().wrap_bio(incoming, outgoing, server_side, server_hostname, session or self._ticket)

    def remember(self, made: ssl.SSLObject) -> None:
        """Keeps the ticket of a connection that has got one: tickets come with the first answer."""
        if made.session is not None and not made.session_reused:
            self._ticket = made.session
