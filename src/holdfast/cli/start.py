"""The entry point of the program: light, so that Ctrl-C is answered in one line from the first moment."""

import os
import signal
import sys
from contextlib import suppress


def run() -> None:
    """Run the command line as a program of its own."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed by the caller
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115
    try:
        from holdfast.cli.main import main

        main()
    except KeyboardInterrupt:  # before the command line could catch it
        sys.stderr.write("Stopped by SIGINT.\n")
        _exit(128 + signal.SIGINT)
    except SystemExit as ending:
        if isinstance(ending.code, int) and ending.code > 128:
            _exit(ending.code)
        raise
    finally:
        # Only Python's own shutdown is left, which would print a traceback if it were interrupted.
        if signal.getsignal(signal.SIGINT) != signal.SIG_IGN:  # as in a background job
            signal.signal(signal.SIGINT, signal.SIG_DFL)


def _exit(code: int) -> None:
    """Exit at once with the code of a signal: Python would end some interruptions by a SIGINT of its own."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    os._exit(code)
