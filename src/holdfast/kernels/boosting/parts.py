"""Work in parts, which the threads of a run take one after the other.

One thread grows the tree and offers work; the others wait inside a kernel, so that they begin at once. Nobody
waits for a thread that has not come: who offers the work takes parts of it too, and waits only for those that
others have taken.
"""

from holdfast.arrays import LongArray
from holdfast.kernels.instructions import add, give_way, read, write
from holdfast.kernels.jit import inner, int64

# The cells of a queue, on a line of the cache each.
N_WAITING, N_DONE, WORK, IS_OVER = int64(0), int64(8), int64(16), int64(24)
N_CELLS = 32
PATIENCE = 2_000  # looks before a thread lets another one have its processor


@inner
def offer(queue: LongArray, work: int, n_parts: int) -> None:
    """Let any thread take parts of a work."""
    write(queue, N_DONE, int64(0))
    write(queue, WORK, work)
    write(queue, N_WAITING, n_parts)


@inner
def take(queue: LongArray) -> int:
    """The number of a part that nobody has taken; below 0 if there is none."""
    if read(queue, N_WAITING) <= 0:
        return int64(-1)
    # Between the two another thread may have taken the last one.
    return add(queue, N_WAITING, int64(-1)) - 1


@inner
def wait_for_parts(queue: LongArray, n_parts: int) -> None:
    """Wait until all parts of the work are done."""
    n_looks = 0
    while read(queue, N_DONE) < n_parts:
        n_looks += 1
        if n_looks > PATIENCE:
            give_way()
