"""File systems that are soon full."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def small_disk_at(place: Path, size: str) -> Iterator[Path]:
    """A file system of this size, such as "2m", in a new folder; a test is skipped where none can be made."""
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={size}", "none", str(place)]
    try:
        is_there = subprocess.run(mount, capture_output=True).returncode == 0
    except OSError:
        is_there = False
    if not is_there:
        pytest.skip("only root can mount a small disk, and only where that is allowed")
    try:
        yield place
    finally:
        subprocess.run(["umount", str(place)], check=True)
