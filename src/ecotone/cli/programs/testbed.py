"""`ecotone testbed`: a real cluster on this machine."""

from __future__ import annotations

import json
import signal
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

if TYPE_CHECKING:
    from ecotone.testbed.bed import Bed

testbed_app = typer.Typer(no_args_is_help=True, help="A real Kubernetes cluster of several nodes on this machine.")

Directory = Annotated[
    Path | None,
    typer.Option("--directory", help="Where the bed keeps its state; $ECOTONE_TESTBED or the user's state directory."),
]
Output = Annotated[str, typer.Option("-o", "--output", help="table, json or name.")]

UP_HELP = """Start a cluster with the nodes and the network of a scenario.

Needs root, containerd, runc, the CNI plugins, iptables and nftables, and the binaries of `make controlplane`; what is missing
is listed. The last line of stdout is the path of a kubeconfig.

Examples:

    sudo ecotone testbed up messaging

    sudo ecotone testbed up my-cluster.yaml --cores 1.0
"""


def register(app: typer.Typer) -> None:
    app.add_typer(testbed_app, name="testbed")


def _bed(directory: Path | None) -> Bed:
    from ecotone.testbed.bed import Bed, default_directory

    return Bed(directory or default_directory())


def _say(text: str) -> None:
    typer.echo(f"testbed: {text}", err=True)


@testbed_app.command("up", help=UP_HELP)
def up(
    scenario: Annotated[str, typer.Argument(help="A built-in scenario or a file; its nodes and network are used.")],
    image: Annotated[list[Path] | None, typer.Option("--image", help="An image archive to load on every node.")] = None,
    cores: Annotated[float, typer.Option(min=0.1, help="Cores of this machine that all nodes together may use.")] = 1.2,
    directory: Directory = None,
) -> None:
    from ecotone.sim.scenario import load_scenario
    from ecotone.testbed.images.contents import pause_image
    from ecotone.testbed.layout import topology_of

    bed = _bed(directory)
    topology = topology_of(load_scenario(scenario))
    bed.up(topology, images=[pause_image(bed.binaries), *(image or ())], cores=cores, say=_say)
    typer.echo(bed.kubeconfig)


@testbed_app.command("down")
def down(directory: Directory = None) -> None:
    """Stop the bed and remove everything it made, also after a crash."""
    from ecotone.model.errors import OutsideError

    left = _bed(directory).down()
    if left:
        raise OutsideError(f"could not remove: {', '.join(left)}")
    _say("gone")


@testbed_app.command("status")
def status(output: Output = "table", directory: Directory = None) -> None:
    """The bed's nodes, whether they run, and what their pods have used."""
    from dataclasses import asdict

    rows = [asdict(each) for each in _bed(directory).status()]
    if output == "json":
        typer.echo(json.dumps(rows, indent=2))
        return
    if output == "name":
        for row in rows:
            typer.echo(row["name"])
        return
    from ecotone.cli.terminal.output import print_table

    cells = []
    for row in rows:
        used = "-" if row["cpu_seconds"] is None else f"{row['cpu_seconds']:.1f}"
        memory = "-" if row["memory_bytes"] is None else f"{row['memory_bytes'] / 2**20:.0f}"
        cells.append([row["name"], row["tier"], row["address"], "running" if row["running"] else "off", used, memory])
    print_table(("NAME", "TIER", "ADDRESS", "STATE", "CPU SECONDS", "MEMORY MIB"), cells, right=(4, 5))


@testbed_app.command("wan")
def wan(
    a: Annotated[str, typer.Argument(help="One end of the link.")],
    b: Annotated[str, typer.Argument(help="The other end.")],
    *,
    rtt: Annotated[str | None, typer.Option(help="Round trip, for example 80ms.")] = None,
    jitter: Annotated[str | None, typer.Option(help="Standard deviation per direction, for example 2ms.")] = None,
    loss: Annotated[str | None, typer.Option(help="Share of packets lost, for example 1%.")] = None,
    cut: Annotated[bool, typer.Option("--cut", help="Lose every packet.")] = False,
    heal: Annotated[bool, typer.Option("--heal", help="Lose none.")] = False,
    directory: Directory = None,
) -> None:
    """Change the network between two nodes while the bed runs.

    Examples:

        ecotone testbed wan edge-1 cloud-1 --rtt 100ms --loss 0.1%

        ecotone testbed wan edge-1 cloud-1 --cut
    """
    from ecotone.manifests.yaml.positions import load_document
    from ecotone.model.errors import InputError
    from ecotone.sim.scenario.units import duration, share

    if cut and heal:
        raise InputError("--cut and --heal exclude each other")
    qualities: dict[str, float] = {}
    if rtt is not None:
        qualities["rtt"] = duration(load_document(rtt, file="--rtt"))
    if jitter is not None:
        qualities["jitter"] = duration(load_document(jitter, file="--jitter"))
    if loss is not None:
        qualities["loss"] = share(load_document(loss, file="--loss"))
    if cut or heal:
        qualities["loss"] = 1.0 if cut else 0.0
    if not qualities:
        raise InputError("nothing to change", hint="give --rtt, --jitter, --loss, --cut or --heal")
    _bed(directory).set_link(a, b, **qualities)


@testbed_app.command("node")
def node(
    name: Annotated[str, typer.Argument(help="The node.")],
    power: Annotated[Literal["on", "off"] | None, typer.Option(help="Cut its power, or boot it again.")] = None,
    cable: Annotated[Literal["in", "out"] | None, typer.Option(help="Plug its network cable in or out.")] = None,
    kubelet: Annotated[Literal["stop", "continue"] | None, typer.Option(help="Stop or continue its kubelet.")] = None,
    directory: Directory = None,
) -> None:
    """Do to one node what happens to real ones.

    Examples:

        ecotone testbed node edge-1 --power off

        ecotone testbed node edge-1 --cable out
    """
    from ecotone.model.errors import InputError

    if power is None and cable is None and kubelet is None:
        raise InputError("nothing to do", hint="give --power, --cable or --kubelet")
    bed = _bed(directory)
    if power is not None:
        bed.power(name, on=power == "on")
    if cable is not None:
        bed.plug(name, connected=cable == "in")
    if kubelet is not None:
        bed.signal_kubelet(name, signal.SIGSTOP if kubelet == "stop" else signal.SIGCONT)
