"""Pogonip's second scenario: eight copies of one application on seven edge nodes and thirty cloud hosts.

A scenario file holds one application; its services may belong to different groups (`app-group`), and policies that
place applications as a whole go by the group.
"""

from __future__ import annotations

from importlib import resources
from string import Template

NAME = "pogonip-2"
APPLICATIONS = 8
_EDGE = ("cn", "w1", "w2", "w3", "w4", "w5", "w6")
_LINKS = (("cn", "w1", 15), ("w1", "w2", 80), ("cn", "w3", 20), ("cn", "w4", 10), ("w4", "w5", 20), ("w3", "w4", 10),
          ("w5", "w6", 75))  # fmt: skip
_CLOUD = (("small", 4, 4, 2), ("medium", 8, 8, 4), ("large", 16, 16, 8))  # cores, GiB, price per hour
_OF_EACH = 10
_CLOUD_MS = 40


def pogonip_2() -> str:
    """The scenario file."""
    folder = resources.files("ecotone.sim") / "scenarios"
    head = Template((folder / "pogonip-2.template.yaml").read_text(encoding="utf-8"))
    application = Template((folder / "taxi.template.yaml").read_text(encoding="utf-8"))
    hosts = {f"{kind}-{number}": size for kind, *size in _CLOUD for number in range(1, _OF_EACH + 1)}
    first, *others = hosts
    # All hosts of the cloud stand 40 ms behind the control node and 0 ms from each other: one of them is the switch.
    links = [*_LINKS, ("cn", first, _CLOUD_MS), *((first, name, 0) for name in others)]
    return head.substitute(
        nodes="\n".join([*map(_edge, _EDGE), *(_host(name, *size) for name, size in hosts.items())]),
        links="\n".join(f"        - {{between: [{a}, {b}], rtt: {ms}ms}}" for a, b, ms in links),
        services="".join(application.substitute(n=number) for number in range(1, APPLICATIONS + 1)).rstrip(),
        load="\n".join(_load(number) for number in range(1, APPLICATIONS + 1)),
    )


def _edge(name: str) -> str:
    label = ', labels: {node-role.kubernetes.io/control-plane: ""}' if name == "cn" else ""
    return f'      - {{name: {name}, tier: edge, cpu: "4", memory: 4Gi{label}}}'


def _host(name: str, cores: int, gibibytes: int, price: int) -> str:
    return f'      - {{name: {name}, tier: cloud, cpu: "{cores}", memory: {gibibytes}Gi, price: {price}}}'


def _load(number: int) -> str:
    what = f"entry: taxi-iot-{number}.ride, from: [cn], request: 1kB, response: 100B, arrivals: {{users: 1, every: 1s}}"
    return f"    - {{at: 30s, for: 300s, {what}}}"
