"""The numba layer: what kernels may be, indices, references to tuples, and the switch to plain numba."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from holdfast._arrays import FloatArray, LongArray
from holdfast.kernels.jit import allocating, by_reference, inner, kernel


class Pair(NamedTuple):
    """Two numbers."""

    one: float
    other: float


def array_back(x: FloatArray) -> FloatArray:
    """Returns an array."""
    return x


def tuple_back(x: FloatArray) -> tuple[float, float]:
    """Returns a tuple."""
    return x[0], x[1]


def pair_back(x: FloatArray) -> Pair:
    """Returns a NamedTuple."""
    return Pair(x[0], x[1])


def unsaid(x: FloatArray):  # type: ignore[no-untyped-def]
    """Does not say what it returns."""
    return x


def nothing_back(x: FloatArray) -> None:
    """Returns nothing."""


@pytest.mark.kernel
@pytest.mark.parametrize("compiled", [kernel, inner, allocating])
def test_a_function_without_a_name_of_its_own_is_refused(compiled: Any) -> None:
    # Two of one name, compiled in different processes and loaded into a third, called each other's code: the
    # walk by thresholds took the place of the walk by any question, and predictions were wrong.
    def made_here(x: FloatArray) -> None:
        """Has the name of all that are made here."""

    with pytest.raises(TypeError, match="name of its own"):
        compiled(made_here)
    compiled(nothing_back)


@pytest.mark.kernel
@pytest.mark.parametrize("function", [array_back, tuple_back, pair_back, unsaid])
def test_a_kernel_that_returns_more_than_a_number_is_refused(function: object) -> None:
    with pytest.raises(TypeError, match="must return nothing or one number"):
        kernel(function)  # type: ignore[type-var]


# -- Unsigned indices ----------------------------------------------------------------------------------------


@kernel
def place_all(values: FloatArray, at: LongArray, table: FloatArray) -> None:
    """Write the values to the places of the first row, their sum, counted from the end, to the last."""
    for i in range(len(values)):
        table[0, at[i]] = values[i]
        table[1, at[i] : at[i] + 1] += table[0, at[i]]
    table[-1, -1] = table[0].sum()
    for i in range(1):
        table[i + 1, -2] = table[i, -1]


@pytest.mark.kernel
def test_a_kernel_reads_and_writes_where_python_does() -> None:
    values, at = np.array([3.0, 5.0, 7.0]), np.array([4, 0, 2])
    table = np.zeros((3, 5))
    place_all(values, at, table)
    placed, moved = [5.0, 0.0, 7.0, 0.0, 3.0], [5.0, 0.0, 7.0, 3.0, 3.0]
    assert table.tolist() == [placed, moved, [0.0, 0.0, 0.0, 0.0, 15.0]]


# -- References to named tuples ------------------------------------------------------------------------------


class Scale(NamedTuple):
    factor: float
    offsets: FloatArray


class Job(NamedTuple):
    numbers: LongArray
    is_signed: bool
    scale: Scale
    first: int


@inner
def scaled(scale: Scale, number: int) -> float:
    return scale.factor * number + scale.offsets[1]


@inner
def shifted(job: Job, i: int) -> float:
    number = job.numbers[job.first + i]
    return scaled(job.scale, -number if job.is_signed else number)


@kernel
def fill(job: Job, other: Job, out: FloatArray) -> None:
    """out[i] = scaled numbers of the one job, then of the other."""
    job, other = by_reference(job), by_reference(other)
    here = job
    for i in range(len(out)):
        if i >= 2:
            here = other
        out[i] = shifted(here, i % 2)
        here.numbers[here.first + i % 2] += 1


@pytest.mark.kernel
def test_what_a_reference_gives_is_what_the_tuple_has() -> None:
    job = Job(np.array([7, 8, 9]), False, Scale(10.0, np.array([0.0, 0.5])), 1)
    other = Job(np.array([1, 2]), True, Scale(2.0, np.array([0.0, 0.25])), 0)
    out = np.zeros(4)
    fill(job, other, out)
    assert out.tolist() == [80.5, 90.5, -1.75, -3.75]  # 10 * 8 + .5, 10 * 9 + .5, 2 * -1 + .25, 2 * -2 + .25
    assert job.numbers.tolist() == [7, 9, 10]  # arrays are shared, not copied
    assert other.numbers.tolist() == [2, 3]


GROWING = """
import hashlib
import numpy as np
from holdfast import GrowthRules, Table, grow

draw = np.random.default_rng(0)
rows = [[float(draw.normal()), float(draw.integers(9)), f"c{draw.integers(60)}"] for _ in range(3000)]
classes = Table.from_arrays(rows, draw.integers(3, size=3000).astype(str))
numbers = Table.from_arrays(rows, draw.normal(size=3000))
for table, criterion in ((classes, "gini"), (numbers, "squared_error"), (numbers, "absolute_error")):
    tree = grow(table, GrowthRules(criterion=criterion, max_leaf_nodes=200))
    arrays = (tree.feature, tree.threshold, tree.value)
    print(hashlib.sha256(b"".join(array.tobytes() for array in arrays)).hexdigest())
"""


@pytest.mark.slow
@pytest.mark.kernel
def test_no_kernel_reads_memory_that_it_has_given_back() -> None:
    # With this setting the C library overwrites what is freed; where it knows none, there is nothing to see.
    plain, perturbed = (
        subprocess.run(
            [sys.executable, "-W", "ignore", "-c", GROWING],
            env={**os.environ, "MALLOC_PERTURB_": setting},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for setting in ("0", "170")
    )
    assert plain == perturbed


# -- Plain numba ---------------------------------------------------------------------------------------------

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
