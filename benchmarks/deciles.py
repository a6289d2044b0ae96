"""A large table through its years: python -m benchmarks.deciles FILE --target COLUMN [--drop COLUMN ...].

The rows, in the order of the file, are cut in ten parts. A stable tree is fitted to the first nine and
updated with the tenth; another goes through all ten in turn; and retraining is audited. Every step says how
long it took and how far memory rose above what was held before.
"""

import argparse
import time
import warnings
from collections.abc import Callable

import numpy as np
import pandas as pd
from rich.console import Console

from benchmarks.scale import fresh_peak_mib, peak_mib
from holdfast import StableTreeClassifier, retrain_audit

N_PARTS = 10


def step(console: Console, name: str, work: Callable[[], object]) -> None:
    """Do it, and say what it took."""
    before, start, cpu = fresh_peak_mib(), time.perf_counter(), time.process_time()
    result = work()
    seconds, own = time.perf_counter() - start, time.process_time() - cpu
    console.print(
        f"[bold]{name}[/]: {seconds:.1f} s ({own:.1f} s of CPU), {peak_mib() - before:.0f} MiB more"
    )
    console.print(str(result), highlight=False, markup=False)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file")
    parser.add_argument("--target", required=True)
    parser.add_argument("--drop", nargs="*", default=[], help="columns that no tree may ask")
    parser.add_argument("--rows", type=int, help="of the file, from the first on; all by default")
    parser.add_argument("--n-jobs", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=1, help="of the audit")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    console = Console(width=120)
    frame = pd.read_csv(options.file, low_memory=False, nrows=options.rows)
    X, y = frame.drop(columns=[options.target, *options.drop]), frame[options.target]
    part = np.arange(len(y)) * N_PARTS // len(y)
    old, new = part < N_PARTS - 1, part == N_PARTS - 1
    console.print(f"{len(y):,} rows, {X.shape[1]} columns, {options.n_jobs} threads")
    model = StableTreeClassifier(random_state=0, n_jobs=options.n_jobs)
    step(console, "fit to nine parts", lambda: model.fit(X[old], y[old]).tree_)
    step(
        console, "update with the tenth", lambda: model.update(X[new], y[new], allow_new_values=True).update_
    )
    stages = StableTreeClassifier(random_state=0, n_jobs=options.n_jobs)
    step(
        console,
        "all ten in turn, each learning from its own rows",
        lambda: stages.fit_stages(X, y, stage=part, memory="stage").stages_,
    )
    methods = {"stable": StableTreeClassifier(random_state=0), "pruned": "pruned-1se"}
    step(
        console,
        f"audit, {options.repeats} repetitions",
        lambda: retrain_audit(
            methods, X, y, changes="staged", stage=part, n_repeats=options.repeats, n_jobs=options.n_jobs
        ),
    )


if __name__ == "__main__":
    main()
