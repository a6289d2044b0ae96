"""How a command ends when it does not end well: one line on stderr, an exit code, no traceback."""

import errno
import os
import re
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn

import click

from holdfast.errors import HoldfastError

_CATCHABLE = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]
_PARAMETER = re.compile(r"(\w+)(?==| (?:is|are|has|have|goes|needs|must) )")
NOT_PASSED = 3  # the exit code where all was done as asked, and the answer is no
PAUSE = 0.05  # seconds until a signal that was lost is sent again
_received: list[int] = []  # signals, the first of which ends the command
_waiting: list[threading.Timer] = []  # to send one again


def end_with(code: int) -> NoReturn:
    """End the command with this exit code, once all that it has printed is out."""
    if sys.stdout is not None:
        sys.stdout.flush()
    raise click.exceptions.Exit(code)


class InputError(click.ClickException):
    """What the user gave cannot be used: one line on stderr, no traceback, exit code 2."""

    exit_code = 2

    def show(self, file: Any = None) -> None:
        """Print the line; where even that cannot be done, the exit code has to do."""
        with suppress(OSError):
            super().show(file)


class Stopped(click.ClickException):
    """The user, or the system, has ended the command: exit code 128 and the number of the signal."""

    def __init__(self, number: int, notes: Sequence[str] = ()) -> None:
        super().__init__(" ".join([f"Stopped by {signal.Signals(number).name}.", *notes]))
        vars(self)["exit_code"] = 128 + number

    def show(self, file: Any = None) -> None:
        """Print the line, which tells of no error."""
        with suppress(OSError):
            click.echo(self.message, file=file, err=True)


@contextmanager
def one_line_errors() -> Iterator[None]:
    """Within it, an expected error becomes a line of text: the one place for that."""
    try:
        yield
        if _received:  # and some library has swallowed the exception
            raise Stopped(_received[0])
    except BaseException as error:
        if _received or isinstance(error, KeyboardInterrupt):  # whatever became of the exception on its way
            raise Stopped(_received[0] if _received else signal.SIGINT, _notes(error)) from error
        if isinstance(error, HoldfastError):
            text = " ".join([str(error), *_notes(error)])
            raise InputError(one_line(f"{_option_of(text)}{text}")) from error
        if isinstance(error, OSError) and error.errno != errno.EPIPE:  # with which click ends quietly
            raise InputError(one_line(" ".join([_text_of(error), *_notes(error)]))) from error
        raise


def _option_of(message: str) -> str:
    """The option of the parameter that a message begins with, and a colon; empty if it begins otherwise."""
    name = _PARAMETER.match(message)
    context = click.get_current_context(silent=True)
    if name is None or context is None:
        return ""
    command = context.command
    if isinstance(command, click.Group):
        command = command.commands.get(context.invoked_subcommand or "", command)
    wanted = {"sample_weight": "weight"}.get(name[1], name[1])
    return next((f"{each.opts[0]}: " for each in command.params if each.name == wanted), "")


def _notes(error: BaseException) -> list[str]:
    """What was added to the error on its way: that results are kept, say."""
    return [str(note) for note in getattr(error, "__notes__", ())]


def _text_of(error: OSError) -> str:
    reason = error.strerror or str(error) or type(error).__name__
    if error.filename is None:
        _silence(sys.stdout)
        return f"Cannot write the output: {reason}."
    return f"Cannot use '{error.filename}': {reason}."


def one_line(message: str) -> str:
    """The lines of a message as one, each of them a sentence of its own."""
    *lines, last = [" ".join(line.split()) for line in message.splitlines() if line.strip()] or [""]
    return " ".join([*(line if line[-1] in ".:;,?!" else f"{line};" for line in lines), last])


def _silence(stream: Any) -> None:
    """Send what the stream still holds nowhere, or Python would try to write it once more at the very end."""
    with suppress(OSError, ValueError, AttributeError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)


# -- signals ----------------------------------------------------------------------------------------------


@contextmanager
def signals_end_it() -> Iterator[None]:
    """Within it, the signals that end a program do so by an exception, and what is unfinished is removed.

    A signal that the caller has taken care of, such as SIGHUP under nohup, is left alone.
    """
    _received.clear()
    former, hook = {}, sys.unraisablehook
    if threading.current_thread() is threading.main_thread():
        for number in _CATCHABLE:
            if signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler):
                former[number] = signal.signal(number, _stop)
        sys.unraisablehook = _send_again
    try:
        yield
    finally:
        sys.unraisablehook = hook
        for waiting in _waiting:
            waiting.cancel()
        for number, handler in former.items():
            signal.signal(number, handler)


def _send_again(unraisable: Any) -> None:
    """The exception was lost in a callback from C, of the compiler, say: the signal comes again, later."""
    if not (_received and issubclass(unraisable.exc_type, KeyboardInterrupt)):
        sys.__unraisablehook__(unraisable)
        return
    waiting = threading.Timer(PAUSE, os.kill, (os.getpid(), _received[0]))
    waiting.daemon = True
    _waiting.append(waiting)
    waiting.start()


def _stop(number: int, frame: FrameType | None) -> NoReturn:
    _received.append(number)
    raise KeyboardInterrupt


def check_there(*paths: Path) -> None:
    """Refuse a file that is not there at once, before what takes long to load is loaded."""
    for path in paths:
        if not os.path.lexists(path):
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), os.fspath(path))
