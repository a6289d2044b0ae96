"""A distance in words: the matched rules side by side, what moved, and what that cost."""

from itertools import zip_longest
from textwrap import wrap

from holdfast.stability.matching import PathPair, TreeDistance, UnmatchedPath
from holdfast.stability.paths import Path
from holdfast.tree.rules import FULL_LIST, conditions, region_text, regions_at
from holdfast.tree.tree import LEAF, Tree
from holdfast.tree.wording import number_text, outcome_text, printable, rows_text

SIDE_WIDTH = 38  # of each tree's column
WIDTH = 2 * SIDE_WIDTH + 14

_Line = tuple[str, str, str]  # first tree, second tree, cost


def explanation(distance: TreeDistance) -> str:
    """The whole explanation, what costs most first."""
    moved = sorted((pair for pair in distance.pairs if pair.cost > 0), key=lambda pair: -pair.cost)
    same = [pair for pair in distance.pairs if pair.cost == 0]
    blocks = [_summary(distance, len(same))]
    blocks += [_pair_text(distance, pair) for pair in moved]
    blocks += [_unmatched_text(distance, unmatched) for unmatched in distance.unmatched]
    if same:
        lines = [line for pair in same for line in _same_lines(distance, pair)]
        blocks.append("\n".join(["The same in both trees", *lines]))
    return "\n\n".join(blocks)


def _summary(distance: TreeDistance, n_same: int) -> str:
    moved = sum(part.cost for pair in distance.pairs for part in pair.parts)
    said = sum(pair.outcome_cost for pair in distance.pairs)
    alone = sum(unmatched.weight for unmatched in distance.unmatched)
    total = _cost_text(distance.raw)
    if distance.terms.normalised:
        total = f"{number_text(distance.total, 4)} ({total} before normalising)"
    leaves = (distance.first.n_leaves, distance.second.n_leaves)
    return "\n".join(
        [
            f"Distance {total}: conditions {_cost_text(moved)}, outcomes {_cost_text(said)}, "
            f"rules on their own {_cost_text(alone)}",
            f"{leaves[0]} rules against {leaves[1]}; {n_same} the same in both. Matching "
            f"{distance.matching!r}, another outcome costs {number_text(distance.label_weight, 4)}.",
        ]
    )


def _pair_text(distance: TreeDistance, pair: PathPair) -> str:
    first, second = distance.first, distance.second
    numbers = f"Rule {_number(first, pair.first)} -> rule {_number(second, pair.second)}"
    lines: list[_Line] = [
        (*_conditions(distance, pair, part.feature), _cost_text(part.cost)) for part in pair.parts
    ]
    outcomes = (f"THEN {_outcome(first, pair.first)}", f"THEN {_outcome(second, pair.second)}")
    lines.append((*outcomes, _cost_text(pair.outcome_cost) if pair.outcome_cost else ""))
    moved = {part.feature for part in pair.parts}
    kept = [name for name in pair.first.asks if name not in moved]
    text = "\n".join([f"{numbers}: {_cost_text(pair.cost)}", *_table(lines)])
    if kept:
        shared = "; ".join(_conditions(distance, pair, name)[0] for name in kept)
        text += "\n" + "\n".join(_indented(f"unchanged: {shared}"))
    return text


def _unmatched_text(distance: TreeDistance, unmatched: UnmatchedPath) -> str:
    tree = distance.first if unmatched.side == "first" else distance.second
    head = f"Rule {_number(tree, unmatched.path)} of the {unmatched.side} tree has no counterpart: "
    return "\n".join([head + _cost_text(unmatched.weight), *_indented(_rule(tree, unmatched.path))])


def _same_lines(distance: TreeDistance, pair: PathPair) -> list[str]:
    numbers = f"{_number(distance.first, pair.first)} -> {_number(distance.second, pair.second)}"
    return _indented(f"{numbers}: {_rule(distance.first, pair.first)}")


# -- one rule -------------------------------------------------------------------------------------------


def _number(tree: Tree, path: Path) -> int:
    """Which of the tree's rules it is, counted from 1."""
    return int((tree.feature[: path.leaf] == LEAF).sum()) + 1


def _rule(tree: Tree, path: Path) -> str:
    asked = " AND ".join(conditions(tree, path.leaf))
    return f"{f'IF {asked} ' if asked else ''}THEN {_outcome(tree, path)}"


def _outcome(tree: Tree, path: Path) -> str:
    return f"{outcome_text(tree, path.leaf)} ({rows_text(path.count)})"


def _conditions(distance: TreeDistance, pair: PathPair, name: str) -> tuple[str, str]:
    """What the two paths ask of a feature."""
    sides = ((distance.first, pair.first), (distance.second, pair.second))
    first, second = (_condition(tree, path, name) for tree, path in sides)
    return first, second


def _condition(tree: Tree, path: Path, name: str) -> str:
    for region in regions_at(tree, path.leaf).values():
        if region.feature.name == name:
            return region_text(region, most=FULL_LIST)
    return f"any {printable(name)}"


def _cost_text(cost: float) -> str:
    return f"{cost:.4f}" if cost >= 5e-5 or cost == 0 else f"{cost:.0e}"


# -- layout ---------------------------------------------------------------------------------------------


def _table(lines: list[_Line]) -> list[str]:
    """The lines in columns, long entries over several lines."""
    rows = []
    for first, second, cost in lines:
        cells = [wrap(first, SIDE_WIDTH), wrap(second, SIDE_WIDTH), [cost]]
        for place, cell in enumerate(zip_longest(*cells, fillvalue="")):
            arrow = "->" if place == 0 else "  "
            rows.append(f"  {cell[0]:<{SIDE_WIDTH}} {arrow} {cell[1]:<{SIDE_WIDTH}} {cell[2]:>8}".rstrip())
    return rows


def _indented(text: str) -> list[str]:
    return wrap(text, WIDTH, initial_indent="  ", subsequent_indent="    ", break_on_hyphens=False)
