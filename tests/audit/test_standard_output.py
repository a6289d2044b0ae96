"""What compiled code writes while it is muted is gone; all else is there, in order."""

import ctypes
import os

import pytest

from holdfast.audit.standard_output import muted_output

pytestmark = pytest.mark.skipif(os.name == "nt", reason="the C library is another one")


def test_only_what_is_written_meanwhile_is_lost(capfd: pytest.CaptureFixture[str]) -> None:
    libc = ctypes.CDLL(None)
    print("before")
    libc.puts(b"C before")
    with muted_output():
        libc.puts(b"C meanwhile")
        os.write(1, b"straight meanwhile\n")
    print("after")
    libc.puts(b"C after")
    libc.fflush(None)
    lines = capfd.readouterr().out.splitlines()
    assert sorted(lines) == ["C after", "C before", "after", "before"]


def test_an_error_does_not_keep_the_output_muted(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ValueError, match="no"), muted_output():
        raise ValueError("no")
    print("heard")
    assert capfd.readouterr().out == "heard\n"


def test_a_process_without_output_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    def closed(_: int) -> int:
        raise OSError("Bad file descriptor")

    monkeypatch.setattr(os, "dup", closed)
    with muted_output():
        done = True
    assert done
