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

NOT_PASSED = 3  # exit code of a command that did its work, where the answer is no
_CATCHABLE = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]
_PARAMETER = re.compile(r"(\w+)(?==| (?:is|are|has|have|goes|needs|must) )")
_received: list[int] = []  # signals, the first of which ends the command


class InputError(click.ClickException):
    """Unusable input: one line on stderr, no traceback, exit code 2."""

    exit_code = 2

    def show(self, file: Any = None) -> None:
        """Print the line; if even that fails, the exit code has to do."""
        with suppress(OSError):
            super().show(file)


class Stopped(click.ClickException):
    """The command was stopped by a signal: the exit code is 128 and the number of the signal."""

    def __init__(self, number: int, notes: Sequence[str] = ()) -> None:
        super().__init__(" ".join([f"Stopped by {signal.Signals(number).name}.", *notes]))
        vars(self)["exit_code"] = 128 + number

    def show(self, file: Any = None) -> None:
        """Print the line, without the word error."""
        with suppress(OSError):
            click.echo(self.message, file=file, err=True)


def end_with(code: int) -> NoReturn:
    """End the command with this exit code, after its output is flushed."""
    if sys.stdout is not None:
        sys.stdout.flush()
    raise click.exceptions.Exit(code)


def check_exists(*paths: Path) -> None:
    """Raise a FileNotFoundError for a missing file, before slow imports."""
    for path in paths:
        if not os.path.lexists(path):
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), os.fspath(path))


@contextmanager
def one_line_errors() -> Iterator[None]:
    """Turn expected errors into one line of text; all commands run within this context."""
    try:
        yield
        if _received:  # a library has swallowed the exception
            raise Stopped(_received[0])
    except BaseException as error:
        if _received or isinstance(error, KeyboardInterrupt):  # whatever the exception has become since
            raise Stopped(_received[0] if _received else signal.SIGINT, _notes(error)) from error
        if isinstance(error, HoldfastError):
            text = " ".join([str(error), *_notes(error)])
            raise InputError(join_lines(f"{_option_prefix(text)}{text}")) from error
        if isinstance(error, OSError) and error.errno != errno.EPIPE:  # click ends quietly on EPIPE
            raise InputError(join_lines(" ".join([_system_error_text(error), *_notes(error)]))) from error
        raise


def _option_prefix(message: str) -> str:
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
    """The notes that were added to the error, for example that finished results are kept."""
    return [str(note) for note in getattr(error, "__notes__", ())]


def _system_error_text(error: OSError) -> str:
    reason = error.strerror or str(error) or type(error).__name__
    if error.filename is not None:
        return f"Cannot use '{error.filename}': {reason}."
    # Discard what stdout still buffers, or Python would try to write it again at exit.
    with suppress(OSError, ValueError, AttributeError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
    return f"Cannot write the output: {reason}."


def join_lines(message: str) -> str:
    """Join the lines of a message into one, with a semicolon after a line without punctuation."""
    *lines, last = [" ".join(line.split()) for line in message.splitlines() if line.strip()] or [""]
    return " ".join([*(line if line[-1] in ".:;,?!" else f"{line};" for line in lines), last])


@contextmanager
def stop_on_signals() -> Iterator[None]:
    """Turn the signals that end a program into an exception, so that unfinished files are removed.

    A signal that the caller handles already, such as SIGHUP under nohup, is left alone.
    """
    _received.clear()
    former = {}
    if threading.current_thread() is threading.main_thread():
        for number in _CATCHABLE:
            if signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler):
                former[number] = signal.signal(number, _stop)
    try:
        yield
    finally:
        for number, handler in former.items():
            signal.signal(number, handler)


def _stop(number: int, frame: FrameType | None) -> NoReturn:
    _received.append(number)
    raise KeyboardInterrupt
