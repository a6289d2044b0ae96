"""A change register in words, and its records one to a line."""

from collections.abc import Sequence

from holdfast.show.html import MOST_ROWS, sentences, table, view
from holdfast.storage.change_record import ChangeRecord
from holdfast.storage.register import RegisterCheck
from holdfast.text.lines import printable, wrapped_lines
from holdfast.text.numbers import counted
from holdfast.text.table import aligned

DIGITS = 12  # of a hash, which tell it from all others
WIDTH = 100
HEADS = ["", "time", "old model", "new model", "rows", "policy", "change"]


def register_check_text(check: RegisterCheck) -> str:
    """One sentence: all is well, up to which hash; or which record is broken, and why."""
    path, n_records = printable(check.path), len(check.records)
    if not check.is_sound:
        before = "" if n_records == 0 else f" {_sound(n_records)} before it."
        return f"{path}: record {check.broken} is broken: {check.reason}{before}"
    if not check.records:
        return f"{path}: no records."
    return f"{path}: {_sound(n_records)}, the last is {check.records[-1].hash}."


def _sound(n_records: int) -> str:
    return f"{counted(n_records, 'record')} {'is' if n_records == 1 else 'are'} sound"


def register_text(records: Sequence[ChangeRecord]) -> str:
    """A line for each record, and below it who changed the model and why, if that is known."""
    grid = [HEADS, *(_cells(record) for record in records)]
    head, *lines = aligned(grid).splitlines()
    parts = [head]
    for record, line in zip(records, lines, strict=True):
        parts += [line, *_note(record)]
    return "\n".join(parts)


def register_check_html(check: RegisterCheck) -> str:
    """The sentence, and the last records as a table, the newest first."""
    told = check.records[::-1][:MOST_ROWS]
    if not told:
        return view(sentences(register_check_text(check)))
    rows = [[*HEADS, "who", "why"], *([*_cells(each), *_people(each)] for each in told)]
    cut = f"The last {len(told)} of {len(check.records)} records; .records has them all."
    more = cut if len(told) < len(check.records) else ""
    return view(sentences(register_check_text(check)), table(rows, more=more, alerts=("failed", "forced")))


def change_record_html(record: ChangeRecord) -> str:
    """What is on record, line by line."""
    known = {
        "old model": record.old_model,
        "new model": record.new_model,
        "data": record.data,
        "rows": None if record.n_rows is None else f"{record.n_rows:,}",
        "policy": _cells(record)[5],
        "change": _cells(record)[6],
        "who": record.who,
        "why": record.why,
        "time": record.time,
        "seed": None if record.seed is None else str(record.seed),
        "software": ", ".join(f"{name} {version}" for name, version in record.software.items()),
        "previous record": record.previous,
        "hash": record.hash,
    }
    number = "A change" if record.number is None else f"Record {record.number}"
    rows = [["", number], *([name, printable(text)] for name, text in known.items() if text)]
    return view(table(rows, alerts=("failed", "forced")))


def _people(record: ChangeRecord) -> list[str]:
    return [printable(each or "") for each in (record.who, record.why)]


def _cells(record: ChangeRecord) -> list[str]:
    return [
        "" if record.number is None else str(record.number),
        record.time or "",
        "none" if record.old_model is None else short_hash(record.old_model),
        short_hash(record.new_model),
        "" if record.n_rows is None else f"{record.n_rows:,}",
        {None: "none", True: "passed", False: "failed"}[record.passed],
        "forced" if record.forced else ("taken" if record.taken else "not taken"),
    ]


def short_hash(text: str) -> str:
    """The first digits of a hash.

    >>> short_hash("sha256:0123456789abcdef")
    '0123456789ab'
    """
    return text.removeprefix("sha256:")[:DIGITS]


def _note(record: ChangeRecord) -> list[str]:
    words = ": ".join(printable(part) for part in (record.who, record.why) if part)
    return wrapped_lines(words, WIDTH, "   ", "   ") if words else []
