"""The exponential function, several numbers at once: 2 ns each in a loop, where `math.exp` takes 8.

And it has the same bits on every machine, which that of the system has not.
"""

from holdfast.kernels.instructions import SHIFT, power_of_two
from holdfast.kernels.jit import inlined

LOWEST, HIGHEST = -708.0, 709.0  # what is beyond them has no normal number
PER_LOG_2 = 1.4426950408889634
LOG_2_BEGIN, LOG_2_REST = 6.93145751953125e-1, 1.42860682030941723212e-6  # the first times 2^10 is exact


@inlined
def exp(x: float) -> float:
    """e^x for x from LOWEST to HIGHEST, to the last digit or two.

    The nearest power of two, and the series for what is left: up to 0.35, where 13 terms are enough.
    """
    shifted = x * PER_LOG_2 + SHIFT
    n_twos = shifted - SHIFT
    r = (x - n_twos * LOG_2_BEGIN) - n_twos * LOG_2_REST
    square = r * r
    fourth = square * square
    # In pairs, which need not wait for each other.
    low = (1.0 + r) + square * (1 / 2 + r * (1 / 6))
    middle = (1 / 24 + r * (1 / 120)) + square * (1 / 720 + r * (1 / 5040))
    high = (1 / 40320 + r * (1 / 362880)) + square * (1 / 3628800 + r * (1 / 39916800))
    high += fourth * (1 / 479001600 + r * (1 / 6227020800))
    return (low + fourth * (middle + fourth * high)) * power_of_two(shifted)
