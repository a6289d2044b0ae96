"""Express a tree in another schema."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

import numpy as np

from holdfast._arrays import BoolArray, FloatArray, IntArray, LongArray
from holdfast._text import quoted
from holdfast.data.schema import Label, Schema, Target
from holdfast.errors import SchemaMismatch
from holdfast.tree.edit import carry_edits
from holdfast.tree.stats import set_outcome
from holdfast.tree.tree import KNOWN, LEAF, Tree

_WIDEN = "Measure it on a schema that holds both: tree.with_schema(schema.widen(tree.schema))."


def project_to_schema(tree: Tree, schema: Schema) -> Tree:
    """Renumber features, categories and classes by another schema; splits stay the same.

    The schema may have more of each, in any order, as long as ordered categories keep theirs. New nominal
    categories go with missing values, new ordered ones by their position. Features that the tree does not
    split on may be of another kind, such as a column that was empty before.
    """
    if schema == tree.schema:
        return tree
    if tree.schema.target.is_survival:  # the hazard that its risks refer to stays
        schema = replace(schema, target=replace(schema.target, hazard=tree.schema.target.hazard))
    used = {tree.schema.features[number].name for number in set(tree.feature.tolist()) - {LEAF}}
    _check_fits(tree.schema, schema, used)
    position = {name: index for index, name in enumerate(schema.names)}
    moved = np.array([*(position[name] for name in tree.schema.names), LEAF], np.int32)
    feature = moved[tree.feature]  # LEAF is -1, the last entry
    set_start, in_set = _sets(tree, schema, feature)
    moved_tree = tree.replace(
        schema=schema,
        feature=feature,
        threshold=_thresholds(tree, schema, feature),
        set_start=set_start,
        in_set=in_set,
        seen=None if tree.seen is None else _moved_flags(tree, schema, feature, tree.seen, is_seen=True),
        not_recorded=_moved_entries(tree, moved),
        loss_matrix=_losses(tree, schema.target),
        **{
            name: _by_class(tree, schema.target, array)
            for name in ("value", "observed", "rows_mean", "teacher_mean")
            if (array := getattr(tree, name)) is not None
        },
    )
    moved_tree = moved_tree.replace(edits=carry_edits(tree.edits, tree, moved_tree))
    if not schema.target.is_classes:
        return moved_tree
    # Ties up to the root are decided by the order of the classes, which may have changed.
    return set_outcome(moved_tree, _places(tree.schema.target.classes, schema.target.classes)[tree.outcome])


# -- renumbered parts -----------------------------------------------------------------------------------


def _thresholds(tree: Tree, schema: Schema, feature: IntArray) -> FloatArray:
    """Place thresholds on ordered features after the category they followed."""
    threshold = tree.threshold.copy()
    for node in np.flatnonzero((threshold >= 0) & (threshold < KNOWN)):
        old, new = tree.schema.features[tree.feature[node]], schema.features[feature[node]]
        if old.kind == "ordered":
            last_left = old.categories[min(int(threshold[node]), len(old.categories) - 1)]
            threshold[node] = new.categories.index(last_left) + 0.5
    return threshold


def _sets(tree: Tree, schema: Schema, feature: IntArray) -> tuple[LongArray, BoolArray]:
    """Return where each node's categories begin among the flags, and the flags."""
    has_set = tree.set_start >= 0
    sizes = np.array([len(schema.features[each].categories) if each != LEAF else 0 for each in feature])
    ends = np.cumsum(np.where(has_set, sizes, 0))
    return np.where(has_set, ends - sizes, -1), _moved_flags(tree, schema, feature, tree.in_set)


def _moved_flags(
    tree: Tree, schema: Schema, feature: IntArray, flags: BoolArray, *, is_seen: bool = False
) -> BoolArray:
    """Reorder category flags; new categories go with missing values and count as unseen."""
    moved: list[BoolArray] = [np.empty(0, np.bool_)]
    for node in np.flatnonzero(tree.set_start >= 0).tolist():
        old, new = tree.schema.features[tree.feature[node]], schema.features[feature[node]]
        start = tree.set_start[node]
        own = np.full(len(new.categories), tree.missing_left[node] and not is_seen)
        own[_places(old.categories, new.categories)] = flags[start : start + len(old.categories)]
        moved.append(own)
    return np.concatenate(moved)


def _moved_entries(tree: Tree, moved: IntArray) -> FloatArray | None:
    """Renumber the features of missing-value counts."""
    if tree.not_recorded is None:
        return None
    leaf, feature, rows = tree.not_recorded.T
    entries = np.column_stack([leaf, moved[feature.astype(np.int64)], rows])
    return entries[np.lexsort((entries[:, 1], entries[:, 0]))]


def _by_class(tree: Tree, target: Target, numbers: FloatArray) -> FloatArray:
    """Reorder class numbers, 0 for new classes; means stay."""
    if not target.is_classes:
        return numbers
    moved = np.zeros((tree.n_nodes, len(target.classes)))
    moved[:, _places(tree.schema.target.classes, target.classes)] = numbers
    return moved


def _losses(tree: Tree, target: Target) -> FloatArray | None:
    """Reorder losses; an error about a new class costs as much as the greatest."""
    if tree.loss_matrix is None:
        return None
    losses = float(tree.loss_matrix.max()) * (1.0 - np.eye(len(target.classes)))
    places = _places(tree.schema.target.classes, target.classes)
    losses[np.ix_(places, places)] = tree.loss_matrix
    return losses


def _places(old: Sequence[Label], new: Sequence[Label]) -> LongArray:
    """Find the positions of the old labels among the new ones."""
    place = {label: index for index, label in enumerate(new)}
    return np.array([place[label] for label in old], np.int64)


# -- checks ---------------------------------------------------------------------------------------------


def _check_fits(old: Schema, new: Schema, used: Collection[str]) -> None:
    """Raise a SchemaMismatch that lists what the new schema lacks and what to do."""
    misfits = [*_column_misfits(old, new, used), *_target_misfits(old.target, new.target)]
    if misfits:
        problems = [f"  {problem}" for problem, _ in misfits]
        ways_out = dict.fromkeys(way_out for _, way_out in misfits)
        raise SchemaMismatch("\n".join(["Cannot measure the tree on the schema:", *problems, *ways_out]))


def _column_misfits(old: Schema, new: Schema, used: Collection[str]) -> Iterator[tuple[str, str]]:
    features = {feature.name: feature for feature in new.features}
    for feature in old.features:
        what = f"{'custom feature' if feature.kind == 'custom' else 'column'} {feature.name!r}"
        other = features.get(feature.name)
        if other is None:
            way_out = "The new schema needs all columns and custom features of the tree's; it may have more."
            yield f"{what} is in the tree's schema and not in the new one.", way_out
        elif other.kind != feature.kind and feature.name not in used:
            continue
        elif other.kind != feature.kind:
            way_out = "Read both data sets with the same categorical columns."
            yield f"{what} is {feature.kind} in the tree's schema, {other.kind} in the new one.", way_out
        elif lost := _lost(feature.categories, other.categories):
            yield f"{what} has no categories {quoted(lost)} in the new schema.", _WIDEN
        elif feature.kind == "ordered" and (np.diff(_places(feature.categories, other.categories)) < 0).any():
            orders = f"{quoted(feature.categories)} there and {quoted(other.categories)} here"
            yield f"{what} is ordered {orders}.", "Give both data sets one list of ordered categories."


def _target_misfits(old: Target, new: Target) -> Iterator[tuple[str, str]]:
    if old.is_classes != new.is_classes:
        sides = ("a class", "a number") if old.is_classes else ("a number", "a class")
        problem = f"the target {old.name!r} is {sides[0]} in the tree's schema, {sides[1]} in the new one."
        yield problem, "Read both data sets with the same task."
    elif lost := _lost(old.classes, new.classes):
        yield f"the target {old.name!r} has no classes {quoted(lost)} in the new schema.", _WIDEN


def _lost(old: Sequence[Label], new: Sequence[Label]) -> list[Label]:
    known = set(new)
    return [label for label in old if label not in known]
