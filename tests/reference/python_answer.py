"""The answer to a question by Python's own eval, one row at a time."""

import ast
import math

nan = math.nan


def python_answer(text: str, row: dict[str, object]) -> float:
    """1, 0, or NaN where None among the row's values leaves the answer open."""
    return _answer(ast.parse(text, mode="eval").body, row)


def _answer(node: ast.expr, row: dict[str, object]) -> float:
    # Python has no word for unknown, so only what stands between `and`, `or` and `not` is left to eval.
    if isinstance(node, ast.BoolOp):
        parts = [_answer(part, row) for part in node.values]
        decisive = 0.0 if isinstance(node.op, ast.And) else 1.0
        return decisive if decisive in parts else nan if any(map(math.isnan, parts)) else 1 - decisive
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return 1 - _answer(node.operand, row)
    if isinstance(node, ast.Compare) and len(node.ops) > 1:
        sides = [node.left, *node.comparators]
        links = [ast.Compare(a, [op], [b]) for a, op, b in zip(sides, node.ops, sides[1:], strict=False)]
        return _answer(ast.BoolOp(ast.And(), links), row)
    return _evaluated(node, row)


def _evaluated(node: ast.expr, row: dict[str, object]) -> float:
    names = {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}
    if any(row.get(name, 0) is None for name in names):
        return nan
    code = compile(ast.fix_missing_locations(ast.Expression(_Floats().visit(node))), "question", "eval")
    functions = {"abs": abs, "floor": math.floor, "ceil": math.ceil, "round": round, "min": min, "max": max}
    try:
        return float(eval(code, {"__builtins__": {}}, {**functions, **row}))
    except ZeroDivisionError:
        return nan


class _Floats(ast.NodeTransformer):
    def visit_Constant(self, node: ast.Constant) -> ast.Constant:
        return ast.Constant(float(node.value)) if isinstance(node.value, int) else node
