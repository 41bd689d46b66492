"""From a docker-compose file.

Images, commands, environments, ports, replicas and resources carry over, those of included files and extended services
too (`compose_files`); `depends_on`, `links` and names mentioned in the environment become channels, and whoever is reached
by one gets a Service: containers of one compose network need no `ports` for that. Anything compose knows and Kubernetes
would do differently (volumes, networks, build, secrets, health checks) is left out, with a remark where it changes what runs.
"""

from __future__ import annotations

import re
import shlex
from pathlib import Path

from ecotone.manifests.yaml.positions import Node, load_document
from ecotone.model.quantity import whole
from ecotone.tosca.importers.compose_files import Surroundings
from ecotone.tosca.importers.draft import Draft, DraftChannel, DraftService
from ecotone.tosca.importers.guess import IMAGE_PORTS, mentioned, route_type
from ecotone.tosca.language.checks import is_dns_label, label_value_from
from ecotone.tosca.language.files import LIMITS

_SIZE = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*([bkmg]?)b?", re.IGNORECASE)
_UNITS = {"": "", "b": "", "k": "Ki", "m": "Mi", "g": "Gi"}
_PORT = re.compile(
    r"(?:(?:[0-9.]+|\[[0-9a-fA-F:]+\]):)?(?:([0-9]+)(?:-[0-9]+)?:)?([0-9]+)(?:-[0-9]+)?(?:/(tcp|udp|sctp))?"
)
_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)(?::?-([^}]*))?\}")


def import_compose(text: str | bytes, *, file: str, folder: Path | None = None) -> Draft:
    """A draft from a compose file; InputError names the place of what cannot be read.

    `folder`: where the files lie that it includes, extends or takes variables from; None: they are not read.
    """
    root = load_document(text, file=file, limits=LIMITS)
    services = root.get("services")
    if (services is None and root.get("include") is None) or (services is not None and not services.is_mapping):
        raise (services or root).error("a compose file has a mapping `services`")
    around = Surroundings(folder)
    found = {key.text: (key, node, where) for key, node, where in around.services(root, folder)}
    named = root.get("name")
    stem = named.text if named is not None and named.text else Path(file).resolve().parent.name
    draft = Draft(label_value_from(stem))
    names = {name: _name(name) for name in found}
    if len(set(names.values())) < len(names):
        raise (services or root).error("two services would get the same Kubernetes name")
    siblings = {name: node for name, (_, node, _) in found.items()}
    nodes = {}
    for name, (key, given, where) in found.items():
        if not given.is_mapping:
            raise given.error(f"the service `{name}` must be a mapping, not {given.describe()}")
        node = nodes[name] = around.extended(name, given, siblings, where)
        variables, remarks = around.variables(node, where)
        draft.services[names[name]] = _service(names[name], key, node, variables)
        draft.services[names[name]].remarks += remarks
    draft.remarks += around.remarks
    ports = {name: service.endpoint.get("port") for name, service in draft.services.items()}
    for original, node in nodes.items():
        _channels(draft, original, node, names, ports)
    _open_reached(draft)
    return draft


_CORES = r"[0-9]*\.?[0-9]+"
_READ = frozenset({
    "build", "command", "configs", "cpus", "depends_on", "deploy", "entrypoint", "env_file", "environment", "expose", "extends",
    "healthcheck", "image", "links", "mem_limit", "mem_reservation", "network_mode", "ports", "scale", "secrets", "volumes",
})  # fmt: skip
# What Kubernetes does by itself, or what concerns the machine that compose runs on.
_WITHOUT_MEANING = frozenset({
    "annotations", "attach", "container_name", "develop", "hostname", "init", "labels", "logging", "networks", "platform",
    "pull_policy", "restart", "stdin_open", "stop_grace_period", "tty",
})  # fmt: skip


def _name(text: str) -> str:
    return text if is_dns_label(text) else label_value_from(text)


def _service(name: str, key: Node, node: Node, variables: dict[str, str]) -> DraftService:
    service = DraftService(name)
    if name != key.text:
        service.remarks.append(f"called {key.text} in the compose file")
    image = node.get("image")
    if image is not None and image.text:
        service.settings["image"] = _expanded(image.text)
    else:
        service.settings["image"] = f"{name}:latest"
        service.remarks.append("built locally in the compose file: give the image you push")
    replicas = _at(node, "deploy", "replicas") or node.get("scale")
    if replicas is not None and type(replicas.value) is int:
        service.settings["replicas"] = replicas.value
    for ours, theirs in (("command", "entrypoint"), ("args", "command")):
        words = _words(node.get(theirs))
        if words:
            service.settings[ours] = words
    environment = {**variables, **_environment(node)}
    if environment:
        service.settings["env"] = environment
    _resources(service, node)
    _ports(service, node)
    if node.get("volumes") is not None:
        service.remarks.append("has volumes in the compose file: they are not carried over")
    service.remarks += _left_out(node)
    return service


def _left_out(node: Node) -> list[str]:
    """What changes how the service runs and has no place in a template."""
    remarks = []
    check = node.get("healthcheck")
    if check is not None and not check.is_null:
        words = " ".join(_words(check.get("test"))).removeprefix("CMD-SHELL ").removeprefix("CMD ")
        asked = f" (`{words}`)" if words and words != "NONE" else ""
        remarks.append(f"has a healthcheck in the compose file{asked}: give its Deployment a readinessProbe")
    for key in ("secrets", "configs"):
        given = node.get(key)
        listed = [] if given is None else [(each.get("source") or each).text for each in given.elements()]
        if listed:
            kind = {"secrets": "a Secret", "configs": "a ConfigMap"}[key]
            remarks.append(f"uses the {key} {', '.join(listed)} in the compose file: mount them from {kind}")
    mode = node.get("network_mode")
    if mode is not None and mode.text not in ("", "bridge", "default"):
        means = {"host": "its Deployment would need hostNetwork: true", "none": "a NetworkPolicy would keep it apart"}
        other = f"Kubernetes would run it as a container in the pod of {mode.text.partition(':')[2]}"
        told = means.get(mode.text, other if ":" in mode.text else "pods have one network")
        remarks.append(f"has network_mode {mode.text} in the compose file: {told}")
    others = [
        key for key, _ in node.items() if key not in _READ and key not in _WITHOUT_MEANING and not key.startswith("x-")
    ]
    if others:
        remarks.append(f"not carried over from the compose file: {', '.join(others)}")
    return remarks


def _words(node: Node | None) -> list[str]:
    if node is None or node.is_null:
        return []
    if node.is_sequence:
        return [element.text for element in node.elements() if element.is_scalar]
    try:
        return shlex.split(node.text)
    except ValueError:
        raise node.error("the command has an open quote") from None


def _environment(node: Node) -> dict[str, str]:
    given = node.get("environment")
    if given is None:
        return {}
    if given.is_mapping:
        return {key: _expanded(value.text) for key, value in given.items() if value.is_scalar and not value.is_null}
    pairs = (element.text.partition("=") for element in given.elements() if element.is_scalar)
    return {key: _expanded(value) for key, separator, value in pairs if separator and key}


def _expanded(text: str) -> str:
    """`${NAME:-default}` becomes its default; a variable without one keeps its spelling for the reader to fill in."""
    return _VARIABLE.sub(lambda match: match[2] if match[2] is not None else match[0], text).replace("$$", "$")


def _resources(service: DraftService, node: Node) -> None:
    given = node.get("cpus")
    if given is not None and given.is_scalar and re.fullmatch(_CORES, given.text):
        service.settings["cpuLimit"] = f"{round(float(given.text) * 1000)}m"
    for group, cpu, memory in (("reservations", "cpu", "memory"), ("limits", "cpuLimit", "memoryLimit")):
        cpus = _at(node, "deploy", "resources", group, "cpus")
        if cpus is not None and re.fullmatch(_CORES, cpus.text):
            service.settings[cpu] = f"{round(float(cpus.text) * 1000)}m"
        size = _SIZE.fullmatch((_at(node, "deploy", "resources", group, "memory") or _NOTHING).text)
        if size is not None:
            service.settings[memory] = _bytes(size[1], size[2].lower())
    for key, name in (("mem_reservation", "memory"), ("mem_limit", "memoryLimit")):
        given = node.get(key)
        size = _SIZE.fullmatch(given.text) if given is not None and given.is_scalar else None
        if size is not None:
            service.settings.setdefault(name, _bytes(size[1], size[2].lower()))


def _bytes(number: str, unit: str) -> str:
    if "." not in number:
        return f"{number}{_UNITS[unit]}"
    factor = {"": 1, "b": 1, "k": 2**10, "m": 2**20, "g": 2**30}[unit]
    return str(round(float(number) * factor))


def _ports(service: DraftService, node: Node) -> None:
    """The first published or exposed port is the one other services use: inside, that is the container's."""
    for key in ("ports", "expose"):
        for element in (node.get(key) or _NOTHING).elements():
            target = element.get("target") if element.is_mapping else None
            protocol = (element.get("protocol") or _NOTHING).text if element.is_mapping else ""
            number = target.text if target is not None else ""
            if element.is_scalar:
                match = _PORT.fullmatch(element.text)
                number, protocol = (match[2], match[3] or "") if match is not None else ("", "")
            port = whole(number, most=65_535)
            if port:
                service.endpoint["port"] = port
                if protocol and protocol.upper() != "TCP":
                    service.endpoint["protocol"] = protocol.upper()
                return


def _open_reached(draft: Draft) -> None:
    """A Service for whoever is called by name and publishes no port: inside a compose network every port is open."""
    for name in dict.fromkeys(channel.target for channel in draft.channels):
        service = draft.services[name]
        if "port" in service.endpoint:
            continue
        callers = [draft.services[channel.source] for channel in draft.channels if channel.target == name]
        port, why = _port_of(service, callers)
        service.endpoint["port"] = port
        service.remarks.append(f"others reach it, but it publishes no port: {port} is {why}")


def _port_of(service: DraftService, callers: list[DraftService]) -> tuple[int, str]:
    called = re.compile(rf"(?<![A-Za-z0-9_.-]){re.escape(service.name)}:([0-9]{{1,5}})(?![0-9])")
    for caller in callers:
        for variable, value in caller.settings.get("env", {}).items():
            match = called.search(value)
            port = whole(match[1], most=65_535) if match is not None else None
            if port:
                return port, f"taken from {variable} of {caller.name}"
    image = str(service.settings["image"]).split("@")[0].rpartition("/")[2].split(":")[0].lower()
    known = next((port for word, port in IMAGE_PORTS.items() if word in image), None)
    return (known, f"what {image} listens on by default") if known is not None else (80, "a guess")


def _channels(draft: Draft, original: str, node: Node, names: dict[str, str], ports: dict[str, int | None]) -> None:
    source = names[original]
    environment = dict(draft.services[source].settings.get("env", {}))
    renamed = {variable: _renamed(value, names) for variable, value in environment.items()}
    for channel in mentioned(source, renamed, names.values(), ports):
        draft.connect(channel)
    for key in ("links", "depends_on"):
        section = node.get(key)
        if section is None:
            continue
        listed = section.keys() if section.is_mapping else [element.text for element in section.elements()]
        for word in listed:
            other = word.split(":")[0]
            if other not in names:
                raise section.error(f"`{original}` {key.replace('_', ' ')} `{other}`, which is no service")
            kind = route_type(scheme=None, port=ports[names[other]])
            draft.connect(DraftChannel(source, names[other], kind, why=f"guessed from {key}"))


def _renamed(value: str, names: dict[str, str]) -> str:
    for old, new in names.items():
        if old != new:
            value = re.sub(rf"(?<![A-Za-z0-9_-]){re.escape(old)}(?![A-Za-z0-9_-])", new, value)
    return value


def _at(node: Node, *path: str) -> Node | None:
    current: Node | None = node
    for key in path:
        current = current.get(key) if current is not None else None
    return current


_NOTHING = Node("scalar", None, file="", line=0, column=0)
