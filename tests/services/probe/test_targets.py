"""Where the other probes are."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import msgspec
import pytest

from ecotone.model.errors import InputError
from ecotone.services.probe import targets as module
from ecotone.services.probe.pinging import Target
from ecotone.services.probe.targets import FileTargets, parse_targets, targets_of


@pytest.mark.parametrize(
    ("text", "address", "port"),
    [
        ("10.0.0.7", "10.0.0.7", 9464),
        ("10.0.0.7:80", "10.0.0.7", 80),
        ("fd00::7", "fd00::7", 9464),
        ("[fd00::7]:80", "fd00::7", 80),
        ("[fd00::7]", "fd00::7", 9464),
    ],
)
def test_addresses_with_and_without_a_port(text: str, address: str, port: int) -> None:
    assert parse_targets(f'{{"a": "{text}"}}', port=9464) == {"a": Target("a", address, port)}


@pytest.mark.parametrize(
    "text", ["", "[]", '{"a": 1}', '{"a": "host.example"}', '{"a": "10.0.0.7:0"}', '{"a": "10.0.0.7:x"}']
)
def test_what_is_no_file_of_targets_is_refused(text: str) -> None:
    with pytest.raises(InputError):
        parse_targets(text, port=9464)


def test_a_changed_file_is_read_again_and_a_broken_one_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "LOOK_SECONDS", 0.01)
    file = tmp_path / "targets.json"
    file.write_text('{"a": "10.0.0.1"}')

    async def main() -> None:
        targets = FileTargets(file, port=1)
        task = asyncio.create_task(targets.run())
        file.write_text('{"a": ')
        os.utime(file, (1, 1))
        await asyncio.sleep(0.05)
        assert set(targets.now()) == {"a"}
        file.write_text('{"b": "10.0.0.2"}')
        async with asyncio.timeout(5):
            while set(targets.now()) != {"b"}:
                await asyncio.sleep(0.01)
        task.cancel()

    asyncio.run(main())


def test_a_pod_whose_address_is_none_is_no_target() -> None:
    def pod(node: str, address: str) -> dict[str, object]:
        status = {"phase": "Running", "podIP": address}
        return {"metadata": {"name": node}, "spec": {"nodeName": node}, "status": status}

    told = {"a": pod("a", "10.0.0.1"), "b": pod("b", "nonsense"), "c": pod("c", "")}
    pods = {name: msgspec.convert(each, type=module._Pod) for name, each in told.items()}
    assert targets_of(pods, port=1) == {"a": Target("a", "10.0.0.1", 1)}
