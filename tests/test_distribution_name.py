"""The distribution is holdfast-trees: `holdfast` on the package index is another project."""

import re
import tomllib
from pathlib import Path

from holdfast._version import DISTRIBUTION, __version__

ROOT = Path(__file__).parents[1]
TEXTS = ("*.md", "*.py", "*.toml", "*.yaml", "*.yml", "*.cff", "*.html", "*.js", "*.txt", "Makefile")
BARE = re.compile(r"(?:\binstall|\badd)(?: -\S+)* [\"']?holdfast(?![\w-])|[\"' ]holdfast\[\w+\]")


def sources() -> list[Path]:
    folders = [ROOT / name for name in ("src", "docs", "examples", "benchmarks", "recipe", ".github")]
    found = [path for pattern in TEXTS for path in ROOT.glob(pattern)]
    return found + [path for folder in folders for pattern in TEXTS for path in folder.rglob(pattern)]


def test_no_text_tells_anyone_to_install_the_other_project() -> None:
    assert BARE.search('pip install "holdfast[dask]"')
    assert BARE.search("pip install holdfast &&")
    assert BARE.search("uv add holdfast\n")
    assert BARE.search("give the extra holdfast[dask]")
    assert not BARE.search('pip install "holdfast-trees[dask]"')
    wrong = [str(path) for path in sources() if BARE.search(path.read_text(encoding="utf-8"))]
    assert not wrong


def test_metadata_and_recipe_agree() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    recipe = (ROOT / "recipe" / "meta.yaml").read_text(encoding="utf-8")
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert project["name"] == DISTRIBUTION
    assert f'name = "{DISTRIBUTION}"' in recipe
    assert f'version = "{__version__}"' in recipe
    assert f"version: {__version__}" in citation
    conda_names = {"matplotlib": "matplotlib-base"}
    for requirement in project["dependencies"]:
        name, _, version = requirement.partition(">=")
        assert f"- {conda_names.get(name, name)} >={version}" in recipe
