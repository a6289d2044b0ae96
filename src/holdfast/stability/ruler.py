"""One ruler for several trees: the same column must be measured in the same unit in all of them."""

from collections.abc import Sequence

from holdfast.data.schema import Feature, Schema, Target, sorted_labels
from holdfast.data.wording import listed
from holdfast.errors import SchemaMismatch
from holdfast.tree.tree import Tree

_WAY_OUT = (
    "Measure all trees on one ruler: tree.on(schema), or as_tree(model, schema=table.schema), with a schema "
    "that holds both, such as first.schema.widened(second.schema)."
)


def on_one_ruler(trees: Sequence[Tree]) -> list[Tree]:
    """The trees on the schema that all of them share, features by name and classes by value.

    A tree may lack columns or classes that another has; they have no length. Another range or other
    categories for the same column would be another unit: a SchemaMismatch.
    """
    schema = trees[0].schema
    for other in {id(tree.schema): tree.schema for tree in trees}.values():
        if other != schema:
            schema = _joined(schema, other)
    return [tree.on(schema) for tree in trees]


def _joined(one: Schema, other: Schema) -> Schema:
    features = {feature.name: feature for feature in one.features}
    for feature in other.features:
        _check_same(features.setdefault(feature.name, feature), feature)
    questions = [feature for feature in features.values() if feature.kind == "question"]
    columns = [feature for feature in features.values() if feature.kind != "question"]
    return Schema((*columns, *questions), _joined_target(one.target, other.target))


def _check_same(one: Feature, other: Feature) -> None:
    name = repr(one.name)
    if one.kind != other.kind:
        difference = f"column {name} is {one.kind} in one and {other.kind} in the other"
    elif one.categories != other.categories:
        difference = (
            f"column {name} has the categories {listed(one.categories)} in one and "
            f"{listed(other.categories)} in the other"
        )
    elif (one.low, one.high) != (other.low, other.high):
        difference = (
            f"column {name} reaches from {_range_text(one)} in one and from {_range_text(other)} in the other"
        )
    else:
        return
    raise SchemaMismatch(f"Cannot compare the trees: {difference}. {_WAY_OUT}")


def _range_text(scale: Feature | Target) -> str:
    return f"{scale.low!r} to {scale.high!r}"


def _joined_target(one: Target, other: Target) -> Target:
    if one.is_classes != other.is_classes:
        kinds = ["a class" if target.is_classes else "a number" for target in (one, other)]
        raise SchemaMismatch(
            f"Cannot compare the trees: the target {one.name!r} is {kinds[0]} in one, and {other.name!r} is "
            f"{kinds[1]} in the other. Compare trees of the same task."
        )
    if one.is_classes:
        return Target(one.name, classes=sorted_labels({*one.classes, *other.classes}))
    if (one.low, one.high) != (other.low, other.high):
        raise SchemaMismatch(
            f"Cannot compare the trees: the target {one.name!r} reaches from {_range_text(one)} in one and "
            f"from {_range_text(other)} in the other. {_WAY_OUT}"
        )
    return one
