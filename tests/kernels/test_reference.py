"""Tuples that kernels pass on by one pointer."""

import os
import subprocess
import sys
from typing import NamedTuple

import numpy as np
import pytest

from holdfast._arrays import FloatArray, LongArray
from holdfast.kernels.jit import by_reference, inner, kernel


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
