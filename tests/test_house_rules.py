"""Rules of the house that a reader could miss: nothing rests on the last bits of a processor."""

import ast
from collections.abc import Iterator
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src" / "holdfast"
# Here a product of matrices decides nothing: it is of whole numbers, only shown, or compared with a margin.
WITH_PRODUCTS = {
    "ensembles/newton.py",
    "growth/density/groups.py",
    "growth/density/model.py",
    "growth/density/search.py",
    "growth/density/tree.py",
    "growth/grow.py",
    "growth/sample.py",
    "stability/distance.py",
    "tree/summary.py",
    "tree/tree.py",
}
PRODUCTS = {"dot", "matmul", "inner", "vdot", "einsum", "tensordot", "linalg"}


def places(kind: type[ast.AST]) -> Iterator[tuple[str, ast.AST]]:
    """Every such piece of the library's source, with its file."""
    for path in sorted(SOURCE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, kind):
                yield path.relative_to(SOURCE).as_posix(), node


def name_of(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")


def is_stable(call: ast.Call) -> bool:
    return any(word.arg == "kind" and ast.unparse(word.value) == "'stable'" for word in call.keywords)


def test_every_order_is_a_stable_one() -> None:
    """Ties come out in another order on another processor unless the sort is stable."""
    unstable = [
        f"{file}:{call.lineno}"
        for file, call in places(ast.Call)
        if name_of(call) == "argpartition" or (name_of(call) == "argsort" and not is_stable(call))
    ]
    assert unstable == [], 'write kind="stable"'


def test_no_new_product_of_matrices_decides_anything() -> None:
    """It ends in other bits on another processor: compare with a margin, and name the file above."""
    files = {file for file, node in places(ast.BinOp) if isinstance(node.op, ast.MatMult)}
    files |= {file for file, node in places(ast.Attribute) if node.attr in PRODUCTS}
    assert sorted(files - WITH_PRODUCTS) == []
