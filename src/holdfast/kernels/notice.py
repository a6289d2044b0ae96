"""One line on a terminal or in a notebook while kernels are compiled, which a user waits for."""

import sys
import threading
import time

DELAY = 2.0  # seconds without a notice
LONGEST = 600.0  # seconds of one: a kernel that could not be compiled never ends
_active: dict[str, float] = {}  # the kernels that are compiled now, and since when
_lock = threading.Lock()
_thread: threading.Thread | None = None


def begin(kernel: str) -> None:
    """Say that the kernel is compiled from now on."""
    global _thread
    if not (sys.stderr is not None and (sys.stderr.isatty() or "ipykernel" in sys.modules)):
        return
    with _lock:
        _active[kernel] = time.monotonic()
        if _thread is None or not _thread.is_alive():
            _thread = threading.Thread(target=_show, name="holdfast compile notice", daemon=True)
            _thread.start()


def end(kernel: str) -> None:
    """Say that the kernel is ready."""
    _active.pop(kernel, None)


def _show() -> None:
    start, is_shown, seconds = time.monotonic(), False, 0.0
    while _active and seconds < LONGEST:
        time.sleep(0.5)
        seconds, names = time.monotonic() - start, ", ".join(list(_active))
        if seconds >= DELAY and names:
            is_shown = True
            sys.stderr.write(
                f"\rholdfast compiles kernels, once on this machine: {names} ({seconds:.0f} s)   "
            )
            sys.stderr.flush()
    if is_shown:
        sys.stderr.write(f"\rholdfast has compiled kernels in {time.monotonic() - start:.0f} s.{' ' * 50}\n")
        sys.stderr.flush()
