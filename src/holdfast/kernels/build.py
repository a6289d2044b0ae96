"""Compile kernels by their recorded signatures, without the rest of the library.

    python -m holdfast.kernels.build [--model stable]           for this processor, into the cache
    python -m holdfast.kernels.build --folder F [--levels L]    for a wheel: a folder for each level

It needs numpy, numba and filelock alone, so that `make demo` can compile while pip installs the rest. The
kernels are divided among processes that each take about as long.
"""

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

# The first letters of the kernels that a model calls; what a rare option needs is compiled in the fit.
TREES = ("growth.grow", "growth.leaf_values", "growth.random_splits", "growth.sorting", "predict")
KERNELS = {
    "stable": (*TREES, "boosting.leaves", "boosting.losses", "consensus", "distance"),
    "boosting": (*TREES, "boosting"),
}
# Seconds that the slowest kernels take, roughly. All others take a second or two.
SECONDS = {
    "growth.grow.grow": 45,
    "consensus.search.find_consensus": 22,
    "boosting.grow.advance": 16,
    "quantile.grow_quantiles": 12,
    "consensus.search.take_step": 6,
    "distance.distances.measure": 4,
}


def list_kernels(prefixes: Iterable[str] = ()) -> list[str]:
    """List the recorded kernels whose names begin with one of the prefixes, by default all."""
    from holdfast.kernels.signatures import recorded_signatures

    names = [name.removeprefix("holdfast.kernels.") for name in recorded_signatures()]
    wanted = tuple(prefixes)
    return [name for name in names if not wanted or name.startswith(wanted)]


def compile_here(names: Iterable[str], folder: Path | None = None) -> None:
    """Compile kernels for all their signatures, into the cache or a folder, or load them from the cache."""
    from holdfast.kernels.signatures import all_kernels, recorded_signatures

    kernels, signatures = all_kernels(), recorded_signatures()
    for name in names:
        compiled = kernels[f"holdfast.kernels.{name}"].compiled
        if folder is not None:
            compiled._cache.write_to(folder)
        for signature in signatures[f"holdfast.kernels.{name}"]:
            compiled.compile(signature)


def compile_in_processes(
    names: Sequence[str],
    folder: Path | None = None,
    *,
    n_processes: int | None = None,
    report: Callable[[int], None] = lambda number: None,
) -> None:
    """Compile kernels in processes side by side, and report how many are ready.

    A failure is a CalledProcessError. Ctrl-C ends the processes.
    """
    n_processes = n_processes or min(os.cpu_count() or 1, 8)
    shares: list[list[str]] = [[] for _ in range(min(n_processes, len(names)))]
    for name in sorted(names, key=lambda name: (-SECONDS.get(name, 1), name)):
        min(shares, key=lambda share: sum(SECONDS.get(each, 1) for each in share)).append(name)
    source = str(Path(__file__).parents[2])
    path = os.pathsep.join([source, *filter(None, [os.environ.get("PYTHONPATH")])])
    environment = {**os.environ, "PYTHONPATH": path}
    command = [sys.executable, "-W", "ignore", "-m", "holdfast.kernels.build", "--worker"]
    into = [] if folder is None else ["--into", str(folder)]
    reading, writing = os.pipe()
    workers = [
        subprocess.Popen([*command, *into, "--only", *share], stdout=writing, env=environment)
        for share in shares
    ]
    os.close(writing)
    try:
        with os.fdopen(reading) as lines:  # until the last worker ends
            for number, _ in enumerate(lines, 1):
                report(number)
        for worker in workers:
            if worker.wait():
                raise subprocess.CalledProcessError(worker.returncode, command)
    finally:
        for worker in workers:
            worker.kill()
            worker.wait()


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


def show_progress(n_kernels: int) -> Callable[[int], None]:
    """Return a function that shows on a terminal how many kernels are ready."""
    start = time.perf_counter()

    def show(number: int) -> None:
        end = "\n" if number == n_kernels else ""
        text = f"\rCompiling kernels: {number} of {n_kernels} in {time.perf_counter() - start:.0f} s "
        sys.stderr.write(text + end)
        sys.stderr.flush()

    return show if sys.stderr.isatty() else lambda number: None


def main() -> None:
    """Compile what the arguments name."""
    parser = argparse.ArgumentParser(description="Compile kernels by their recorded signatures.")
    parser.add_argument("--folder", type=Path, help="folder of a wheel, with one for each level")
    parser.add_argument("--levels", nargs="*", default=[], help="levels of processors, by default all")
    parser.add_argument("--only", nargs="*", default=[], help="first letters of the names of kernels")
    parser.add_argument("--model", choices=KERNELS, help="only the kernels of this model")
    parser.add_argument("--processes", type=int, help="by default one for each core, at most 8")
    parser.add_argument("--into", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.folder is not None:
        compile_levels(options.folder, options.levels)
    elif options.worker:
        from holdfast.kernels import notice

        notice.is_on = False
        for name in options.only:
            compile_here([name], options.into)
            print(name, flush=True)
    else:
        names = list_kernels(KERNELS.get(options.model, options.only))
        progress = show_progress(len(names))
        compile_in_processes(names, options.into, n_processes=options.processes, report=progress)


if __name__ == "__main__":
    main()
