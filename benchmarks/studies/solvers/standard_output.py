"""Standard output, kept clean of what compiled code of other libraries writes there."""

import ctypes
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_LOCK = threading.Lock()  # the output belongs to the process: two threads would restore each other's
_OUTPUT = 1  # its number


@contextmanager
def muted_output() -> Iterator[None]:
    """Throw away what is written to standard output meanwhile, past Python as well.

    What other threads print meanwhile is lost too. A process without standard output is left alone.
    """
    with _LOCK:
        _flush()
        try:
            kept = os.dup(_OUTPUT)
        except OSError:
            yield
            return
        nowhere = os.open(os.devnull, os.O_WRONLY)
        try:
            os.dup2(nowhere, _OUTPUT)
            yield
        finally:
            _flush()
            os.dup2(kept, _OUTPUT)
            os.close(kept)
            os.close(nowhere)


def _flush() -> None:
    """Write out what Python and the C library hold back."""
    if sys.stdout is not None:
        sys.stdout.flush()
    ctypes.CDLL("ucrtbase" if os.name == "nt" else None).fflush(None)
