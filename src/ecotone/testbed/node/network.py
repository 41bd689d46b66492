"""The wires of a bed: a bridge, a network namespace per node, and routes between their pods."""

from __future__ import annotations

from collections.abc import Sequence

from ecotone.testbed.layout import API_ADDRESS, BRIDGE, BedNode
from ecotone.testbed.processes import run


def bridge_exists() -> bool:
    return bool(run("ip", "-o", "link", "show", BRIDGE, check=False))


def create_bridge() -> None:
    run("ip", "link", "add", BRIDGE, "type", "bridge")
    run("ip", "address", "add", f"{API_ADDRESS}/24", "dev", BRIDGE)
    run("ip", "link", "set", BRIDGE, "up")


def remove_bridge() -> None:
    run("ip", "link", "delete", BRIDGE, check=False)


def create_namespace(node: BedNode, others: Sequence[BedNode]) -> None:
    """The node's namespace with its interface on the bridge and a route to every other node's pods."""
    run("ip", "netns", "add", node.network_namespace)
    run("ip", "link", "add", node.veth, "type", "veth", "peer", "name", "eth0", "netns", node.network_namespace)
    run("ip", "link", "set", node.veth, "master", BRIDGE, "up")
    inside(node, "ip", "link", "set", "lo", "up")
    inside(node, "ip", "address", "add", f"{node.address}/24", "dev", "eth0")
    inside(node, "ip", "link", "set", "eth0", "up")
    inside(node, "ip", "route", "add", "default", "via", API_ADDRESS)
    inside(node, "sysctl", "-qw", "net.ipv4.ip_forward=1")
    for other in others:
        if other.name != node.name:
            inside(node, "ip", "route", "add", other.pod_range, "via", other.address)
    run("ip", "route", "replace", node.pod_range, "via", node.address)


def remove_namespace(node: BedNode) -> None:
    run("ip", "route", "delete", node.pod_range, check=False)
    run("ip", "link", "delete", node.veth, check=False)
    run("ip", "netns", "delete", node.network_namespace, check=False)


def plug(node: BedNode, *, connected: bool) -> None:
    """Plugs the node's network cable in or out."""
    run("ip", "link", "set", node.veth, "up" if connected else "down")


def inside(node: BedNode, *command: str, text: str | None = None) -> str:
    """Runs a command in the node's network namespace; `ip netns exec` would also remount /sys."""
    return run("nsenter", f"--net=/run/netns/{node.network_namespace}", *command, text=text)
