"""Every example of the documentation runs, and prints what the page says it prints."""

import re
import shlex
from collections.abc import Iterator
from contextlib import redirect_stdout
from fnmatch import fnmatch
from importlib import import_module
from io import StringIO
from pathlib import Path
from types import CodeType
from typing import Any, NamedTuple
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner

import holdfast
import holdfast.exports
import holdfast.plots
from holdfast.cli.main import main

ROOT = Path(__file__).parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
# A block that is run: Python, commands of holdfast, or a TOML file that begins with its name. Right after it,
# perhaps a block of text: its output, in which a line of three dots stands for any lines.
RUN = r"^```(python|sh|toml(?=\n# [\w-]+\.toml\n))\n(.*?)^```\n"
EXAMPLE = re.compile(RUN + r"(?:\n*```text\n(.*?)^```$)?", re.DOTALL | re.MULTILINE)
FIRST_PAGES = ("README.md", "docs/tutorial.md")  # `make test` runs these, and `make check` all of them
ANY_LINES = "...\n"
TOCTREE = re.compile(r"^```\{toctree\}\n(.*?)^```$", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"\]\(([^)#:]+)(?:#[^)]*)?\)")  # to a file, not to the web


class Example(NamedTuple):
    line: int  # of the page
    language: str
    source: str
    output: str | None


def example_of(match: re.Match[str], text: str) -> Example:
    return Example(text.count("\n", 0, match.start(2)), match[1], match[2], match[3])


def examples(page: Path) -> Iterator[Example]:
    text = page.read_text(encoding="utf-8")
    for match in EXAMPLE.finditer(text):
        yield example_of(match, text)


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def run_python(source: CodeType, names: dict[str, Any]) -> str:
    printed = StringIO()
    with redirect_stdout(printed):
        exec(source, names)
    return printed.getvalue()


def run_commands(source: str) -> str:
    """What the terminal shows, but for spaces at the ends of lines."""
    printed = ""
    for command in source.replace("\\\n", " ").splitlines():
        program, *arguments = shlex.split(command)
        assert program == "holdfast", f"only commands of holdfast can be tried: {command}"
        result = CliRunner(env={"COLUMNS": "100"}).invoke(main, arguments)
        assert result.exit_code == 0, result.output
        printed += re.sub(r" +$", "", result.stdout, flags=re.MULTILINE)
    return printed


def run_example(example: Example, page: Path, names: dict[str, Any]) -> str:
    """What an example prints; a file is written."""
    if example.language == "python":
        # Blank lines before the source, so that a traceback points at the line of the page.
        source = "\n" * example.line + example.source
        return run_python(compile(source, str(page), "exec"), names)
    if example.language == "sh":
        return run_commands(example.source)
    Path(example.source.split()[1]).write_text(example.source, encoding="utf-8")
    return ""


def is_shown(printed: str, output: str) -> bool:
    """Is this the output, where three dots stand for any lines?"""
    parts = [re.escape(part) for part in f"\n{output}".split(f"\n{ANY_LINES}")]
    return re.fullmatch("(?:\n.*)*\n".join(parts), f"\n{printed}") is not None


def pages_with_examples() -> Iterator[Any]:
    for page in PAGES:
        if any(examples(page)):
            marks = () if name_of(page) in FIRST_PAGES else pytest.mark.slow
            yield pytest.param(page, marks=marks, id=name_of(page))


@pytest.mark.parametrize("page", list(pages_with_examples()))
def test_the_examples_of_a_page_run_one_after_the_other(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    for example in examples(page):
        printed = run_example(example, page, names)
        if example.output is not None and not is_shown(printed, example.output):
            assert printed == example.output, f"{name_of(page)}, line {example.line + 1}"


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_a_page_links_only_to_files_that_are_there(page: Path) -> None:
    targets = LINK.findall(page.read_text(encoding="utf-8"))
    assert [target for target in targets if not (page.parent / target).exists()] == []


def test_the_site_shows_the_docstring_of_every_public_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(ROOT / "docs/_extensions")
    shown = [name for names in import_module("api_pages").sections().values() for _, name in names]
    assert set(shown) >= {*holdfast.__all__, *holdfast.plots.__all__, *holdfast.exports.__all__}
    assert len(shown) == len(set(shown))


def test_every_page_has_a_place_in_the_navigation() -> None:
    """A new page is named in a toctree: of docs/guide.md if it answers a question of a user."""
    folder = ROOT / "docs"
    pages = {page.relative_to(folder).with_suffix("").as_posix(): page for page in folder.glob("**/*.md")}
    places = [
        re.sub(r".*<(.*)>", r"\1", line)
        for page in pages.values()
        for block in TOCTREE.findall(page.read_text(encoding="utf-8"))
        for line in block.splitlines()
        if line and not line.startswith(":")
    ]
    assert [name for name in pages if not any(fnmatch(name, place) for place in places)] == ["index"]


@pytest.mark.parametrize("picture", sorted(ROOT.glob("docs/images/**/*.svg")), ids=name_of)
def test_a_picture_is_well_formed(picture: Path) -> None:
    assert ElementTree.parse(picture).getroot().tag.endswith("svg")
