"""Many runs: on all cores of this machine or on a Dask cluster, kept as they come in.

Results are handed back in the order of the jobs, whatever order they finish in. With a folder, each finished run is written
there at once (whole or not at all), and a later sweep takes it from there instead of running it again. Where there is work
enough for all workers, runs that differ only in their policies go to one of them, which simulates policies that decide alike
once.
"""

from __future__ import annotations

import os
import re
import signal
import socket
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing import Array, Value, active_children
from pathlib import Path
from threading import current_thread, main_thread
from typing import Any

import msgspec

from ecotone.experiments.campaign.record import Run
from ecotone.experiments.campaign.runs import Job, execute_together
from ecotone.model.errors import InputError, OutsideError

Progress = Callable[[float, int], None]
Group = list[tuple[int, Job]]  # with their places among all jobs
GROUPS_PER_WORKER = 4
_LOOK_SECONDS = 0.5
_ADDRESS = re.compile(r"(?:(?P<protocol>[a-z]+)://)?(?P<host>\[[0-9a-fA-F:.]+\]|[^\s:/]+):(?P<port>\d{1,5})")
_DECODER = msgspec.json.Decoder(Run)


def sweep(
    jobs: Sequence[Job],
    *,
    workers: int | None = None,
    dask: str | None = None,
    folder: Path | None = None,
    progress: Progress | None = None,
) -> list[Run]:
    """Every job's run, in the order of the jobs."""
    found: dict[int, Run] = {}
    for index, job in enumerate(jobs):
        kept = _kept(folder, job)
        if kept is not None:
            found[index] = kept
    left = [(index, job) for index, job in enumerate(jobs) if index not in found]
    if progress is not None:
        progress(len(found), len(jobs))

    def inside(shares: float) -> None:
        if progress is not None:
            progress(len(found) + shares, len(jobs))

    count = workers or os.cpu_count() or 1
    for index, run in _finished(_groups(left, count), workers=count, dask=dask, inside=inside):
        found[index] = run
        _keep(folder, jobs[index], run)
        if progress is not None:
            progress(len(found), len(jobs))
    return [found[index] for index in range(len(jobs))]


def _groups(left: list[tuple[int, Job]], workers: int) -> list[Group]:
    """Jobs to be done together; one by one where workers would otherwise wait for the last group."""
    alone = [[each] for each in left]
    together: dict[tuple[str, int, int, bool], Group] = {}
    for index, job in left:
        together.setdefault(job.world, []).append((index, job))
    shared = [group for world, group in together.items() if not world[-1]]
    if len(shared) < GROUPS_PER_WORKER * workers:
        return alone
    return [each for each in alone if each[0][1].bound] + shared


def _finished(
    left: list[Group], *, workers: int, dask: str | None, inside: Callable[[float], None]
) -> Iterator[tuple[int, Run]]:
    """`inside` is told how much of the runs under way is done, together."""
    if dask is not None:
        yield from _on_dask(left, dask)
        return
    count = min(workers, len(left))
    if count <= 1:
        for group in left:
            yield from zip(_indexes(group), execute_together(_jobs(group), inside), strict=True)
        return
    others = set(active_children())
    shares, taken = Array("d", count, lock=False), Value("i", 0)
    pool = ProcessPoolExecutor(count, initializer=_start_worker, initargs=(shares, taken))
    try:
        with _interrupts_wait():
            futures = {pool.submit(_execute_here, _jobs(group)): _indexes(group) for group in left}
        while futures:
            for future in wait(futures, timeout=_LOOK_SECONDS, return_when=FIRST_COMPLETED).done:
                yield from zip(futures.pop(future), future.result(), strict=True)
            inside(sum(shares[:]))
        pool.shutdown()
    except BaseException as error:
        # A run takes minutes and its result is no longer wanted: workers end now, not after it, and nobody waits for
        # the pool's own threads, which may never hear of it.
        ours = set(active_children()) - others
        for child in ours:
            child.terminate()
        for child in ours:
            child.join(1.0)
        pool.shutdown(wait=False, cancel_futures=True)
        if isinstance(error, BrokenProcessPool):
            hint = "the system may be out of memory; try fewer --workers"
            raise OutsideError(f"a worker process was killed ({hint})") from None
        raise


@contextmanager
def _interrupts_wait() -> Iterator[None]:
    """Ctrl-C counts at the end of the block: an interrupt in the middle of a fork would leave a worker that nobody knows."""
    if current_thread() is not main_thread():
        yield
        return
    came: list[int] = []
    usual = signal.signal(signal.SIGINT, lambda number, _: came.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, usual)
    if came:
        raise KeyboardInterrupt


_tell: Callable[[float], None] | None = None


def _start_worker(shares: Any, taken: Any) -> None:
    """Each worker has a place to say how far its run is.

    Ctrl-C reaches every process of the terminal; the parent alone answers it, and ends its workers.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with taken.get_lock():
        place, taken.value = taken.value, taken.value + 1

    def tell(share: float) -> None:
        if place < len(shares):
            shares[place] = share

    global _tell  # noqa: PLW0603 - what a worker process knows of itself
    _tell = tell


def _execute_here(jobs: Sequence[Job]) -> list[Run]:
    try:
        return execute_together(jobs, _tell)
    finally:
        if _tell is not None:
            _tell(0.0)


def _jobs(group: Group) -> list[Job]:
    return [job for _, job in group]


def _indexes(group: Group) -> list[int]:
    return [index for index, _ in group]


def _on_dask(left: list[Group], address: str) -> Iterator[tuple[int, Run]]:
    try:
        from distributed import Client
        from distributed import as_completed as as_finished
    except ImportError:
        raise InputError("--dask needs the package `distributed`", hint="pip install 'ecotone[dask]'") from None
    _refuse_silent(address)
    try:
        client = Client(address, timeout="10s", set_as_default=False)
    except (OSError, ValueError) as error:
        raise OutsideError(f"no Dask scheduler answers at {address}: {error}") from None
    with client:
        futures = {client.submit(execute_together, _jobs(group), pure=False): _indexes(group) for group in left}
        for future in as_finished(list(futures), loop=client.loop):
            yield from zip(futures[future], future.result(), strict=True)


def _refuse_silent(address: str) -> None:
    """Dask's own client tries for half a minute before it says what is wrong with an address."""
    shape = _ADDRESS.fullmatch(address)
    if shape is None:
        raise InputError(f"--dask {address}: no address of a scheduler", hint="write it like tcp://HOST:8786")
    if shape["protocol"] not in (None, "tcp", "tls"):
        return
    try:
        socket.create_connection((shape["host"].strip("[]"), int(shape["port"])), timeout=5).close()
    except (OSError, OverflowError) as error:
        raise OutsideError(f"no Dask scheduler answers at {address}: {error}") from None


def _path(folder: Path, job: Job) -> Path:
    return folder / f"{job.key}.json"


def _kept(folder: Path | None, job: Job) -> Run | None:
    if folder is None:
        return None
    try:
        return _DECODER.decode(_path(folder, job).read_bytes())
    except (OSError, ValueError):
        return None  # none yet, or no whole record of this version: the run is done again


def _keep(folder: Path | None, job: Job, run: Run) -> None:
    if folder is None:
        return
    folder.mkdir(parents=True, exist_ok=True)
    path = _path(folder, job)
    partial = path.with_suffix(".partial")
    partial.write_bytes(msgspec.json.encode(run))
    partial.replace(path)
