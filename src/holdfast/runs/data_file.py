"""Which data file a run has learned from: by its bytes, whatever it is called."""

from collections.abc import Mapping
from hashlib import file_digest
from pathlib import Path
from typing import Any

from holdfast.runs.run_files import find_earlier_run


def file_hash(path: Path | str) -> str | None:
    """SHA-256 of a file; None for a folder, or where there is no file."""
    if not Path(path).is_file():
        return None
    with Path(path).open("rb") as file:
        return f"sha256:{file_digest(file, 'sha256').hexdigest()}"


def share_learned(model: Path, data: Path) -> float | None:
    """The fraction of the rows of a file that the model of a run folder has learned from; None if unknown."""
    folder = model.parent if model.name == "model.json" else model
    facts, found = find_earlier_run(folder), file_hash(data)
    if facts is None or found is None:
        return None
    known = facts["data"]
    if "path" not in facts:
        is_same, learned = known.get("file") == found, facts["division"]["training_rows"]
    else:
        is_new = _is_updated(facts)
        is_same, learned = is_new and known.get("file") == found, known["rows_learnt_from"]
        if is_new and known.get("old_file") == found:
            return 1.0
    return learned / known["rows"] if is_same and known["rows"] else None


def _is_updated(facts: Mapping[str, Any]) -> bool:
    """True if the model that is in use is that of the update, and its rows have changed it."""
    hashes = facts["model"]
    return bool(hashes["in_use"] == hashes["new"] and hashes["new"] != hashes["old"])
