"""Texts kept as files: `UPDATE_SNAPSHOTS=1 pytest ...` writes them again, and git shows what changed."""

import os
from pathlib import Path

FOLDER = Path(__file__).parent / "snapshots"


def check_snapshot(name: str, text: str) -> None:
    """The text is the same as in snapshots/<name>.txt."""
    path = FOLDER / f"{name}.txt"
    if os.environ.get("UPDATE_SNAPSHOTS"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"{text}\n", encoding="utf-8")
    assert path.exists(), f"There is no {path.name} yet: run the test with UPDATE_SNAPSHOTS=1."
    assert text == path.read_text(encoding="utf-8").removesuffix("\n")
