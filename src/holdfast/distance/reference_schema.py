"""One reference schema for several trees, so that a column has the same unit in all of them."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from holdfast._text import quoted
from holdfast.data.schema import Feature, Schema, Target, sort_labels
from holdfast.errors import SchemaMismatch
from holdfast.tree.tree import LEAF, Tree

_WAYS_OUT = (
    "Measure all trees on one schema. Read the second data set with the schema of the first, "
    "Table.from_frame(data, target=..., schema=first.schema); give other libraries' trees the schema of the "
    "table, as_tree(model, schema=table.schema); or put trees with the same columns on a schema that "
    "holds both, wide = first.schema.widen(second.schema), then tree.with_schema(wide)."
)


def unify_schemas(trees: Sequence[Tree]) -> list[Tree]:
    """Project the trees to one schema, features by name and classes by value.

    A tree may lack columns or classes of another. A column that two trees split on must have the same range
    or categories in both; a SchemaMismatch lists all columns that differ.
    """
    groups = {id(tree.schema): tree.schema for tree in trees}
    if all(schema == trees[0].schema for schema in groups.values()):
        return [tree.with_schema(trees[0].schema) for tree in trees]
    used = {key: list_split_features([tree for tree in trees if id(tree.schema) == key]) for key in groups}
    features = {feature.name: feature for schema in groups.values() for feature in schema.features}
    common: dict[str, Feature] = {}
    problems: dict[str, None] = {}
    for key, schema in groups.items():
        for feature in schema.features:
            if feature.name in used[key]:
                known = common.setdefault(feature.name, feature)
                problems |= dict.fromkeys(_differences(known, feature))
    target = trees[0].schema.target
    for schema in groups.values():
        problems |= dict.fromkeys(_target_differences(target, schema.target))
        target = _join_targets(target, schema.target)
    if problems:
        raise SchemaMismatch(
            "\n".join(["Cannot compare the trees:", *(f"  {each}" for each in problems), _WAYS_OUT])
        )
    features |= common
    columns = [feature for feature in features.values() if feature.kind != "custom"]
    custom = [feature for feature in features.values() if feature.kind == "custom"]
    reference = Schema((*columns, *custom), target)
    return [project_to_reference(tree, reference) for tree in trees]


def list_split_features(trees: Sequence[Tree]) -> set[str]:
    """List the names of the features that any of the trees splits on."""
    numbers = {int(number) for tree in trees for number in np.unique(tree.feature[tree.feature != LEAF])}
    return {trees[0].schema.features[number].name for number in numbers}


def project_to_reference(tree: Tree, reference: Schema) -> Tree:
    """Project a tree to the reference schema; features without a split may differ in kind."""
    used, features = list_split_features([tree]), {feature.name: feature for feature in reference.features}
    own = [each if each.name in used else features[each.name] for each in tree.schema.features]
    return tree.replace(schema=Schema(tuple(own), tree.schema.target)).with_schema(reference)


# -- differences ----------------------------------------------------------------------------------------


def _differences(one: Feature, other: Feature) -> Iterator[str]:
    """Describe how the units of a column differ."""
    name = f"column {one.name!r}"
    if one.kind != other.kind:
        yield f"{name} is {one.kind} in one and {other.kind} in the other."
    elif one.categories != other.categories:
        only = [
            [label for label in a if label not in b] for a, b in _both_ways(one.categories, other.categories)
        ]
        if only[0] or only[1]:
            texts = [quoted(labels) if labels else "nothing" for labels in only]
            yield f"{name} has categories that the other has not: {texts[0]} in one, {texts[1]} in the other."
        else:
            orders = f"{quoted(one.categories)} in one and {quoted(other.categories)} in the other"
            yield f"{name} is ordered {orders}."
    elif (one.low, one.high) != (other.low, other.high):
        yield f"{name} reaches from {_range_text(one)} in one and from {_range_text(other)} in the other."


def _target_differences(one: Target, other: Target) -> Iterator[str]:
    if one.is_classes != other.is_classes:
        kinds = ["a class" if target.is_classes else "a number" for target in (one, other)]
        yield f"the target {one.name!r} is {kinds[0]} in one, and {other.name!r} is {kinds[1]} in the other."
    elif not one.is_classes and (one.low, one.high) != (other.low, other.high):
        ranges = f"from {_range_text(one)} in one and from {_range_text(other)} in the other"
        yield f"the target {one.name!r} reaches {ranges}."


def _join_targets(one: Target, other: Target) -> Target:
    if one.classes == other.classes:
        return one
    return replace(one, classes=sort_labels({*one.classes, *other.classes}))


def _both_ways(one: tuple[object, ...], other: tuple[object, ...]) -> list[tuple[tuple[object, ...], ...]]:
    return [(one, other), (other, one)]


def _range_text(scale: Feature | Target) -> str:
    return f"{scale.low!r} to {scale.high!r}"


# -- a schema as wide as both -----------------------------------------------------------------------------


def widen_schemas(old: Tree, new: Tree) -> tuple[Tree, Tree]:
    """Project both trees to a schema as wide as both of theirs.

    For trees before and after a change of the data, whose ranges and categories often differ. A
    SchemaMismatch names a column that both split on, or a target, that cannot be joined.
    """
    _check_one_target(old.schema.target, new.schema.target)
    target = Schema((), old.schema.target).widen(Schema((), new.schema.target)).target
    used_old, used_new = list_split_features([old]), list_split_features([new])
    others = {feature.name: feature for feature in new.schema.features}
    features: dict[str, Feature] = {}
    for feature in old.schema.features:
        other = others.get(feature.name, feature)
        is_shared = feature.name in used_old and feature.name in used_new
        features[feature.name] = _wider(feature, other, is_shared, feature.name in used_new)
    features |= {name: feature for name, feature in others.items() if name not in features}
    every = sorted(features.values(), key=lambda feature: feature.kind == "custom")
    reference = Schema(tuple(every), target)
    return project_to_reference(old, reference), project_to_reference(new, reference)


def _wider(old: Feature, new: Feature, is_shared: bool, is_used_by_new: bool) -> Feature:
    """Join two features; if that is impossible and only one is split on, return that one."""
    try:
        return Schema((old,)).widen(Schema((new,))).features[0]
    except SchemaMismatch:
        if is_shared:
            raise
        return new if is_used_by_new else old


def _check_one_target(old: Target, new: Target) -> None:
    """Raise a SchemaMismatch unless both trees have the same target; "y" is an unnamed target."""
    if old.is_classes != new.is_classes:
        kinds = ["a class" if target.is_classes else "a number" for target in (old, new)]
        what = f"{old.name!r} is {kinds[0]} in the old one, and {new.name!r} is {kinds[1]} in the new one"
    elif old.name != new.name and Target().name not in (old.name, new.name):
        what = f"it is {old.name!r} in the old one and {new.name!r} in the new one"
    elif old.is_classes and not {*old.classes} & {*new.classes}:
        classes = f"{quoted(old.classes)} in the old one and {quoted(new.classes)} in the new one"
        what = f"the classes of {old.name!r} are {classes}"
    else:
        return
    raise SchemaMismatch(
        f"Cannot compare the trees, which predict different targets: {what}. Compare trees that were fitted "
        "to the same target, with the same names for its classes."
    )
