"""Where the program begins: light, so that Ctrl-C is answered in one line from the first moment."""

import os
import signal
import sys
from contextlib import suppress
from typing import NoReturn


def run() -> None:
    """The command line, as a program of its own."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed by whoever started the program
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115
    try:
        from holdfast.cli.main import main

        main()
    except KeyboardInterrupt:  # before the command line was there to catch it
        sys.stderr.write("Stopped by SIGINT.\n")
        _end(128 + signal.SIGINT)
    except SystemExit as ending:
        if isinstance(ending.code, int) and ending.code > 128:
            _end(ending.code)
        raise
    finally:
        # What is left is Python's own end, which has nothing to lose, and much to say about an interruption.
        if signal.getsignal(signal.SIGINT) != signal.SIG_IGN:  # as a job in the background has it
            signal.signal(signal.SIGINT, signal.SIG_DFL)


def _end(code: int) -> NoReturn:
    """End at once with the code of a signal: Python would end some interruptions by a SIGINT of its own."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    os._exit(code)
