"""Its presence puts `tests` on the path, where they find the slow twins: `from reference.walk import ...`."""

import os
import sys
from collections.abc import Iterator
from math import inf
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from holdfast.kernels.jit import IS_OFF
from holdfast.parallel import progress

# The same examples in every run: a check passes today if it passed yesterday. `make test` tries few of them,
# `make check` (thorough) twice as many, and HYPOTHESIS_PROFILE=explore looks for new ones.
_HEALTH = [HealthCheck.filter_too_much, HealthCheck.too_slow, HealthCheck.function_scoped_fixture]
_COMMON = {"deadline": None, "suppress_health_check": _HEALTH}
settings.register_profile("quick", derandomize=True, max_examples=25, **_COMMON)
settings.register_profile("thorough", derandomize=True, max_examples=60, **_COMMON)
settings.register_profile("explore", **_COMMON)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "quick"))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark as slow what `make test` leaves to `make check`.

    These are tests/faults, tests in a browser, and scikit-learn's checks of all variants of an estimator
    but one.
    """
    first: dict[type, str] = {}
    for item in items:
        estimator = getattr(item, "callspec", None) and item.callspec.params.get("estimator")
        is_variant = "estimator_checks" in item.nodeid and (
            first.setdefault(type(estimator), repr(estimator)) != repr(estimator)
        )
        if is_variant or item.path.parent.name == "faults" or "browser" in getattr(item, "fixturenames", ()):
            item.add_marker("slow")


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Note kernels that this process has called with types that `kernels/signatures.json` does not list."""
    if IS_OFF:
        return
    from holdfast.kernels.signatures import unrecorded_signatures

    unrecorded = [f"{name}{signature}" for name, signature in unrecorded_signatures()]
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["unrecorded"] = unrecorded
    elif unrecorded := [*_unrecorded, *unrecorded]:
        _unrecorded[:] = sorted(set(unrecorded))
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Take what a worker of pytest-xdist has noted."""
    _unrecorded.extend(getattr(node, "workeroutput", {}).get("unrecorded", []))


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Name the kernels that `python tests/recorded_signatures.py` has to record."""
    for text in _unrecorded:
        terminalreporter.write_line(f"not in kernels/signatures.json: {text}", red=True)


_unrecorded: list[str] = []

# No test shows progress, however slow the machine is: what it reads does not depend on time.
progress.INTERVAL = inf


@pytest.fixture
def eager_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    """Show progress at every step, without waiting ten seconds."""
    monkeypatch.setattr(progress, "INTERVAL", 0.0)


@pytest.fixture(autouse=True)
def _close_figures() -> Iterator[None]:
    """Close what a test has drawn with pyplot."""
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")
