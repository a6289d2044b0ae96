"""Compile all kernels by their recorded signatures, without the rest of the library.

    python -m holdfast.kernels.build                    for this processor, into the cache
    python -m holdfast.kernels.build FOLDER [LEVEL...]  for a wheel: a folder for each level of processors

It needs numpy, numba and filelock alone, so that `make demo` can compile while pip installs the rest. The
kernels are divided among processes, those that take longest first.
"""

import os
import subprocess
import sys
import time
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


def compile_kernel(name: str, folder: str | None) -> float:
    """Compile one kernel for all its signatures, into the cache or a folder; return the seconds."""
    from holdfast.kernels.signatures import all_kernels, recorded_signatures

    start = time.perf_counter()
    kernel = all_kernels()[name]
    if folder is not None:
        kernel.compiled._cache.write_to(Path(folder))
    for signature in recorded_signatures()[name]:
        kernel.compiled.compile(signature)
    return time.perf_counter() - start


def compile_all(folder: str | None = None, n_processes: int | None = None) -> None:
    """Compile every kernel, in processes side by side, with a line on how far it is."""
    from holdfast.kernels.signatures import recorded_signatures

    def weight(name: str) -> tuple[int, str]:
        return -SLOWEST.get(name.removeprefix("holdfast.kernels."), 1), name

    names = sorted(recorded_signatures(), key=weight)
    workers = min(n_processes or os.cpu_count() or 1, 8)
    start = time.perf_counter()
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        tasks = [pool.submit(compile_kernel, name, folder) for name in names]
        for number, task in enumerate(as_completed(tasks), 1):
            task.result()
            if sys.stderr.isatty():
                text = f"Compiling kernels: {number} of {len(names)}, {time.perf_counter() - start:.0f} s"
                print(f"\r{text}", end="" if number < len(names) else "\n", file=sys.stderr, flush=True)


def build(folder: Path, levels: list[str]) -> None:
    """Compile every kernel for each level, as a wheel carries them."""
    from holdfast.kernels.shipped import LEVELS, machine

    for level in levels or list(LEVELS[machine()]):
        target = folder / level
        target.mkdir(parents=True, exist_ok=True)
        own = {name: value for name, value in os.environ.items() if not name.startswith("NUMBA_")}
        subprocess.run(
            [sys.executable, "-m", __spec__.name, "--level", str(target)],
            env={**own, "NUMBA_CPU_NAME": level, "NUMBA_CPU_FEATURES": ""},
            check=True,
        )


if __name__ == "__main__":
    match sys.argv[1:]:
        case []:
            compile_all()
        case ["--level", path]:
            compile_all(path)
        case [path, *levels]:
            build(Path(path), levels)
