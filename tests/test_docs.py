"""Every example of the documentation runs, and prints what the page says it prints."""

import re
from collections.abc import Iterator
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree import ElementTree

import pytest

import holdfast

ROOT = Path(__file__).parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
# A block of Python and, right after it, perhaps a block of text: its output.
EXAMPLE = re.compile(r"^```python\n(.*?)^```\n(?:\n*```text\n(.*?)^```$)?", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"\]\(([^)#:]+)(?:#[^)]*)?\)")  # to a file, not to the web


class Example(NamedTuple):
    line: int  # of the page
    source: str
    output: str | None


def examples(page: Path) -> Iterator[Example]:
    text = page.read_text(encoding="utf-8")
    for match in EXAMPLE.finditer(text):
        yield Example(text.count("\n", 0, match.start(1)), match[1], match[2])


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("page", [page for page in PAGES if any(examples(page))], ids=name_of)
def test_the_examples_of_a_page_run_one_after_the_other(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    for example in examples(page):
        printed = StringIO()
        # Blank lines before the source, so that a traceback points at the line of the page.
        code = compile("\n" * example.line + example.source, str(page), "exec")
        with redirect_stdout(printed):
            exec(code, names)
        if example.output is not None:
            assert printed.getvalue() == example.output, f"{name_of(page)}, line {example.line + 1}"


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_a_page_links_only_to_files_that_are_there(page: Path) -> None:
    targets = LINK.findall(page.read_text(encoding="utf-8"))
    assert [target for target in targets if not (page.parent / target).exists()] == []


def test_the_reference_names_everything_public() -> None:
    reference = (ROOT / "docs/reference.md").read_text(encoding="utf-8")
    assert [name for name in holdfast.__all__ if f"`{name}" not in reference] == []


@pytest.mark.parametrize("picture", sorted(ROOT.glob("docs/images/**/*.svg")), ids=name_of)
def test_a_picture_is_well_formed(picture: Path) -> None:
    assert ElementTree.parse(picture).getroot().tag.endswith("svg")
