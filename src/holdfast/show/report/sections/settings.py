"""Every setting, seed and version, so that the model can be made again."""

import platform
from collections.abc import Iterator, Mapping
from importlib.metadata import version
from typing import Any

from holdfast.governance.register import model_hash
from holdfast.show.report.fitted import Fitted
from holdfast.show.report.page import Section
from holdfast.tree.wording import list_notes

LIBRARIES = ("numpy", "scipy", "scikit-learn", "numba", "narwhals")
PARTS = {
    "settings": "Settings",
    "columns": "Columns",
    "reading": "Reading the data",
    "division": "Division of the rows",
    "distance": "Distance between trees",
}


def settings_section(fitted: Fitted) -> Section:
    """All settings by their names, the hash of the model, and versions."""
    record = fitted.record
    first = record.get("warnings", ())  # they stand above everything else
    facts = {
        "hash": model_hash(fitted.model),
        "versions": {
            "holdfast": record.get("holdfast", ""),
            "python": platform.python_version(),
            **{name: version(name) for name in LIBRARIES},
        },
        "parts": [
            {"title": title, "entries": list(_entries(record[name]))}
            for name, title in PARTS.items()
            if record.get(name)
        ],
        "notes": [
            *list_notes(fitted.model),
            *(note for note in record.get("notes", []) if note not in first),
        ],
    }
    return Section("settings", "Settings, seed and versions", "data scientist", "settings.html", facts)


def _entries(settings: Mapping[str, Any]) -> Iterator[list[str]]:
    for name, value in settings.items():
        if isinstance(value, Mapping):
            text = ", ".join(f"{key} {each}" for key, each in value.items())
        elif isinstance(value, list):
            text = ", ".join(map(str, value))
        elif isinstance(value, float):
            text = f"{value:.6g}"
        else:
            text = str(value)
        yield [name, "" if value is None else text]
