"""The results as they were: golden.json, which `make golden` writes anew."""

import json
import re
from pathlib import Path
from typing import Any

from golden.marks import Marks, differs

FILE = Path(__file__).with_name("golden.json")


def entry_of(marks: Marks) -> dict[str, Any]:
    """What the file holds of a result."""
    return {"exact": marks.digest, "rounded": marks.sums}


def changes(marks: Marks, kept: dict[str, Any]) -> list[str]:
    """What is no longer as it was, in words; nothing if all is."""
    found = entry_of(marks)
    said = (
        [] if found["exact"] == kept["exact"] else ["what is exact: structure, thresholds, counts, choices"]
    )
    names = sorted({*found["rounded"], *kept["rounded"]})
    for name in names:
        now, before = found["rounded"].get(name), kept["rounded"].get(name)
        if now is None or before is None or differs(now, before):
            said.append(f"{name}: {before} became {now}")
    return said


def read() -> dict[str, Any]:
    kept: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))
    return kept


def write(entries: dict[str, Any]) -> None:
    """One line for each digest and each array, so that git shows what changed."""
    text = json.dumps(entries, indent=1, ensure_ascii=False)
    text = re.sub(r"\[[^\[\]]*\]", lambda array: " ".join(array[0].split()), text)
    FILE.write_text(text + "\n", encoding="utf-8")
