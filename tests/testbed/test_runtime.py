"""When a node's container runtime can be asked by a kubelet."""

from __future__ import annotations

from pathlib import Path

from ecotone.testbed.node.runtime import serves_kubelets

BOOT = """time="T" level=info msg=serving... address=/run/containerd/containerd.sock
time="T" level=info msg="containerd successfully booted in 1.3s"
time="T" level=info msg="Start recovering state"
"""
READY = 'time="T" level=info msg="Start streaming server"\n'


def test_a_runtime_that_recovers_its_state_does_not_serve_kubelets_yet(tmp_path: Path) -> None:
    log = tmp_path / "containerd.log"
    assert not serves_kubelets(log, since=0)
    log.write_text(BOOT)
    assert not serves_kubelets(log, since=0)
    log.write_text(BOOT + READY)
    assert serves_kubelets(log, since=0)


def test_what_it_said_before_the_power_was_cut_does_not_count(tmp_path: Path) -> None:
    log = tmp_path / "containerd.log"
    log.write_text(BOOT + READY)
    before = log.stat().st_size
    assert not serves_kubelets(log, since=before)
    with log.open("a") as stream:
        stream.write(BOOT + READY)
    assert serves_kubelets(log, since=before)
