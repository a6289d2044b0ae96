"""`holdfast warmup`: after it no model has anything to compile."""

import os

import pytest
from command_line import holdfast

from holdfast.runs import compile as kernels
from holdfast.runs.compile import Ready, prepare_kernels


def test_what_was_warmed_up_is_on_disk_and_the_command_says_where() -> None:
    prepare_kernels()
    result = holdfast("warmup")
    assert result.exit_code == 0, result.output
    assert " in " in result.output.splitlines()[0]
    assert "kernels" in result.output.lower()


def test_the_help_says_what_it_is_for() -> None:
    assert "images and clusters" in " ".join(holdfast("warmup", "--help").output.split())


def test_native_code_is_compiled_without_that_of_a_wheel(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NUMBA_OPT", "")  # and back to what it was
    monkeypatch.delenv("NUMBA_OPT")
    seen = []

    def prepare(*, model: str | None) -> Ready:
        seen.append((model, os.environ.get("NUMBA_OPT")))
        return Ready(True, 1.0, [])

    monkeypatch.setattr(kernels, "prepare_kernels", prepare)
    assert holdfast("warmup", "--model", "tree").exit_code == 0
    assert holdfast("warmup", "--native").exit_code == 0
    assert seen == [("tree", None), (None, "3")]
