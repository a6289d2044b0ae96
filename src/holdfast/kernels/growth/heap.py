"""The nodes that wait to be split, the first to be split on top."""

from holdfast.arrays import FloatArray, LongArray
from holdfast.kernels.jit import inner


@inner
def push(heap: LongArray, priority: FloatArray, size: int, node: int) -> None:
    """Add a node to the heap, the highest priority and then the oldest node first."""
    i = size
    while i > 0:
        parent = heap[(i - 1) // 2]
        if priority[parent] > priority[node] or (priority[parent] == priority[node] and parent < node):
            break
        heap[i] = parent
        i = (i - 1) // 2
    heap[i] = node


@inner
def pop(heap: LongArray, priority: FloatArray, size: int) -> int:
    """Take the first node out of the heap."""
    first: int = heap[0]
    node, i = heap[size - 1], 0
    while 2 * i + 1 < size - 1:
        child = 2 * i + 1
        a, b = heap[child], heap[min(child + 1, size - 2)]
        if priority[b] > priority[a] or (priority[b] == priority[a] and b < a):
            child, a = child + 1, b
        if priority[node] > priority[a] or (priority[node] == priority[a] and node < a):
            break
        heap[i] = a
        i = child
    heap[i] = node
    return first
