"""What ``ecotone serve scheduler`` can be told, once: for the command line's help and errors, and for a quick start.

A scheduler that starts is one whose pods wait, and loading and building a command line of a dozen verbs takes longer than
reading the whole cluster. So a command that is right to the letter is read here; anything else (a word that is unknown,
a value that does not fit, ``--help``) is left to the command line proper, which is made from the same fields.
"""

from __future__ import annotations

import gc
import os
import socket
from collections.abc import Sequence
from dataclasses import MISSING, Field, dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ecotone.kube.lease import LeaseTimes
    from ecotone.services.scheduler.settings import SchedulerSettings

BATCH = 128


def option(default: Any, text: str, *names: str, at_least: int | None = None) -> Any:
    """A field with its help; ``names`` where they are not simply the field's, with the negation of a flag."""
    return field(default=default, metadata={"help": text, "names": names, "min": at_least})


@dataclass(frozen=True, kw_only=True)
class SchedulerOptions:
    """The words of the command line; every field is an option."""

    scheduler_name: list[str] | None = option(
        None, "Pods that name this scheduler are ours. Repeat for several.", "--scheduler-name"
    )
    policy: str | None = option(None, "A policy by name; see `ecotone policies`.", "--policy")
    config: Path | None = option(None, "A scheduler configuration with one or more profiles.", "--config")
    leader_elect: bool = option(False, "Only one of several replicas acts.", "--leader-elect")
    lease_namespace: str = option("kube-system", "Namespace of the lease.")
    lease_name: str = option("ecotone-scheduler", "Name of the lease.")
    lease_duration: float = option(15.0, "Seconds until a silent leader is replaced.")
    lease_renew_deadline: float = option(10.0, "Seconds a leader acts without renewing.")
    lease_retry_period: float = option(2.0, "Seconds between attempts.")
    request_timeout: float = option(5.0, "Seconds a binding may take; below the renew deadline.")
    bindings: int = option(BATCH, "Bindings under way at a time.", at_least=1)
    batch: int = option(BATCH, "Pods decided in one round.", at_least=1)
    never_violate_budgets: bool = option(False, "Preemption never takes a pod whose disruption budget is spent.")
    max_age: float = option(300.0, "Seconds after which a measurement counts as unknown.")
    seed: int = option(0, "Seed of the draw among equal nodes.")
    watch_silence: float = option(150.0, "Seconds of silence after which a watch is replaced.")
    trust_loopback: bool = option(
        False, "Show /decisions to callers from this machine without a token.", "--trust-loopback"
    )
    trust_annotations: bool = option(
        False,
        "Believe measured keys without the admission policy that keeps them for the monitor.",
        "--trust-annotations",
    )
    allow_host: list[str] | None = option(
        None, "A further name under which callers may reach it. Repeat.", "--allow-host"
    )
    explain_binds: bool = option(True, "Write the reason into each pod (ecotone.dev/why).")
    listen: str | None = option(None, "ADDRESS:PORT of /metrics, /healthz and /readyz; none if left out.", "--listen")
    kubeconfig: str | None = option(None, "Path to a kubeconfig file.", "--kubeconfig")
    context: str | None = option(None, "Context of the kubeconfig to use.", "--context")
    verbose: bool = option(False, "Log every step.", "--verbose", "-v")


READERS: dict[str, type] = {"str": str, "float": float, "int": int, "Path": Path}


def read(words: Sequence[str]) -> SchedulerOptions | None:
    """The options, if every word is one as it should be; None leaves the answer to the command line proper."""
    flags, valued = _names()
    given: dict[str, Any] = {}
    rest = iter(words)
    for word in rest:
        if word in flags:
            name, value = flags[word]
            given[name] = value
            continue
        name_of, equals, text = word.partition("=")
        if name_of not in valued:
            return None
        if not equals:
            text = next(rest, "")
        known = valued[name_of]
        if not text or (not equals and text.startswith("-")):
            return None
        if known.type == "list[str] | None":
            given.setdefault(known.name, []).append(text)
            continue
        try:
            value = READERS[str(known.type).removesuffix(" | None")](text)
        except ValueError:
            return None
        if known.metadata["min"] is not None and value < known.metadata["min"]:
            return None
        given[known.name] = value
    return SchedulerOptions(**given)


def _names() -> tuple[dict[str, tuple[str, bool]], dict[str, Field[Any]]]:
    """The words that are flags, with field and value, and those that are followed by a value."""
    flags: dict[str, tuple[str, bool]] = {}
    valued: dict[str, Field[Any]] = {}
    for each in fields(SchedulerOptions):
        assert each.default is not MISSING
        plain = each.name.replace("_", "-")
        names = each.metadata["names"]
        if each.type == "bool":
            flags |= dict.fromkeys(names or (f"--{plain}",), (each.name, True))
            if not names:
                flags[f"--no-{plain}"] = (each.name, False)
        else:
            valued |= dict.fromkeys(names or (f"--{plain}",), each)
    return flags, valued


def start(options: SchedulerOptions) -> None:
    """Runs the scheduler until it is told to stop."""
    gc.disable()  # modules are no garbage
    try:
        from ecotone.cli.programs.logs import set_up_logging
        from ecotone.kube.kubeconfig import connect
        from ecotone.model.errors import InputError
        from ecotone.services.scheduler.start import serve
    finally:
        gc.enable()

    set_up_logging(options.verbose)
    identity = own_identity()
    try:
        connection = connect(kubeconfig=options.kubeconfig, context=options.context)
    except InputError:
        settings_of(options, identity=identity)  # what is wrong with the options themselves is told first
        raise
    serve(
        connection,
        lambda: settings_of(options, identity=identity),
        identity=identity,
        bindings=options.bindings,
        listen=options.listen,
    )


def own_identity() -> str:
    """What a replica calls itself where it must not be mistaken for another."""
    return f"{socket.gethostname()}_{os.getpid()}"


def lease_times(duration: float, renew_deadline: float, retry_period: float) -> LeaseTimes:
    from ecotone.kube.lease import LeaseTimes
    from ecotone.model.errors import InputError

    try:
        return LeaseTimes(duration, renew_deadline, retry_period)
    except ValueError as error:
        raise InputError(
            str(error), hint="see --lease-duration, --lease-renew-deadline, --lease-retry-period"
        ) from None


def settings_of(options: SchedulerOptions, *, identity: str) -> SchedulerSettings:
    """What the options mean; loads the policies."""
    from ecotone.services.scheduler.profiles import choose_profiles
    from ecotone.services.scheduler.settings import SchedulerSettings

    lease = lease_times(options.lease_duration, options.lease_renew_deadline, options.lease_retry_period)
    return SchedulerSettings(
        profiles=choose_profiles(
            names=options.scheduler_name or [],
            policy=options.policy,
            config=options.config,
            never_violate_budgets=options.never_violate_budgets,
        ),
        leader_elect=options.leader_elect,
        lease=lease,
        lease_namespace=options.lease_namespace,
        lease_name=options.lease_name,
        identity=identity,
        round_size=options.batch,
        bindings_in_flight=options.bindings,
        request_timeout=options.request_timeout,
        max_age=options.max_age,
        seed=options.seed,
        trust_loopback=options.trust_loopback,
        trust_annotations=options.trust_annotations,
        allowed_hosts=tuple(options.allow_host or ()),
        silence=options.watch_silence,
        explain_binds=options.explain_binds,
    )
