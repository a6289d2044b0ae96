"""A small file of patients who are followed until they die or leave."""

import random
from pathlib import Path

TIMES = ("--time", "days", "--event", "died", "--entry", "start_day")
HEADER = "age,ward,lab,year,patient,start_day,days,died,status"


def write_followed(path: Path, n_rows: int = 240, *, seed: int = 0) -> Path:
    """The hazard is four times as high beyond the age of 60; the ward and the lab value have no effect."""
    draw = random.Random(seed)
    lines = [HEADER]
    for number in range(n_rows):
        age, ward, lab = draw.randint(20, 90), draw.choice("ABC"), round(draw.gauss(5, 2), 2)
        event, left = draw.expovariate((4 if age > 60 else 1) / 900), draw.uniform(100, 1500)
        days = max(2, round(min(event, left)))
        died = int(event <= left)
        start = draw.randint(0, days // 2)
        year, status = 2019 + number * 4 // n_rows, "dead" if died else "alive"
        lines.append(f"{age},{ward},{lab},{year},P{number // 2},{start},{days},{died},{status}")
    path.write_text("\n".join(lines) + "\n")
    return path
