"""A decision as the running scheduler remembers it: ``ecotone explain POD --scheduler URL``."""

from __future__ import annotations

import asyncio
import json
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

from ecotone.model.errors import InputError, OutsideError

LIMIT = 256 << 20
TIMEOUT_SECONDS = 15.0


def token_for(url: str, *, token_file: Path | None, kubeconfig: Path | str | None, context: str | None) -> str | None:
    """The token to send: the given one, else the kubeconfig's if the connection is encrypted or stays on this machine."""
    if token_file is not None:
        try:
            return token_file.read_text(encoding="ascii").strip()
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(f"--token-file {token_file}: cannot be read: {error}") from None
    from ecotone.kube.kubeconfig import connect, is_loopback

    if urlsplit(url).scheme != "https" and not is_loopback(url):
        return None
    try:
        connection = connect(kubeconfig=None if kubeconfig is None else str(kubeconfig), context=context)
    except InputError:
        if kubeconfig is not None or context is not None:
            raise
        return None
    return asyncio.run(connection.tokens.token())


def fetch_record(url: str, pod: str, *, namespace: str | None, token: str | None = None) -> dict[str, Any]:
    """The record of the latest decision about this pod; ``pod`` is ``name``, ``pod/name`` or ``namespace/name``."""
    if urlsplit(url).scheme not in ("http", "https"):
        raise InputError(f"--scheduler {url}: an http(s) address is expected", hint="the scheduler's --listen address")
    space, _, name = pod.rpartition("/")
    if space in ("", "pod", "pods", "po"):
        space = namespace or "default"
    address = f"{url.rstrip('/')}/decisions/{quote(space, safe='')}/{quote(name, safe='')}"
    request = urllib.request.Request(address)  # noqa: S310 - the scheme was checked above
    if token:
        request.add_header("Authorization", f"Bearer {token}")
    try:
        with urllib.request.urlopen(request, timeout=TIMEOUT_SECONDS) as answer:  # noqa: S310
            record: dict[str, Any] = json.loads(answer.read(LIMIT))
    except urllib.error.HTTPError as error:
        if error.code == 404:
            raise InputError(
                f"the scheduler remembers no decision about {space}/{name}", hint="without --scheduler it is judged now"
            ) from None
        hint = " (give a token with --token-file)" if error.code in (401, 403) else ""
        raise OutsideError(f"scheduler at {url}: {error.code} {error.reason}{hint}") from None
    except (OSError, ValueError) as error:
        raise OutsideError(f"scheduler at {url}: {error}") from None
    return record


def rows_of(record: dict[str, Any]) -> list[tuple[str, str, str]]:
    """For the table: node, total or dash, verdict."""
    rows = []
    for node in record.get("nodes", []):
        total = node.get("total")
        verdict = "fits" if node["feasible"] else "; ".join(node["reasons"])
        rows.append((node["name"], "-" if total is None else f"{total:.4g}", verdict))
    return rows
