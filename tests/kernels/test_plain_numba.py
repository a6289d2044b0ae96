"""The switch that leaves compiling and caching to numba."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

SMALL_KERNEL = """
from typing import NamedTuple

import numpy as np

from holdfast._arrays import FloatArray
from holdfast.kernels.jit import by_reference, keep
from holdfast.kernels.jit import allocating, inlined, inner, kernel


class Pair(NamedTuple):
    left: FloatArray
    right: FloatArray


@inlined
def product(pair: Pair, i: int) -> float:
    return pair.left[i] * pair.right[i]


@inner
def dot(pair: Pair) -> float:
    total = 0.0
    for i in range(len(pair.left)):
        total += product(pair, i)
    return total


@allocating
def doubled(values: FloatArray) -> FloatArray:
    return values + values


@kernel
def dot_of_doubled(left: FloatArray, right: FloatArray) -> float:
    pair = Pair(doubled(left), right)
    found = dot(by_reference(pair))
    keep(pair)
    return found
"""
CALL = """
import sys
import numpy as np
sys.path.insert(0, sys.argv[1])
from small_kernel import dot_of_doubled as kernel
print(kernel(np.arange(4.0), np.arange(4.0)), kernel.is_on_disk, type(kernel.compiled._cache).__name__)
"""


@pytest.mark.parametrize(("setting", "cache"), [("0", "KernelCache"), ("1", "FunctionCache")])
def test_results_and_storage_are_the_same_by_plain_numba(setting: str, cache: str, tmp_path: Path) -> None:
    (tmp_path / "small_kernel.py").write_text(SMALL_KERNEL)
    environment = {**os.environ, "HOLDFAST_PLAIN_NUMBA": setting, "NUMBA_CACHE_DIR": str(tmp_path)}
    environment |= {"NUMBA_DISABLE_JIT": "0"}
    found = subprocess.run(
        [sys.executable, "-c", CALL, str(tmp_path)], env=environment, capture_output=True, text=True
    )
    assert found.stdout.split() == ["28.0", "True", cache], found.stderr
