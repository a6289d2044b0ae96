"""One line on a terminal or in a notebook while kernels are compiled, which a user waits for."""

import sys
import threading
import time

DELAY = 2.0  # seconds without a notice
LONGEST = 600.0  # seconds of one: a kernel that could not be compiled never ends
_active: set[str] = set()  # the kernels that are compiled now
_lock = threading.Lock()
_thread: threading.Thread | None = None
is_on = True  # False in processes of `build.py`, whose parent shows the progress


def begin(kernel: str) -> None:
    """Note that the compilation of a kernel begins."""
    global _thread
    is_seen = sys.stderr is not None and (sys.stderr.isatty() or "ipykernel" in sys.modules)
    if not (is_on and is_seen):
        return
    with _lock:
        _active.add(kernel)
        if _thread is None or not _thread.is_alive():
            _thread = threading.Thread(target=_show, name="holdfast compile notice", daemon=True)
            _thread.start()


def end(kernel: str) -> None:
    """Note that a kernel is ready."""
    _active.discard(kernel)


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
