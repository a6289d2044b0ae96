"""Another processor, as far as one machine can be two: `python tests/processor.py -n 2 tests/scoring`.

It runs pytest with the vector instructions of this machine turned down, in numpy, in BLAS, in the C library
and in compiled kernels. Logarithms, exponentials and products of matrices then end in other bits, and sorts
leave ties in another order: a test that passes here and there rests on none of it.
"""

import math
import os
import platform
import sys
from pathlib import Path

import numpy as np
from numpy._core import _multiarray_umath as built

CACHE = Path(__file__).parents[1] / ".numba_generic"
OLD_CORES = {"x86_64": "Nehalem", "AMD64": "Nehalem", "aarch64": "ARMV8", "arm64": "ARMV8"}
# By the names of older and of newer C libraries: each takes no notice of what it does not know.
OLD_LIBRARY = "glibc.cpu.hwcaps=-AVX2,-FMA,-FMA4,-AVX512F,-AVX2_Usable,-FMA_Usable,-FMA4_Usable"


def turned_down() -> dict[str, str]:
    """The settings that make an older processor of this one."""
    settings = {
        "NPY_DISABLE_CPU_FEATURES": " ".join(numpy_features()),
        "NUMBA_CPU_NAME": "generic",
        "NUMBA_CACHE_DIR": str(CACHE),
    }
    if core := OLD_CORES.get(platform.machine()):
        settings["OPENBLAS_CORETYPE"] = core
    if is_x86() and sys.platform == "linux":
        settings["GLIBC_TUNABLES"] = OLD_LIBRARY
    return settings


def numpy_features() -> list[str]:
    """What numpy chooses code by on this machine; the rest of what it knows it would complain about."""
    return [name for name in built.__cpu_dispatch__ if built.__cpu_features__.get(name)]


def is_x86() -> bool:
    return platform.machine() in ("x86_64", "AMD64")


def last_bits() -> dict[str, str]:
    """Results that end in other bits, or in another order, on another processor."""
    x = np.arange(1, 5001) / 79.0
    ties = np.arange(1000) % 7
    return {
        "numpy's logarithm": str([value.hex() for value in np.log(x).tolist()]),
        "numpy's exponential": str([value.hex() for value in np.exp(-x).tolist()]),
        "products of vectors": str([float(pair @ np.sqrt(pair)).hex() for pair in x.reshape(-1, 2)]),
        "the C library's exponential": str([math.exp(-value).hex() for value in x.tolist()]),
        "the order of ties": str(np.argsort(ties.astype(float)).tolist()),
    }


if __name__ == "__main__":
    command = [sys.executable, "-m", "pytest", *sys.argv[1:]]
    os.execve(sys.executable, command, {**os.environ, **turned_down()})
