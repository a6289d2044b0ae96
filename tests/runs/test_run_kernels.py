"""Kernels that are compiled or loaded before a fit is timed."""

import subprocess
import sys

import pytest

from holdfast.kernels.build import KERNELS, compile_here, list_kernels
from holdfast.kernels.jit import IS_OFF, Kernel
from holdfast.runs.compile import prepare_kernels
from holdfast.runs.settings import RunSettings

needs_compiler = pytest.mark.skipif(IS_OFF, reason="the compiler is switched off")
FIT = """
import sys
import holdfast
from holdfast.kernels.signatures import all_kernels, unrecorded_signatures

X = [[float(number), "ab"[number % 2], float(number % 7)] for number in range(150)]
y = ["no" if number % 50 < 20 else "yes" for number in range(150)]
model = holdfast.StableTreeClassifier(n_estimators=5).fit(X, y)
model.predict(X)
called = [name for name, kernel in all_kernels().items() if kernel.compiled.overloads]
print(*(name.removeprefix("holdfast.kernels.") for name in called))
print(*unrecorded_signatures())
"""


@needs_compiler
def test_a_stable_fit_calls_the_kernels_that_are_prepared_for_it_with_recorded_signatures() -> None:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", FIT], capture_output=True, text=True, check=True
    )
    called, unrecorded = done.stdout.splitlines()
    assert "growth.grow.grow" in called.split()
    assert set(called.split()) <= set(list_kernels(KERNELS["stable"]))
    assert unrecorded == ""


@needs_compiler
def test_kernels_on_disk_are_loaded_and_no_process_is_started(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = RunSettings.of({"target": "y", "model": "tree"})
    prepare_kernels(settings)
    monkeypatch.setattr(subprocess, "Popen", None)
    assert not prepare_kernels(settings).compiled


@needs_compiler
def test_a_process_that_fails_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    started = []

    def failing(command: list[str], **options: object) -> subprocess.Popen[bytes]:
        started.append(command)
        return popen([sys.executable, "-c", "raise SystemExit(3)"])

    compile_here(list_kernels(["growth.grow", "predict"]))
    popen = subprocess.Popen
    monkeypatch.setattr(Kernel, "is_on_disk", False)
    monkeypatch.setattr(subprocess, "Popen", failing)
    assert prepare_kernels(RunSettings.of({"target": "y", "model": "tree"})).compiled
    assert any("growth.grow.grow" in command for command in started)
