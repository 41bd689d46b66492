"""A bed as a whole: up, down, what it looks like, and what can be done to it while it runs."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from signal import Signals
from typing import Any

from ecotone.model.errors import InputError, OutsideError
from ecotone.testbed import figures, processes, requirements, state
from ecotone.testbed.control_plane import ControlPlane
from ecotone.testbed.images import store
from ecotone.testbed.layout import API_ADDRESS, NAME, RECORD, BedNode, Paths, Topology, quota_share, reserved
from ecotone.testbed.node import cgroups, network
from ecotone.testbed.node.runtime import NodeRuntime, cut_power
from ecotone.testbed.state import BedState
from ecotone.testbed.wan import links as wan

READY_SECONDS = 240
DEFAULT_CORES = 1.2
AT_ONCE = 4


def default_directory() -> Path:
    given = os.environ.get("ECOTONE_TESTBED")
    if given:
        return Path(given)
    return Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state") / "ecotone" / "testbed"


@dataclass(frozen=True, slots=True)
class NodeStatus:
    name: str
    tier: str
    address: str
    running: bool
    cpu_seconds: float | None
    memory_bytes: int | None


class Bed:
    def __init__(self, directory: Path, *, binaries: Path | None = None) -> None:
        self.paths = Paths(directory)
        self.binaries = requirements.binaries_directory() if binaries is None else binaries
        self._plane = ControlPlane(self.paths.control, self.binaries)
        self._state = state.load(self.paths)

    @property
    def kubeconfig(self) -> Path:
        return self.paths.admin

    @property
    def topology(self) -> Topology:
        return self._running().topology

    @property
    def share(self) -> float:
        """Of a machine's core that one core of the scenario gets."""
        return self._running().share

    @property
    def offered(self) -> float:
        """Cores that kubelets offer for each of the scenario's."""
        return self._running().offered

    @property
    def core(self) -> float:
        """Of a machine's core that one core gets which a kubelet offers."""
        return self._running().core

    def up(
        self,
        topology: Topology,
        *,
        images: Sequence[Path],
        cores: float = DEFAULT_CORES,
        real_cores: bool = False,
        say: Callable[[str], None] = lambda _: None,
    ) -> None:
        """Brings the whole bed up; whatever fails, everything that was started is taken down again.

        All nodes together get `cores` of the machine. Their kubelets offer the scenario's cores, of which each is then a small
        part of a real one; with `real_cores` they offer what they get, and whoever asks for CPU must ask for as much less.
        """
        requirements.check(self.binaries)
        if self._state is not None:
            raise InputError(
                f"there is a test bed in {self.paths.root} already", hint="ecotone testbed down removes it"
            )
        other = state.here()
        if other is not None or network.bridge_exists():
            where = f"in {other}" if other is not None else "or what a crash left of it"
            raise InputError(
                f"there is a test bed on this machine already, {where}", hint="ecotone testbed down removes it"
            )
        too_large = [node for node in topology.nodes if node.spec.cpu > (os.cpu_count() or 1) * 1000]
        if too_large:
            raise InputError(
                f"node {too_large[0].name} has {too_large[0].spec.cpu} millicores, this machine {os.cpu_count()} cores",
                hint="kubelets offer no more than the machine has: scale the scenario's CPU down",
            )
        share = quota_share(topology.nodes, cores=cores)
        self._state = BedState(topology, share, offered=share if real_cores else 1.0)
        self._save()
        RECORD.write_text(str(self.paths.root.resolve()))
        try:
            self._up(list(images), say)
        except BaseException:
            say("something failed: taking everything down again")
            self.down()
            raise

    def _up(self, images: list[Path], say: Callable[[str], None]) -> None:
        running = self._running()
        network.create_bridge()
        self._plane.prepare(running.topology.nodes)
        running.daemons += self._plane.start()
        self._save()
        running.daemons.append(self._start_figures())
        self._save()
        say("control plane ready")
        self.kubectl(
            "create",
            "clusterrolebinding",
            "kube-proxy",
            "--clusterrole=system:node-proxier",
            "--user=system:kube-proxy",
        )
        # One after the other: namespaces and rules of the machine; then daemons, which wait for each other, at once.
        images_store = store.prepared(images)
        say("images unpacked")
        inits = [self._start_init(node, images_store) for node in running.topology.nodes]
        with ThreadPoolExecutor(max_workers=AT_ONCE) as pool:
            started = list(pool.map(lambda pair: self._runtime(pair[0]).start_daemons(pair[1]),
                                    zip(running.topology.nodes, inits, strict=True)))  # fmt: skip
        running.daemons += [daemon for each in started for daemon in each]
        self._save()
        say(f"{len(inits)} nodes started")
        try:
            processes.wait_until(lambda: not self._not_ready(), seconds=READY_SECONDS, what="ready nodes")
        except processes.DeadlineError as error:
            raise processes.DeadlineError(f"{error}: {self._last_words()}") from None
        for node in running.topology.nodes:
            given = [f"{key}={value}" for key, value in node.spec.labels.items() if reserved(key)]
            if given:
                self.kubectl("label", "node", node.name, *given)
        say("all nodes ready")

    def _start_figures(self) -> processes.Daemon:
        command: list[str | Path] = [
            sys.executable,
            "-m",
            "ecotone.testbed.figures",
            self.paths.root,
            API_ADDRESS,
            str(figures.PORT),
        ]
        return processes.start("figures", command, log=self.paths.root / "figures.log")

    def _start_init(self, node: BedNode, images: Path) -> processes.Daemon:
        running = self._running()
        store.link(images, self.paths.node(node.name) / "containerd")
        network.create_namespace(node, running.topology.nodes)
        running.daemons.append(wan.start(running.topology, node, self.paths.wan(node.name)))
        cgroups.create(node, cores=node.spec.cpu / 1000 * running.share)
        runtime = self._runtime(node)
        runtime.write_configuration()
        init = runtime.start_init()
        running.daemons.append(init)
        self._save()
        return init

    def down(self) -> list[str]:
        """Takes the machine's bed down, also what a crash left; returns what could not be removed.

        A bed that was started from another directory is this machine's bed, too: without its record its processes would stay.
        """
        elsewhere = state.here()
        if self._state is None and elsewhere is not None and elsewhere != self.paths.root.resolve():
            return Bed(elsewhere, binaries=self.binaries).down()
        left: list[str] = []
        if self._state is not None:
            for node in self._state.topology.nodes:
                init = self._state.daemon(f"{node.name}/init")
                if init is not None:
                    cut_power(init)
            left += [f"process {each.pid} ({each.name})" for each in processes.end(self._state.daemons)]
            for node in self._state.topology.nodes:
                network.remove_namespace(node)
                if not cgroups.remove(node.cgroup):
                    left.append(f"cgroup {node.cgroup}")
        network.remove_bridge()
        if not cgroups.remove(NAME):
            left.append(f"cgroup {NAME}")
        shutil.rmtree(self.paths.root, ignore_errors=True)
        RECORD.unlink(missing_ok=True)
        self._state = None
        return left

    def status(self) -> list[NodeStatus]:
        running = self._running()
        found = []
        for node in running.topology.nodes:
            init = running.daemon(f"{node.name}/init")
            here = init is not None and processes.alive(init)
            used = (cgroups.cpu_seconds(node), cgroups.memory_bytes(node)) if here else (None, None)
            found.append(NodeStatus(node.name, node.spec.tier or "", node.address, here, *used))
        return found

    def set_link(self, a: str, b: str, **qualities: float) -> None:
        """New qualities of one link (rtt, jitter in seconds; loss), from now on."""
        running = self._running()
        running.topology = wan.changed(running.topology, a, b, **qualities)
        self._save()
        for name in (a, b):
            wan.write(self.paths.wan(name), wan.one_ways(running.topology, running.topology.node(name)))

    def plug(self, name: str, *, connected: bool) -> None:
        """Plugs a node's network cable in or out."""
        network.plug(self.topology.node(name), connected=connected)

    def power(self, name: str, *, on: bool) -> None:
        """Cuts a node's power, or boots it again on what its disk holds."""
        running = self._running()
        node = running.topology.node(name)
        if not on:
            init = running.daemon(f"{name}/init")
            if init is not None:
                cut_power(init)
            processes.end([each for each in running.of_node(name) if not each.name.endswith("/wan")])
        else:
            runtime = self._runtime(node)
            init = runtime.start_init()
            running.daemons += [init, *runtime.start_daemons(init)]
        running.forget_dead()
        self._save()

    def signal_kubelet(self, name: str, number: Signals) -> None:
        """Stops (SIGSTOP) or continues (SIGCONT) a node's kubelet."""
        self.topology.node(name)
        kubelet = self._running().daemon(f"{name}/kubelet")
        if kubelet is not None:
            processes.send(kubelet, number)

    def apply(self, objects: Sequence[dict[str, Any]]) -> None:
        """Creates or changes objects, as an administrator."""
        text = json.dumps({"apiVersion": "v1", "kind": "List", "items": list(objects)})
        kubectl: list[str | Path] = [self.binaries / "kubectl", f"--kubeconfig={self.kubeconfig}"]
        processes.run(*kubectl, "apply", "--server-side", "-f", "-", text=text)

    def wait_for_rollout(self, namespace: str, workload: str, *, seconds: float) -> None:
        """Until all replicas of `kind/name` are ready as it was last applied."""
        arguments = ("rollout", "status", "-n", namespace, workload, "--timeout=5s")
        processes.wait_until(
            lambda: "success" in self.kubectl(*arguments, check=False),
            seconds=seconds,
            what=f"ready {workload} in {namespace}",
        )

    def _runtime(self, node: BedNode) -> NodeRuntime:
        millicores = self._running().millicores(node)
        return NodeRuntime(node, self.paths.node(node.name), self._plane, self.binaries, millicores=millicores)

    def _not_ready(self) -> list[str]:
        rows = [row.split() for row in self.kubectl("get", "nodes", "--no-headers", check=False).splitlines()]
        ready = {row[0] for row in rows if row[1:2] == ["Ready"]}
        return [node.name for node in self.topology.nodes if node.name not in ready]

    def _last_words(self) -> str:
        """What the daemons of the first node that is not ready said last: the logs themselves go with the bed."""
        found = []
        for name in self._not_ready()[:1]:
            for log in ("kubelet.log", "containerd.log"):
                file = self.paths.node(name) / log
                text = file.read_text(errors="replace") if file.exists() else "none"
                found.append(f"{name}/{log}: {text[-processes.LOG_TAIL :]}")
        return "\n".join(found)

    def kubectl(self, *arguments: str, check: bool = True) -> str:
        """What kubectl prints, as an administrator."""
        return processes.run(self.binaries / "kubectl", f"--kubeconfig={self.kubeconfig}", *arguments, check=check)

    def _running(self) -> BedState:
        if self._state is None:
            raise OutsideError(f"there is no test bed in {self.paths.root} (ecotone testbed up makes one)")
        return self._state

    def _save(self) -> None:
        state.save(self.paths, self._running())
