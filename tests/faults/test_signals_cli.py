"""Signals to the command line: one line, an exit code, and nothing left over."""

import ctypes
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from small_run import PLAIN, fit, holdfast, write_patients

from holdfast.runs import run as fit_run

pytestmark = pytest.mark.skipif(os.name == "nt", reason="signals")


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)]
)
def test_a_signal_ends_a_command_in_one_line(
    number: signal.Signals, code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if signal.getsignal(number) == signal.SIG_IGN:
        pytest.skip("whoever started the tests has the signal ignored, as nohup does")
    patients = write_patients(tmp_path / "patients.csv")
    monkeypatch.setattr(fit_run, "fit", lambda *_, **__: os.kill(os.getpid(), number) or time.sleep(10))
    handlers = [signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM)]
    result = fit(patients, tmp_path / "run", *PLAIN)
    assert (result.exit_code, result.stderr) == (code, f"Stopped by {number.name}.\n")
    assert [path.name for path in tmp_path.iterdir()] == ["patients.csv"]
    assert handlers == [signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM)]


def test_a_signal_that_a_library_swallows_ends_the_command_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def swallowed(*_: object, **__: object) -> None:
        try:
            os.kill(os.getpid(), signal.SIGTERM)
        except KeyboardInterrupt:
            raise ValueError("something else") from None

    monkeypatch.setattr(fit_run, "fit", swallowed)
    result = fit(write_patients(tmp_path / "patients.csv"), tmp_path / "run", *PLAIN)
    assert (result.exit_code, result.stderr) == (143, "Stopped by SIGTERM.\n")


def test_a_signal_that_is_lost_in_a_callback_still_ends_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lost(*_: object, **__: object) -> None:
        ctypes.CFUNCTYPE(None)(lambda: os.kill(os.getpid(), signal.SIGTERM))()

    monkeypatch.setattr(fit_run, "fit", lost)
    result = fit(write_patients(tmp_path / "patients.csv"), tmp_path / "run", *PLAIN)
    assert (result.exit_code, result.stderr) == (143, "Stopped by SIGTERM.\n")


def test_signals_that_are_ignored_stay_so() -> None:
    before = signal.signal(signal.SIGTERM, signal.SIG_IGN)  # as SIGHUP is under nohup
    try:
        assert holdfast("--version").exit_code == 0
        assert signal.getsignal(signal.SIGTERM) == signal.SIG_IGN
    finally:
        signal.signal(signal.SIGTERM, before)


def test_ctrl_c_before_the_command_line_is_there_is_one_line() -> None:
    program = (
        "import sys, os, signal\n"
        "class Finder:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name == 'click': os.kill(os.getpid(), signal.SIGINT)\n"
        "sys.meta_path.insert(0, Finder())\n"
        "from holdfast.cli.start import run\n"
        "run()\n"
    )
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (ended.returncode, ended.stderr) == (130, "Stopped by SIGINT.\n")
