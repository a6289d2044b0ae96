"""Rules of the house that a reader could miss: nothing rests on the last bits of a processor, for one."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "holdfast"
SHOWS_AN_UNSTABLE_ORDER = "processor.py"
# A product of matrices decides nothing here: it is of integers, only shown, rounded, or has a margin.
WITH_PRODUCTS = [
    "holdfast.stable.consensus.teacher",
    "holdfast.stable.consensus.weak_splits",  # sums of whole numbers
    "holdfast.stable.consensus.teacher",  # the weights are rounded to two digits
    "holdfast.ensembles.boosted_tree",
    "holdfast.growth.density",
    "holdfast.growth.density_model",
    "holdfast.growth.grow",
    "holdfast.growth.sample",
    "holdfast.io.estimator",
    "holdfast.plots.distance",
    "holdfast.distance.distance",
    "holdfast.tree.summary",
    "holdfast.tree.tree",
]
PRODUCT_NAMES = {"dot", "matmul", "inner", "vdot", "einsum", "tensordot", "linalg"}


def parsed(folder: Path, pattern: str) -> Iterator[tuple[str, ast.Module]]:
    """The source files in a folder that match, by their place in it."""
    for path in sorted(folder.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        if re.search(pattern, text):
            yield path.relative_to(folder).as_posix(), ast.parse(text)


def is_unstable(node: ast.AST) -> bool:
    if not isinstance(node, ast.Call):
        return False
    name = getattr(node.func, "attr", getattr(node.func, "id", ""))
    is_stable = any(word.arg == "kind" and ast.unparse(word.value) == "'stable'" for word in node.keywords)
    return name == "argpartition" or (name == "argsort" and not is_stable)


def is_product(node: ast.AST) -> bool:
    return isinstance(getattr(node, "op", None), ast.MatMult) or getattr(node, "attr", "") in PRODUCT_NAMES


@pytest.mark.parametrize("folder", ["src", "tests", "benchmarks"])
def test_every_order_is_a_stable_one(folder: str) -> None:
    """Ties come out in another order on another processor unless the sort is stable."""
    unstable = [
        f"{file}:{node.lineno}"
        for file, tree in parsed(ROOT / folder, "argsort|argpartition")
        for node in ast.walk(tree)
        if is_unstable(node) and file != SHOWS_AN_UNSTABLE_ORDER
    ]
    assert unstable == [], 'write kind="stable"'


def test_no_new_product_of_matrices_decides_anything() -> None:
    """It ends in other bits on another processor: compare with a margin, and name the file above."""
    pattern = "|".join(["@", *PRODUCT_NAMES])
    files = [file for file, tree in parsed(SOURCE, pattern) if any(map(is_product, ast.walk(tree)))]
    modules = {f"holdfast.{file.removesuffix('.py').replace('/', '.')}" for file in files}
    assert sorted(modules - set(WITH_PRODUCTS)) == []


def test_every_decision_has_a_number_of_its_own() -> None:
    """Two branches may both have taken the next one."""
    pages = sorted((ROOT / "docs" / "decisions").glob("*.md"))
    assert len({page.name[:4] for page in pages}) == len(pages)
    for page in pages:
        assert page.read_text(encoding="utf-8").startswith(f"# {int(page.name[:4])}. "), page.name


def test_every_test_file_has_a_name_of_its_own() -> None:
    """pytest imports them by their bare names: two of one name stop a whole run, but not a run of either."""
    names = [path.name for path in sorted((ROOT / "tests").rglob("test_*.py"))]
    assert sorted({name for name in names if names.count(name) > 1}) == []
