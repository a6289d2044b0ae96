"""Values as plain bytes and back: arrays as they lie in memory, and a key for what is shared."""

import io
import pickle
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from typing import Any

import numpy as np

from holdfast.arrays import ByteArray
from holdfast.backends.shared import Shared
from holdfast.errors import ClusterError

ALIGNMENT = 64  # bytes: compiled loops want arrays to begin where the processor likes them to

_local = threading.local()


def pack(value: Any, key_of: Callable[[Shared], str]) -> ByteArray:
    """Pickle a value to one array of bytes, with keys in place of shared values.

    First come the number of pieces and their sizes, then the pieces: a pickle, and the arrays that it speaks
    of. Functions and classes of a notebook are sent with their source.
    """
    stream, buffers = io.BytesIO(), list[pickle.PickleBuffer]()
    try:
        pickler = _pickler()(stream, protocol=5, buffer_callback=buffers.append)
        pickler.whole, pickler.key_of = value, key_of
        pickler.dump(value)
    except ClusterError:
        raise
    except Exception as error:  # whatever a class of the user's raises
        raise ClusterError(
            f"The work cannot be sent to a cluster: {type(error).__name__}: {error}. All that models and "
            "metrics hold must be such that pickle can write it."
        ) from error
    return _joined([stream.getbuffer(), *(buffer.raw() for buffer in buffers)])


@cache
def _pickler() -> Any:
    from cloudpickle import CloudPickler

    class Pickler(CloudPickler):  # type: ignore[misc]  # cloudpickle has no types
        """Writes a key for a shared value, unless it is the whole."""

        whole: Any
        key_of: Callable[[Shared], str]

        def reducer_override(self, value: Any) -> Any:
            if isinstance(value, Shared) and value is not self.whole:
                return get_shared_value, (self.key_of(value),)
            return super().reducer_override(value)

    return Pickler


def unpack(blob: ByteArray, parts: Mapping[str, Any]) -> Any:
    """Restore a value from bytes with the shared values of these keys; arrays are views."""
    pickled, *buffers = _pieces(blob)
    with _parts_at_hand(parts):
        return pickle.loads(pickled, buffers=buffers)


def get_shared_value(key: str) -> Any:
    """Return the shared value of the key while a value that contains it is unpacked."""
    return _local.parts[key]


@contextmanager
def _parts_at_hand(parts: Mapping[str, Any]) -> Iterator[None]:
    _local.parts = parts
    try:
        yield
    finally:
        del _local.parts


def _joined(pieces: list[memoryview]) -> ByteArray:
    head = np.array([len(pieces), *(piece.nbytes for piece in pieces)], np.int64)
    starts = _starts(head)
    blob = np.zeros(starts[-1], np.uint8)
    blob[: head.nbytes] = head.view(np.uint8)
    for start, piece in zip(starts, pieces, strict=False):
        blob[start : start + piece.nbytes] = np.frombuffer(piece, np.uint8)
    return blob


def _pieces(blob: ByteArray) -> list[memoryview]:
    whole = np.ascontiguousarray(blob).view(np.uint8)
    n_pieces = int(whole[:8].view(np.int64)[0])
    head = whole[: 8 * (n_pieces + 1)].view(np.int64)
    readable = memoryview(whole.data).toreadonly()
    return [
        readable[start : start + size] for start, size in zip(_starts(head), head[1:].tolist(), strict=False)
    ]


def _starts(head: Any) -> list[int]:
    """Return where each piece begins, and where all end."""
    starts = [-(-head.nbytes // ALIGNMENT) * ALIGNMENT]
    for size in head[1:].tolist():
        starts.append(starts[-1] + -(-size // ALIGNMENT) * ALIGNMENT)
    return starts
