"""Kernels that are compiled, or loaded from disk, before the time of a fit is taken."""

import sys
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

from holdfast.data.table import Table
from holdfast.errors import CacheWarning
from holdfast.kernels.jit import Kernel
from holdfast.runs.notes import collect_notes, timed
from holdfast.runs.settings import RunSettings
from holdfast.stability.settings import StabilitySettings
from holdfast.stability.training import train


class Ready(NamedTuple):
    """How the kernels came to be ready."""

    compiled: bool  # False: they were on disk
    seconds: float
    notes: list[str]  # warnings


def ready_kernels(work: Callable[[], object]) -> Ready:
    """The kernels that the work calls made ready."""
    with collect_notes() as notes, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what there is to say of a dozen rows is of no interest
        warnings.simplefilter("always", CacheWarning)
        _, seconds = timed(work)
    kernels = [
        each
        for name, module in list(sys.modules.items())
        if name.startswith("holdfast.kernels.")
        for each in vars(module).values()
        if isinstance(each, Kernel)
    ]
    return Ready(any(kernel.compiled.stats.cache_misses for kernel in kernels), seconds, notes)


def train_smallest(settings: RunSettings) -> None:
    """One call of every kernel that training a stable tree by this method, with this teacher, needs."""
    rows: list[list[Any]] = [[float(number), "a" if number % 3 else "b"] for number in range(12)]
    labels = ["no" if number < 6 else "yes" for number in range(12)]
    stable = StabilitySettings(method=settings.method, teacher=settings.teacher, n_estimators=2)
    train(Table.from_arrays(rows, labels), stable)
