"""Kernels that are made ready before a fit, in this process and in another one beside it."""

import os
import subprocess
import sys

import pytest

from holdfast.kernels.consensus.search import find_consensus
from holdfast.kernels.distance.distances import measure
from holdfast.kernels.jit import Kernel
from holdfast.runs import compile as kernels
from holdfast.runs.compile import centre_smallest, train_smallest

needs_compiler = pytest.mark.skipif(
    not isinstance(find_consensus, Kernel), reason="the compiler is switched off"
)


@needs_compiler
def test_the_process_beside_compiles_for_the_very_arguments_of_a_fit() -> None:
    train_smallest("consensus", "blend")
    known = [set(kernel.compiled.signatures) for kernel in (find_consensus, measure)]
    centre_smallest()
    assert [set(kernel.compiled.signatures) for kernel in (find_consensus, measure)] == known


@needs_compiler
def test_a_kernel_that_was_called_is_on_disk_and_then_no_process_is_started(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    centre_smallest()
    assert find_consensus.is_on_disk
    monkeypatch.setattr(subprocess, "Popen", None)
    train_smallest("consensus", "blend")


@needs_compiler
def test_a_process_that_fails_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    started = []

    def failing(command: list[str], **options: object) -> subprocess.Popen[bytes]:
        started.append(command[-1])
        return popen([sys.executable, "-c", "raise SystemExit(3)"])

    popen = subprocess.Popen
    monkeypatch.setattr(Kernel, "is_on_disk", False)
    monkeypatch.setattr(kernels, "cpu_count", lambda: 2)
    monkeypatch.setattr(subprocess, "Popen", failing)
    train_smallest("consensus", "blend")
    assert started == ["import holdfast.runs.compile as own; own.centre_smallest()"]


@needs_compiler
def test_what_the_other_process_is_told_to_do_can_be_done() -> None:
    centre_smallest()  # on disk from then on
    command = (
        "import holdfast.runs.compile as own; own.centre_smallest(); print(own.find_consensus.is_on_disk)"
    )
    done = subprocess.run(
        [sys.executable, "-c", command], capture_output=True, text=True, check=True, env={**os.environ}
    )
    assert done.stdout == "True\n"
