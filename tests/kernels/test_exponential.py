"""The exponential function of the kernels, against that of the system."""

import math

import numpy as np
import pytest

from holdfast._arrays import FloatArray
from holdfast.kernels.boosting.losses import HIGHEST_EXPONENT, LOWEST, exp
from holdfast.kernels.jit import compile_uncached


# A function for kernels has no door to Python: it is called through a small one that has.
@compile_uncached
def powers(x: FloatArray, out: FloatArray) -> None:
    for i in range(len(x)):
        out[i] = exp(x[i])


@pytest.mark.kernel
def test_powers_of_e_are_those_of_the_system_to_the_last_digits() -> None:
    generator = np.random.default_rng(0)
    x = np.concatenate([generator.uniform(-1, 1, 1000), generator.uniform(LOWEST, HIGHEST_EXPONENT, 1000)])
    x = np.concatenate([x, [LOWEST, -1e-300, 0.0, 1.0, math.log(2) / 2, -math.log(2) / 2, HIGHEST_EXPONENT]])
    out = np.empty_like(x)
    powers(x, out)
    assert out == pytest.approx(np.exp(x), rel=4 * np.finfo(float).eps, abs=0.0)
    assert out[x == 0.0] == 1.0
