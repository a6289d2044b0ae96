"""Signals reach these tests wherever they run."""

import signal
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def heed_interrupts() -> Iterator[None]:
    """A process that a shell has started in the background ignores Ctrl-C, and so do those that it starts."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
