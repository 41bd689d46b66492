"""Many runs: on all cores of this machine or on a Dask cluster, kept as they come in.

Results are handed back in the order of the jobs, whatever order they finish in. With a folder, each finished run is written
there at once (whole or not at all), and a later sweep takes it from there instead of running it again.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path

from ecotone.experiments.runs import Job, Run, execute
from ecotone.model.errors import InputError, OutsideError

Progress = Callable[[int, int], None]


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
    for place, job in enumerate(jobs):
        kept = _kept(folder, job)
        if kept is not None:
            found[place] = kept
    left = [(place, job) for place, job in enumerate(jobs) if place not in found]
    if progress is not None:
        progress(len(found), len(jobs))
    for place, run in _finished(left, workers=workers, dask=dask):
        found[place] = run
        _keep(folder, jobs[place], run)
        if progress is not None:
            progress(len(found), len(jobs))
    return [found[place] for place in range(len(jobs))]


def _finished(left: list[tuple[int, Job]], *, workers: int | None, dask: str | None) -> Iterator[tuple[int, Run]]:
    if dask is not None:
        yield from _on_dask(left, dask)
        return
    count = min(workers or os.cpu_count() or 1, len(left))
    if count <= 1:
        for place, job in left:
            yield place, execute(job)
        return
    with ProcessPoolExecutor(count) as pool:
        futures = {pool.submit(execute, job): place for place, job in left}
        try:
            for future in as_completed(futures):
                yield futures[future], future.result()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _on_dask(left: list[tuple[int, Job]], address: str) -> Iterator[tuple[int, Run]]:
    try:
        from distributed import Client
        from distributed import as_completed as as_finished
    except ImportError:
        raise InputError("--dask needs the package `distributed`", hint="pip install 'ecotone[dask]'") from None
    try:
        client = Client(address, timeout="10s", set_as_default=False)  # type: ignore[no-untyped-call]
    except (OSError, ValueError) as error:
        raise OutsideError(f"no Dask scheduler answers at {address}: {error}") from None
    with client:
        futures = {client.submit(execute, job, pure=False): place for place, job in left}
        for future in as_finished(list(futures), loop=client.loop):  # type: ignore[no-untyped-call]
            yield futures[future], future.result()


def _path(folder: Path, job: Job) -> Path:
    return folder / f"{job.key}.json"


def _kept(folder: Path | None, job: Job) -> Run | None:
    if folder is None:
        return None
    try:
        run: Run = json.loads(_path(folder, job).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError):
        return None  # half a file from another time: the run is simply done again
    return run


def _keep(folder: Path | None, job: Job, run: Run) -> None:
    if folder is None:
        return
    folder.mkdir(parents=True, exist_ok=True)
    path = _path(folder, job)
    partial = path.with_suffix(".partial")
    partial.write_text(json.dumps(run), encoding="utf-8")
    partial.replace(path)
