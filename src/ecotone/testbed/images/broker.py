"""RabbitMQ as an image: Debian's packages as `scripts/live-tools --broker` unpacks them, less what a single broker never loads.

Its own start script asks for half a dozen commands of a whole system; all it does in the end is to start Erlang's virtual
machine with a boot module. So the entry point does that itself, after the port mapper that Erlang nodes register with. A shell
is in the image because RabbitMQ looks at its disk through one.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from ecotone.model.errors import OutsideError
from ecotone.testbed.images.archive import Entry, Image, write_image
from ecotone.testbed.images.libraries import libraries
from ecotone.testbed.requirements import cache_directory

BROKER_IMAGE = "ecotone.local/rabbitmq:bed"
DATA = "/var/lib/rabbitmq"
AMQP_PORT = 5672
ERLANG = "usr/lib/erlang"
PLUGINS = "usr/lib/rabbitmq/plugins"
# What the application `rabbit` depends on, in turn; plugins of its own are not enabled.
NEEDED = frozenset(
    {
        "amqp10_common", "aten", "credentials_obfuscation", "cuttlefish", "enough", "gen_batch_server", "getopt", "jsx",
        "observer_cli", "osiris", "ra", "rabbit", "rabbit_common", "rabbitmq_prelaunch", "ranch", "recon", "seshat",
        "stdout_formatter", "syslog", "sysmon_handler", "systemd",
    }
)  # fmt: skip
_UNUSED = frozenset({"src", "include", "man", "doc", "examples"})
_TOOLS = {"bin/sh": Path("/bin/dash"), "bin/df": Path("/bin/df")}
_SETTINGS = b"loopback_users = none\nlog.console.level = warning\n"
# Busy waiting would burn a small node's quota, more than one scheduler thread would share it.
_BOOT = (
    "-noinput -s rabbit boot -boot /usr/lib/erlang/bin/start_sasl +W w +sbwt none +sbwtdcpu none +sbwtdio none +S 1:1 +B i "
    "-syslog logger [] -syslog syslog_error_logger false -kernel prevent_overlapping_partitions false"
)


def broker_packages() -> Path:
    found = cache_directory() / "live" / "rabbitmq"
    if not found.is_dir():
        raise OutsideError("RabbitMQ's packages are not unpacked (scripts/live-tools --broker)")
    return found


def broker_entries(packages: Path) -> list[Entry]:
    entries = [Entry(f"{ERLANG}/{path}", file, mode) for path, file, mode in _files(packages / ERLANG)]
    (server,) = (packages / "usr/lib/rabbitmq/lib").glob("rabbitmq_server-*")
    for plugin in sorted((server / "plugins").iterdir()):
        if plugin.name.rpartition("-")[0] in NEEDED:
            entries += [Entry(f"{PLUGINS}/{plugin.name}/{path}", file, mode) for path, file, mode in _files(plugin)]
    entries += [Entry(path, file.resolve(), 0o755) for path, file in _TOOLS.items()]
    return [*entries, Entry("etc/rabbitmq/rabbitmq.conf", _SETTINGS)]


def broker_image(entries: list[Entry], out: Path) -> str:
    programs = [
        entry.content
        for entry in entries
        if isinstance(entry.content, Path) and entry.mode == 0o755  # also libraries
    ]
    runtime = next(entry.path.rpartition("/")[0] for entry in entries if entry.path.endswith("/erlexec"))
    image = Image(
        BROKER_IMAGE,
        [*entries, *libraries(programs)],
        ["/bin/sh", "-c", f"$BINDIR/epmd -daemon -address 127.0.0.1 && exec $BINDIR/erlexec {_BOOT}"],
        environment=(
            "PATH=/bin", f"ROOTDIR=/{ERLANG}", f"BINDIR=/{runtime}", "EMU=beam", "PROGNAME=erl", f"HOME={DATA}",
            f"ERL_LIBS=/{PLUGINS}", f"RABBITMQ_PLUGINS_DIR=/{PLUGINS}", "RABBITMQ_HOME=/usr/lib/rabbitmq",
            "RABBITMQ_NODENAME=rabbit@localhost", f"RABBITMQ_NODE_PORT={AMQP_PORT}", f"RABBITMQ_MNESIA_BASE={DATA}/mnesia",
            f"RABBITMQ_ENABLED_PLUGINS_FILE={DATA}/plugins", "RABBITMQ_CONFIG_FILE=/etc/rabbitmq/rabbitmq.conf",
            "RABBITMQ_LOGS=-", "RABBITMQ_UPGRADE_LOG=-",
        ),
    )  # fmt: skip
    return write_image(image, out)


def _files(root: Path) -> Iterator[tuple[str, Path, int]]:
    for file in sorted(root.rglob("*")):
        path = file.relative_to(root)
        if file.is_file() and not _UNUSED & set(path.parts):
            program = file.stat().st_mode & 0o111 or ".so" in file.name
            yield str(path), file, 0o755 if program else 0o644
