"""Rewrite the outputs in pages of the documentation: `python tests/write_docs.py docs/update.md README.md`.

Without arguments all pages are executed. A line of three dots stands for any lines and stays. An output of
one line such as `@1-12 30-34` becomes these lines of what was printed, with three dots between them.
"""

import os
import re
import sys
from collections.abc import Sequence
from difflib import SequenceMatcher
from itertools import groupby
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from test_docs import EXAMPLE, PAGES, example_of, is_shown, run_example

DOTS = "..."


def similarity(left: Sequence[str], right: Sequence[str]) -> float:
    """How alike two runs of lines are."""
    return sum(SequenceMatcher(None, a, b, autojunk=False).ratio() for a, b in zip(left, right, strict=False))


def closest(part: list[str], lines: list[str], first: int) -> tuple[int, int]:
    """The run of lines from `first` on that is most like a part of the earlier output."""
    sizes = range(max(1, len(part) - 3), len(part) + 4)
    runs = [(start, start + size) for size in sizes for start in range(first, len(lines) - size + 1)]
    return max(
        runs, key=lambda run: similarity(part, lines[slice(*run)]) - abs(run[1] - run[0] - len(part)) / 3
    )


def selected(ranges: str, lines: list[str]) -> list[str]:
    """The lines that `@1-12 30-34` names."""
    output: list[str] = []
    last = 0
    for first, end in re.findall(r"(\d+)-(\d+)", ranges):
        output += [DOTS] * (int(first) > last + 1) + lines[int(first) - 1 : int(end)]
        last = int(end)
    return output + [DOTS] * (last < len(lines))


def updated(old: str, printed: str) -> str:
    """The output that a page shows, brought up to date."""
    if is_shown(printed, old):
        return old
    lines, before = printed.splitlines(), old.splitlines()
    if old.startswith("@"):
        return "\n".join(selected(old, lines)) + "\n"
    if DOTS not in before:
        return printed
    parts = [list(group) for is_dots, group in groupby(before, lambda line: line == DOTS) if not is_dots]
    output: list[str] = [DOTS] * (before[0] == DOTS)
    end = 0
    for number, part in enumerate(parts):
        is_first, is_last = number == 0 and before[0] != DOTS, number == len(parts) - 1 and before[-1] != DOTS
        start, end = closest(part, lines, end)
        start, end = 0 if is_first else start, len(lines) if is_last else end
        output += lines[start:end] + [DOTS] * (not is_last)
    return "\n".join(output) + "\n"


def write(page: Path) -> None:
    """Execute a page and write its outputs."""
    text = page.read_text(encoding="utf-8")
    parts: list[str] = []
    names: dict[str, Any] = {}
    place = 0
    for match in EXAMPLE.finditer(text):
        example = example_of(match, text)
        printed = run_example(example, page, names)
        if example.output is not None:
            parts += [text[place : match.start(3)], updated(example.output, printed)]
            place = match.end(3)
    new = "".join([*parts, text[place:]])
    if new != text:
        page.write_text(new, encoding="utf-8")
        print(f"{page}: written")


if __name__ == "__main__":
    pages = [Path(name).resolve() for name in sys.argv[1:]] or PAGES
    home = Path.cwd()
    for page in pages:
        with TemporaryDirectory() as folder:
            os.chdir(folder)
            write(page)
            os.chdir(home)
