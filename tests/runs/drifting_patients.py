"""Small files of patients: of one year, and of a later one in which something else decides."""

import random
from pathlib import Path
from typing import Any

from holdfast import StableTreeClassifier
from reference.reading import read_file

FEW: dict[str, Any] = {"teacher": "linear", "max_leaf_nodes": 4, "n_estimators": 10, "max_depth": 3}


def write_year(path: Path, *, by: str = "age", n_rows: int = 240, seed: int = 0) -> Path:
    """Patients whose outcome depends on their age, or on their weight; one in ten is an exception."""
    draw = random.Random(seed)
    lines = ["age,bmi,ward,clinic,patient,outcome"]
    for number in range(n_rows):
        age, bmi, ward = draw.randint(20, 89), draw.randint(18, 45), draw.choice("ABC")
        is_high = age > 54 if by == "age" else bmi > 31
        died = is_high != (draw.random() < 0.1)
        row = (age, bmi, ward, draw.choice("NS"), f"P{number // 2}", "died" if died else "lived")
        lines.append(",".join(map(str, row)))
    path.write_text("\n".join(lines) + "\n")
    return path


def fitted(path: Path) -> StableTreeClassifier:
    """A model of that year, which knows age, bmi and ward."""
    frame = read_file(path, drop=["clinic", "patient"])
    y = frame.column("outcome")
    return StableTreeClassifier(**FEW, validation=None).fit(frame.without(["outcome"]), y)
