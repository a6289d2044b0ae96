"""Files as people have them, one trait each. `python tests/cli/ugly_files.py FOLDER` writes them all."""

import random
import sys
from collections.abc import Callable, Sequence
from datetime import date, timedelta
from pathlib import Path

N_ROWS = 120
Row = dict[str, str]


def patients(n_rows: int = N_ROWS, seed: int = 0) -> list[Row]:
    """Old patients with a high lab value mostly die; the cost grows with both."""
    draw = random.Random(seed)
    rows = []
    for _ in range(n_rows):
        age, lab = draw.randint(20, 90), round(draw.gauss(5, 2), 2)
        risk = (age > 60) + (lab > 6) + (draw.random() < 0.1)
        rows.append(
            {
                "age": str(age),
                "ward": draw.choice("ABC"),
                "lab": f"{lab:.2f}",
                "cost": str(800 + 90 * age + 10 * draw.randint(0, 50)),
                "outcome": "died" if risk >= 2 else "lived",
            }
        )
    return rows


def text_of(rows: Sequence[Row], separator: str = ",") -> str:
    """The rows as CSV; cells that need quotes have them already."""
    lines = [separator.join(rows[0]), *(separator.join(row.values()) for row in rows)]
    return "\n".join(lines) + "\n"


def with_column(rows: Sequence[Row], name: str, cells: Sequence[str]) -> list[Row]:
    """The rows with one more column in front."""
    return [{name: cell, **row} for cell, row in zip(cells, rows, strict=True)]


# -- one trait each -----------------------------------------------------------------------------------------


def decimal_commas() -> bytes:
    """A German spreadsheet: a mark of UTF-8, semicolons, decimal commas, and an empty column at the end."""
    rows = [{**row, "lab": row["lab"].replace(".", ",")} for row in patients()]
    header, *lines = text_of(rows, ";").splitlines()
    return "\r\n".join([f"\ufeff{header};", *(f"{line};" for line in lines), ""]).encode()


def thousands() -> bytes:
    """Costs with commas between thousands."""
    return text_of([{**row, "cost": f'"{int(row["cost"]):,}"'} for row in patients()]).encode()


def latin_1() -> bytes:
    """Names of wards in the letters of Western Europe."""
    names = {"A": "Süd", "B": "Köln", "C": "École"}
    return text_of([{**row, "ward": names[row["ward"]]} for row in patients()]).encode("latin-1")


def utf_16() -> bytes:
    """What a spreadsheet calls Unicode text: UTF-16, separated by tabs."""
    return text_of(patients(), "\t").encode("utf-16")


def dates() -> bytes:
    """Days of admission in the order of day, month and year, some of them not known."""
    first = date(2019, 1, 1)
    days = [first + timedelta(days=7 * number) for number in range(N_ROWS)]
    cells = ["" if number % 17 == 5 else f"{day:%d/%m/%Y}" for number, day in enumerate(days)]
    return text_of(with_column(patients(), "admitted", cells)).encode()


def identifiers() -> bytes:
    """An index that pandas has written, numbers of patients, names and remarks."""
    rows = patients()
    rows = with_column(
        rows, "remark", [f'"seen on day {number}, then sent home"' for number in range(N_ROWS)]
    )
    rows = with_column(rows, "patient_id", [str(70_000 + 37 * number % 9973) for number in range(N_ROWS)])
    return text_of(with_column(rows, "", list(map(str, range(N_ROWS))))).encode()


def missing_markers() -> bytes:
    """Every way to say that a value is not known, in numbers and in text."""
    marks = ["", "NA", "N/A", "nan", "NaN", "null", "None", "#N/A", "?", ".", "n/a", "unknown"]
    rows = patients()
    for number, mark in enumerate(marks):
        rows[3 * number]["lab"] = mark
        rows[3 * number + 1]["ward"] = mark
    return text_of(rows).encode()


def one_bad_word() -> bytes:
    """One word among numbers, in line 14."""
    rows = patients()
    rows[12]["lab"] = "hemolysed"
    return text_of(rows).encode()


def missing_targets() -> bytes:
    """Patients who are still in hospital."""
    rows = patients()
    for number in (4, 40, 77):
        rows[number]["outcome"] = "?"
    return text_of(rows).encode()


def postcodes_and_long_numbers() -> bytes:
    """Postcodes with a zero in front, and numbers of insurance with 19 digits that many patients share."""
    rows = with_column(patients(), "zip", [f"0{1000 + number % 4}" for number in range(N_ROWS)])
    return text_of(
        with_column(rows, "insurance", [str(9_007_199_254_740_993 + number % 5) for number in range(N_ROWS)])
    ).encode()


def quotes_and_line_breaks() -> bytes:
    """Cells with separators, quotes and line breaks, and columns without a name."""
    wards = {"A": '"Ward ""A"", left"', "B": '"two\nlines"', "C": "plain"}
    rows = [{**row, "ward": wards[row["ward"]]} for row in patients()]
    return text_of(with_column(rows, " ", ["x", "y"] * (N_ROWS // 2))).encode()


def repeated_names() -> bytes:
    """Two columns of the same name."""
    return text_of(patients()).replace("lab", "age", 1).encode()


FILES: dict[str, Callable[[], bytes]] = {
    trait.__name__: trait
    for trait in (
        decimal_commas,
        thousands,
        latin_1,
        utf_16,
        dates,
        identifiers,
        missing_markers,
        one_bad_word,
        missing_targets,
        postcodes_and_long_numbers,
        quotes_and_line_breaks,
        repeated_names,
    )
}


def write_ugly(name: str, folder: Path) -> Path:
    """The file with this trait."""
    path = folder / f"{name}.csv"
    path.write_bytes(FILES[name]())
    return path


if __name__ == "__main__":
    place = Path(sys.argv[1])
    place.mkdir(parents=True, exist_ok=True)
    for each in FILES:
        print(write_ugly(each, place))
