"""Which way the values of a tree go along its features, where that is promised: signs and sentences."""

from holdfast.show.risk import probability_name
from holdfast.text.lines import printable
from holdfast.text.lists import joined
from holdfast.tree.tree import LEAF, Tree

_SAID = {1: "never falls", -1: "never rises"}
_SIGNS = {1: "↑", -1: "↓"}


def direction_signs(tree: Tree) -> dict[str, str]:
    """What stands beside the columns asked about, by name, where something is promised of them."""
    return {name: _SIGNS[direction] for name, direction in _asked_directions(tree).items()}


def direction_lines(tree: Tree, *, signs: bool = False) -> list[str]:
    """A sentence for each direction of the columns asked about; in a drawing with the sign it explains."""
    directions = _asked_directions(tree)
    return [
        (f"{_SIGNS[direction]} " if signs else "") + _sentence(tree, direction, names)
        for direction in _SAID
        if (names := [name for name, own in directions.items() if own == direction])
    ]


def _sentence(tree: Tree, direction: int, names: list[str]) -> str:
    assert tree.monotone is not None
    target = tree.schema.target
    place = tree.monotone.column(tree) if target.is_classes else None
    what = probability_name(target, place) if target.is_classes else printable(target.name)
    columns = joined([printable(name) for name in names])
    return f"{what} {_SAID[direction]} as {columns if len(names) == 1 else f'any of {columns}'} rises."


def _asked_directions(tree: Tree) -> dict[str, int]:
    """The directions of the columns that the tree asks about, by name."""
    if tree.monotone is None:
        return {}
    asked = {tree.schema.names[feature] for feature in tree.feature[tree.feature != LEAF].tolist()}
    return {name: direction for name, direction in tree.monotone.directions if name in asked}
