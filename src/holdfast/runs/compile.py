"""Compile kernels, or load them from disk, before a fit is timed."""

import os
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from holdfast.kernels.build import (
    KERNELS,
    TREES,
    compile_here,
    compile_in_processes,
    list_kernels,
    show_progress,
)
from holdfast.kernels.jit import IS_OFF
from holdfast.runs.files import collect_notes, timed
from holdfast.runs.settings import RunSettings

QUANTILES = ("absolute_error", "quantile")  # criteria whose trees other kernels grow


class Ready(NamedTuple):
    """How the kernels were made ready."""

    compiled: bool  # False: they were on disk
    seconds: float
    notes: list[str]  # warnings


def prepare_kernels(settings: RunSettings | None = None, *, model: str | None = None) -> Ready:
    """Compile the kernels of the settings, of a model or of all models, or load them from disk."""
    if IS_OFF:
        return Ready(False, 0.0, [])
    model = model if settings is None else settings.model
    prefixes = () if model is None else KERNELS.get(model, TREES)
    if settings is not None and settings.parameters.get("criterion") in QUANTILES:
        prefixes = (*prefixes, "quantile")
    names = list_kernels(prefixes)
    with collect_notes() as notes:
        was_compiled, seconds = timed(lambda: _compile_or_load(names))
    return Ready(was_compiled, seconds, notes)


def _compile_or_load(names: Sequence[str]) -> bool:
    """Compile in processes what is not on disk, and load all; return True if anything was missing."""
    from holdfast.kernels.signatures import all_kernels  # which imports numba

    kernels = all_kernels()
    own = {name: kernels[f"holdfast.kernels.{name}"] for name in names}
    missing = [name for name, kernel in own.items() if not kernel.is_on_disk]
    if len(missing) > 1 and _can_write(Path(own[missing[0]].folder)):
        # What fails there is repeated here, with its message.
        with suppress(subprocess.CalledProcessError, OSError):
            compile_in_processes(missing, report=show_progress(len(missing)))
    compile_here(names)
    return bool(missing)


def _can_write(folder: Path) -> bool:
    """True if the folder can be written to, or the nearest one above it that exists."""
    nearest = next(each for each in (folder, *folder.parents) if each.exists())
    return os.access(nearest, os.W_OK)
