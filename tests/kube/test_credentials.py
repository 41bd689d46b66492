"""Credentials: files as kubectl reads them, tokens that rotate, plugins, and no silent insecurity."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import yaml

from ecotone.kube.credentials import ExecToken, FileToken, StaticToken
from ecotone.kube.kubeconfig import connect
from ecotone.model.errors import InputError, OutsideError
from kube.stub import refuse, reply, serving


def write(path: Path, **overrides: Any) -> Path:
    config = {
        "current-context": "one",
        "clusters": [
            {"name": "a", "cluster": {"server": "http://127.0.0.1:1"}},
            {"name": "b", "cluster": {"server": "http://127.0.0.1:2/"}},
        ],
        "users": [{"name": "u", "user": {"token": "sesame"}}],
        "contexts": [
            {"name": "one", "context": {"cluster": "a", "user": "u"}},
            {"name": "two", "context": {"cluster": "b", "user": "u", "namespace": "shop"}},
        ],
        **overrides,
    }
    path.write_text(yaml.safe_dump(config))
    return path


def test_contexts_choose_cluster_user_and_namespace(tmp_path: Path) -> None:
    file = str(write(tmp_path / "config"))
    one, two = connect(kubeconfig=file), connect(kubeconfig=file, context="two")
    assert (one.server, one.namespace) == ("http://127.0.0.1:1", "default")
    assert (two.server, two.namespace) == ("http://127.0.0.1:2", "shop")
    assert asyncio.run(two.tokens.token()) == "sesame"
    assert "sesame" not in repr(one)


def test_several_files_merge_and_the_first_wins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = write(tmp_path / "first", contexts=[], users=[{"name": "u", "user": {"token": "first"}}])
    second = write(tmp_path / "second", **{"current-context": "two"})
    monkeypatch.setenv("KUBECONFIG", f"{first}:{tmp_path / 'absent'}:{second}")
    connection = connect()
    assert connection.context == "one"
    assert asyncio.run(connection.tokens.token()) == "first"


def test_a_wrong_context_names_the_right_ones(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no context named 'three'.*one, two"):
        connect(kubeconfig=str(write(tmp_path / "config")), context="three")


def test_insecure_tls_is_refused(tmp_path: Path) -> None:
    cluster = {"server": "https://127.0.0.1:1", "insecure-skip-tls-verify": True}
    file = write(tmp_path / "config", clusters=[{"name": "a", "cluster": cluster}])
    with pytest.raises(InputError, match="always verified"):
        connect(kubeconfig=str(file))


def test_a_rotated_token_file_is_read_again(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("old\n")
    clock = [0.0]
    source = FileToken(file, clock=lambda: clock[0])
    assert asyncio.run(source.token()) == "old"
    file.write_text("new")
    assert asyncio.run(source.token()) == "old"
    clock[0] = 11.0
    assert asyncio.run(source.token()) == "new"


def test_a_refused_token_is_fetched_again_at_once(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("old")
    source = FileToken(file)

    async def run() -> list[str]:
        async with serving(tokens=source) as (stub, client):
            stub.then(reply(), refuse(401), reply())
            await client.request("GET", "/a")
            file.write_text("new")
            await client.request("GET", "/b")
            return [headers["Authorization"] for headers in stub.headers]

    assert asyncio.run(run()) == ["Bearer old", "Bearer old", "Bearer new"]


def plugin(tmp_path: Path, script: str) -> ExecToken:
    file = tmp_path / "plugin.py"
    file.write_text(script)
    return ExecToken(
        [sys.executable, str(file)],
        environment={"GREETING": "hello"},
        api_version="client.authentication.k8s.io/v1",
        clock=lambda: 1_000_000_000.0,
    )


SPEAKS = """
import json, os, pathlib
count = pathlib.Path(__file__).with_suffix(".count")
n = int(count.read_text()) + 1 if count.exists() else 1
count.write_text(str(n))
info = json.loads(os.environ["KUBERNETES_EXEC_INFO"])
print(json.dumps({"kind": "ExecCredential", "apiVersion": info["apiVersion"],
  "status": {"token": f"{os.environ['GREETING']}-{n}", "expirationTimestamp": EXPIRES}}))
"""


def test_a_plugin_is_run_once_until_its_token_expires(tmp_path: Path) -> None:
    lasting = plugin(tmp_path, SPEAKS.replace("EXPIRES", '"2099-01-01T00:00:00Z"'))

    async def twice(source: ExecToken) -> list[str | None]:
        return [await source.token(), await source.token()]

    assert asyncio.run(twice(lasting)) == ["hello-1", "hello-1"]
    expiring = plugin(tmp_path, SPEAKS.replace("EXPIRES", '"2001-09-09T01:46:41Z"'))
    assert asyncio.run(twice(expiring)) == ["hello-2", "hello-3"]


def test_a_failing_plugin_is_reported_without_its_output(tmp_path: Path) -> None:
    with pytest.raises(OutsideError, match=r"exit code 3: broken"):
        asyncio.run(plugin(tmp_path, "import sys; sys.stderr.write('broken'); sys.exit(3)").token())
    with pytest.raises(OutsideError) as error:
        asyncio.run(plugin(tmp_path, 'print(\'{"status": {"token": 5, "secret": "sesame"}}\')').token())
    assert "sesame" not in str(error.value)


def test_a_token_is_not_in_any_error() -> None:
    async def run() -> str:
        async with serving(tokens=StaticToken("sesame")) as (stub, client):
            stub.then(refuse(403, "forbidden"))
            with pytest.raises(OutsideError) as error:
                await client.request("POST", "/x", body={})
            return repr(error.value) + str(error.value)

    assert "sesame" not in asyncio.run(run())


@pytest.mark.parametrize(
    ("server", "allowed"),
    [
        ("http://127.0.0.1:1", True),
        ("http://[::1]:1", True),
        ("http://localhost:8001", True),
        ("http://10.0.0.1:8080", False),
        ("http://127.0.0.1.example:1", False),
        ("https://10.0.0.1:6443", True),
    ],
)
def test_a_token_is_sent_in_the_clear_only_to_this_machine(tmp_path: Path, server: str, allowed: bool) -> None:
    file = str(write(tmp_path / "config", clusters=[{"name": "a", "cluster": {"server": server}}]))
    if allowed:
        assert connect(kubeconfig=file).server == server
    else:
        with pytest.raises(InputError, match="not encrypted"):
            connect(kubeconfig=file)


def test_without_a_token_plain_http_is_the_users_affair(tmp_path: Path) -> None:
    clusters = [{"name": "a", "cluster": {"server": "http://10.0.0.1:8080"}}]
    file = str(write(tmp_path / "config", clusters=clusters, users=[{"name": "u", "user": {}}]))
    assert connect(kubeconfig=file).server == "http://10.0.0.1:8080"


def test_a_plugin_that_is_given_up_is_ended(tmp_path: Path) -> None:
    marker = tmp_path / "pid"
    script = f"import os, time; open({str(marker)!r}, 'w').write(str(os.getpid())); time.sleep(3600)"
    source = ExecToken([sys.executable, "-c", script], environment={}, api_version="v1")

    async def main() -> None:
        task = asyncio.create_task(source.token())
        async with asyncio.timeout(30):
            while not marker.exists() or not marker.read_text():
                await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    with pytest.raises(ProcessLookupError):
        os.kill(int(marker.read_text()), 0)


def answering(status: str) -> str:
    return f'print(\'{{"kind": "ExecCredential", "status": {status}}}\')'


@pytest.mark.parametrize(
    ("script", "says"),
    [
        ("while True: print('x' * 65536)", "printed more than 1048576 bytes"),
        ("import sys; sys.stderr.write('x' * 9_000_000); sys.exit(254)", "exit code 254: x"),
        ("import sys; sys.exit(254)", "exit code 254: it said nothing"),
        (answering('{"token": "t", "expirationTimestamp": "soon"}'), "a time of expiry that is none"),
        # What it leaves behind holds its pipes open, and is not waited for.
        (
            "import subprocess, sys; subprocess.Popen(['sleep', '30'], start_new_session=True); sys.exit(7)",
            "exit code 7",
        ),
    ],
)
def test_a_plugin_out_of_hand_is_reported(tmp_path: Path, script: str, says: str) -> None:
    begin = time.monotonic()
    with pytest.raises(OutsideError, match=says):
        asyncio.run(plugin(tmp_path, script).token())
    assert time.monotonic() - begin < 20.0


@pytest.mark.parametrize(
    ("command", "environment", "kind", "says"),
    [
        (["no-such-plugin"], {}, OutsideError, "No such file or directory"),
        (["true", "a\x00b"], {}, InputError, "null byte"),
        (["true"], {"A=B": "c"}, InputError, "environment variable name"),
    ],
)
def test_a_plugin_that_cannot_be_started_is_reported(
    command: list[str], environment: dict[str, str], kind: type[Exception], says: str
) -> None:
    with pytest.raises(kind, match=says):
        asyncio.run(ExecToken(command, environment=environment, api_version="v1").token())


def test_a_request_waits_for_its_token_no_longer_than_for_its_answer(tmp_path: Path) -> None:
    source = plugin(tmp_path, "import sys, time; print('log in first', file=sys.stderr, flush=True); time.sleep(3600)")

    async def run() -> str:
        async with serving(tokens=source) as (_, client):
            with pytest.raises(OutsideError) as error:
                await client.request("GET", "/x", timeout=2.0)
            return str(error.value)

    assert asyncio.run(run()) == f"no token from the credential plugin {sys.executable} (log in first) within 2 s"


def test_a_token_that_would_break_a_header_is_not_sent(tmp_path: Path) -> None:
    async def run(tokens: StaticToken | FileToken) -> list[Any]:
        async with serving(tokens=tokens) as (stub, client):
            with pytest.raises(OutsideError, match="no token"):
                await client.request("GET", "/x")
            return stub.headers

    assert asyncio.run(run(StaticToken("a\r\nHost: b"))) == []
    (tmp_path / "token").write_bytes(b"\xff\xfe")
    assert asyncio.run(run(FileToken(tmp_path / "token"))) == []
