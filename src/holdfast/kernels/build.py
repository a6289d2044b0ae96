"""Compile kernels by their recorded signatures, without the rest of the library.

    python -m holdfast.kernels.build                            for this processor, into the cache
    python -m holdfast.kernels.build --folder F [--levels L]    for a wheel: a folder for each level

It needs numpy, numba and filelock alone, so that `make demo` can compile while pip installs the rest. The
kernels are divided among processes, those that take longest first.
"""

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path

# Seconds that the slowest kernels take, roughly: they come first. All others take a second or two.
SLOWEST = {
    "growth.grow.grow": 45,
    "consensus.search.centre": 22,
    "boosting.grow.advance": 16,
    "quantile.grow_quantiles": 12,
    "consensus.search.take_step": 6,
    "distance.distances.measure": 4,
}


def compile_kernel(name: str, folder: Path | None = None) -> None:
    """Compile one kernel for all its signatures, into the cache or a folder."""
    from holdfast.kernels.signatures import all_kernels, recorded_signatures

    kernel = all_kernels()[name]
    if folder is not None:
        kernel.compiled._cache.write_to(folder)
    for signature in recorded_signatures()[name]:
        kernel.compiled.compile(signature)


def compile_all(
    folder: Path | None = None, *, only: Sequence[str] = (), n_processes: int | None = None
) -> None:
    """Compile every kernel, or those whose names begin with one of `only`, in processes side by side.

    A terminal shows how many are ready.
    """
    from holdfast.kernels.signatures import recorded_signatures

    names = [name.removeprefix("holdfast.kernels.") for name in recorded_signatures()]
    names = [name for name in names if not only or name.startswith(tuple(only))]
    names.sort(key=lambda name: (-SLOWEST.get(name, 1), name))
    start, is_shown = time.perf_counter(), sys.stderr.isatty()
    workers = n_processes or min(os.cpu_count() or 1, 8)
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        tasks = [pool.submit(compile_kernel, f"holdfast.kernels.{name}", folder) for name in names]
        for number, task in enumerate(as_completed(tasks), 1):
            task.result()
            if is_shown:
                seconds = time.perf_counter() - start
                sys.stderr.write(f"\rCompiling kernels: {number} of {len(names)} in {seconds:.0f} s ")
                sys.stderr.flush()
    if is_shown:
        sys.stderr.write("\n")


def compile_levels(folder: Path, levels: Sequence[str] = ()) -> None:
    """Compile every kernel for each level of processors, into a folder for each."""
    from holdfast.kernels.shipped import LEVELS, machine

    plain = {name: value for name, value in os.environ.items() if not name.startswith("NUMBA_")}
    for level in levels or LEVELS[machine()]:
        (folder / level).mkdir(parents=True, exist_ok=True)
        # numba reads these when it is imported.
        settings = {"NUMBA_CPU_NAME": level, "NUMBA_CPU_FEATURES": ""}
        command = [sys.executable, "-m", "holdfast.kernels.build", "--into", str(folder / level)]
        subprocess.run(command, env={**plain, **settings}, check=True)


def main() -> None:
    """Compile what the arguments name."""
    parser = argparse.ArgumentParser(description="Compile kernels by their recorded signatures.")
    parser.add_argument("--folder", type=Path, help="folder of a wheel, with one for each level")
    parser.add_argument("--levels", nargs="*", default=[], help="levels of processors, by default all")
    parser.add_argument("--into", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--only", nargs="*", default=[], help="first letters of the names of kernels")
    parser.add_argument("--processes", type=int, help="by default one for each core, at most 8")
    options = parser.parse_args()
    if options.folder is not None:
        compile_levels(options.folder, options.levels)
    else:
        compile_all(options.into, only=options.only, n_processes=options.processes)


if __name__ == "__main__":
    main()
