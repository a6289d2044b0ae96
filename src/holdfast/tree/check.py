"""Validation of trees and ensembles, before any kernel reads them: no crash or endless loop can follow."""

from collections.abc import Iterable
from dataclasses import dataclass
from math import isfinite
from numbers import Real
from sys import float_info
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from holdfast._arrays import BoolArray, FloatArray, IntArray, LongArray
from holdfast._text import quoted
from holdfast.data.custom_features import parse_custom_features
from holdfast.data.schema import Feature, Kind, Label, Schema, Target
from holdfast.errors import BrokenTreeError, CustomFeatureError
from holdfast.tree.stats import score_classes
from holdfast.tree.tree import LEAF, Tree

if TYPE_CHECKING:
    from holdfast.tree.ensemble import Ensemble

TOLERANCE = 1e-6  # of sums of fractions and weights, which other libraries store in single precision
LAST_BITS = 2 * float(np.finfo(np.float64).smallest_subnormal)  # precision of the smallest weights
LOWEST_IMPURITY = -1e-9  # by rounding, the impurity of a pure node may be below zero

_ARRAY_TYPES = {
    "feature": np.dtype(np.int32),
    "threshold": np.dtype(np.float64),
    "left": np.dtype(np.int32),
    "right": np.dtype(np.int32),
    "missing_left": np.dtype(np.bool_),
    "set_start": np.dtype(np.int64),
    "in_set": np.dtype(np.bool_),
    "value": np.dtype(np.float64),
    "count": np.dtype(np.float64),
    "weight": np.dtype(np.float64),
    "impurity": np.dtype(np.float64),
}


def check_tree(tree: Tree) -> None:
    """Raise a BrokenTreeError that names the array, the node and the value, unless the tree is sound."""
    check_schema(tree.schema)
    check_nodes(tree, SetSizes.of(tree.schema))


def check_trees(trees: Iterable[Tree], name: str) -> None:
    """As `check_tree` for each of them; features that trees share are checked once."""
    sizes: dict[int, SetSizes] = {}
    for position, tree in enumerate(trees):
        try:
            features = id(tree.schema.features)
            if features not in sizes:
                check_schema(tree.schema)
                sizes[features] = SetSizes.of(tree.schema)
            check_target(tree.schema.target)
            check_nodes(tree, sizes[features])
        except BrokenTreeError as error:
            raise BrokenTreeError(f"{name.format(position)}: {error}") from error


def check_nodes(tree: Tree, sizes: "SetSizes") -> None:
    """As `check_tree`, of a tree whose schema is sound and has sets of these sizes."""
    check_text("criterion", tree.criterion)
    for position, note in enumerate(tree.notes):
        check_text(f"notes[{position}]", note)
    if tree.edits:
        # A local import, since edits import this module.
        from holdfast.tree.edit import check_edits

        check_edits(tree)
    _check_types(tree)
    _check_lengths(tree)
    check_features(tree.schema, tree.feature)
    _check_children(tree)
    _check_splits(tree, sizes)
    _check_values(tree)
    check_losses(tree.loss_matrix, tree.schema.target)
    check_outcome(tree)
    _check_weights(tree)
    _check_observed(tree)
    _check_evidence(tree)
    _check_means(tree, "rows_mean")
    _check_means(tree, "teacher_mean")
    _check_split_support(tree)
    _check_recorded(tree)
    _check_curves(tree)
    if tree.monotone is not None:
        from holdfast.tree.monotone import check_monotone

        check_monotone(tree)


def _check_curves(tree: Tree) -> None:
    if tree.curves is None:
        return
    if not tree.schema.target.is_survival or len(tree.curves) != tree.n_nodes:
        raise BrokenTreeError(f"curves are {len(tree.curves)}: a survival tree has one per node.")
    for node, curve in enumerate(tree.curves):
        time, at_risk, events = (np.asarray(line, np.float64) for line in curve)
        is_one_length = time.ndim == 1 and time.shape == at_risk.shape == events.shape
        if not is_one_length or not all(np.isfinite(line).all() for line in (time, at_risk, events)):
            raise BrokenTreeError(f"curves[{node}] must have finite numbers, as many of each kind.")
        if (np.diff(time) < 0).any() or (events < 0).any() or (events > at_risk * (1 + TOLERANCE)).any():
            raise BrokenTreeError(f"curves[{node}] must have ascending times, and no more events than rows.")


# -- the schema ---------------------------------------------------------------------------------------


def check_schema(schema: Schema) -> None:
    """Raise a BrokenTreeError that names the feature and the value, unless the schema is sound."""
    for position, feature in enumerate(schema.features):
        _check_feature(f"schema.features[{position}]", feature)
    _check_distinct("schema.features", schema.names)
    _check_custom_features(schema)
    check_target(schema.target)


def check_target(target: Target) -> None:
    """Raise a BrokenTreeError that names the value, unless the target is sound."""
    check_text("schema.target.name", target.name)
    check_labels("schema.target.classes", target.classes)
    # By type, too: True is equal to 1, but not in a file.
    known = [(type(label), label) for label in target.classes]
    if target.positive is not None and (type(target.positive), target.positive) not in known:
        raise BrokenTreeError(
            f"schema.target.positive is {target.positive!r}: it is one of the classes, {target.classes!r}."
        )
    _check_range("schema.target", target.low, target.high)
    if target.hazard is not None:
        _check_hazard(target)


def _check_hazard(target: Target) -> None:
    hazard, place = target.hazard, "schema.target.hazard"
    assert hazard is not None
    check_text(f"{place}.time", hazard.time)
    for name, text in (("entry", hazard.entry), ("unit", hazard.unit)):
        if text is not None:
            check_text(f"{place}.{name}", text)
    if target.classes:
        raise BrokenTreeError(f"{place} is of a time to an event, and the target has classes.")
    times, cumulative = np.array(hazard.times), np.array(hazard.cumulative)
    if not len(times) or len(times) != len(cumulative):
        raise BrokenTreeError(f"{place} has {len(times)} times and {len(cumulative)} sums of hazards.")
    for name, line in (("times", times), ("cumulative", cumulative)):
        if not (np.isfinite(line).all() and line[0] >= 0 and (np.diff(line) >= 0).all()):
            raise BrokenTreeError(f"{place}.{name} must be finite, at least 0 and ascending.")
    if not (isfinite(hazard.horizon) and hazard.horizon > 0):
        raise BrokenTreeError(f"{place}.horizon is {hazard.horizon}: it must be above 0.")


def _check_feature(place: str, feature: Feature) -> None:
    check_text(f"{place}.name", feature.name)
    if feature.kind not in get_args(Kind):
        raise BrokenTreeError(f"{place}.kind is {feature.kind!r}: it is one of {', '.join(get_args(Kind))}.")
    _check_range(f"{place} ({feature.name!r})", feature.low, feature.high)
    check_labels(f"{place}.categories", feature.categories)
    if feature.kind == "numeric" and feature.categories:
        raise BrokenTreeError(
            f"{place}.categories is {feature.categories}: the feature is numeric and has none."
        )
    # By identity, since 0 == False.
    if feature.kind == "custom" and not (
        len(feature.categories) == 2 and feature.categories[0] is False and feature.categories[1] is True
    ):
        raise BrokenTreeError(
            f"{place}.categories is {feature.categories}: a custom feature has (False, True)."
        )


def _check_custom_features(schema: Schema) -> None:
    # Custom features are computed from the columns, which come first.
    if schema.features[: len(schema.columns)] != schema.columns:
        raise BrokenTreeError(
            "schema.features has a custom feature before a column: custom features come last."
        )
    position = len(schema.columns)
    try:
        for _ in parse_custom_features(schema.custom_features, schema.columns):
            position += 1
    except CustomFeatureError as error:
        raise BrokenTreeError(f"schema.features[{position}] is no custom feature: {error}") from error


def _check_range(place: str, low: float, high: float) -> None:
    for name, bound in (("low", low), ("high", high)):
        if not isinstance(bound, Real) or not isfinite(bound):
            raise BrokenTreeError(f"{place}: {name} is {bound!r}: a range has finite ends.")
    if low > high:
        raise BrokenTreeError(f"{place}: low is {low} and high is {high}: the ends of the range are swapped.")


def check_labels(place: str, labels: tuple[Label, ...]) -> None:
    """Raise a BrokenTreeError unless they are labels that a file can hold, all different."""
    for position, label in enumerate(labels):
        # Exact types, since a model file does not keep numpy types.
        if type(label) not in (str, int, float, bool):
            raise BrokenTreeError(
                f"{place}[{position}] is a {type(label).__name__}: labels are str, int, float or bool."
            )
        if isinstance(label, str):
            check_text(f"{place}[{position}]", label)
        elif not (-(2**63) <= label < 2**63 if isinstance(label, int) else isfinite(label)):
            raise BrokenTreeError(f"{place}[{position}] is {label}: a number must be finite and fit 64 bits.")
    _check_distinct(place, labels)


def _check_distinct(place: str, labels: tuple[Label, ...]) -> None:
    seen: dict[Label, Label] = {}
    for position, label in enumerate(labels):
        if label in seen:
            raise BrokenTreeError(
                f"{place}[{position}] is {label!r}, which equals the earlier {seen[label]!r}."
            )
        seen[label] = label


def check_text(place: str, text: str) -> None:
    """Raise a BrokenTreeError unless it is a text that a file can hold."""
    if not isinstance(text, str):
        raise BrokenTreeError(f"{place} is {text!r}: it must be text.")
    if not text.isascii() and any("\ud800" <= character <= "\udfff" for character in text):
        raise BrokenTreeError(f"{place} is {text!r}: half of a surrogate pair cannot be written to a file.")


# -- the arrays ---------------------------------------------------------------------------------------


def _check_types(tree: Tree) -> None:
    for name, expected in _ARRAY_TYPES.items():
        array = getattr(tree, name)
        if not isinstance(array, np.ndarray) or array.dtype != expected:
            dtype = getattr(array, "dtype", type(array).__name__)
            raise BrokenTreeError(f"{name} holds {dtype}: it must be an array of {expected}.")
        dimensions = 2 if name == "value" else 1
        if array.ndim != dimensions:
            raise BrokenTreeError(f"{name} has {array.ndim} dimensions: it must have {dimensions}.")


def _check_lengths(tree: Tree) -> None:
    if tree.n_nodes == 0:
        raise BrokenTreeError("feature is empty: a tree has at least one node.")
    for name in _ARRAY_TYPES.keys() - {"in_set"}:
        if (length := len(getattr(tree, name))) != tree.n_nodes:
            raise BrokenTreeError(f"{name} has {length} nodes and feature has {tree.n_nodes}.")


def check_features(schema: Schema, feature: IntArray) -> None:
    """Raise a BrokenTreeError if a node splits on a feature that the schema does not have."""
    outside = (feature < LEAF) | (feature >= len(schema.features))
    _refuse(outside, "feature", feature, f"the schema has {len(schema.features)} features; a leaf has {LEAF}")


def _check_children(tree: Tree) -> None:
    """Check the children, which follow from the leaves: in preorder these alone determine the shape."""
    inner = tree.feature != LEAF
    # Number of right subtrees that are pending after each node; below zero, the tree is complete.
    pending = np.cumsum(np.where(inner, 1, -1))
    complete = np.flatnonzero(pending < 0)
    if not complete.size:
        raise BrokenTreeError(
            f"feature ends after {tree.n_nodes} nodes: {pending[-1] + 1} subtrees are missing."
        )
    if complete[0] != tree.n_nodes - 1:
        raise BrokenTreeError(
            f"feature has {tree.n_nodes} nodes: the tree is complete after node {complete[0]}."
        )
    # Inside a left subtree one more right subtree is pending than at its parent, so that the right child is
    # the next node with the same number.
    waiting = pending - np.where(inner, 1, -1)
    by_waiting = np.argsort(waiting, kind="stable")
    right = np.full(tree.n_nodes, LEAF)
    right[by_waiting[:-1]] = by_waiting[1:]
    left = np.arange(1, tree.n_nodes + 1)
    _raise_for_other("left", tree.left, np.where(inner, left, LEAF), "nodes are in preorder")
    _raise_for_other("right", tree.right, np.where(inner, right, LEAF), "nodes are in preorder")


def _check_splits(tree: Tree, sizes: "SetSizes") -> None:
    """Check that each inner node has a threshold or a set of categories, and a leaf neither."""
    has_set, lengths = sizes.of_nodes(tree.feature)
    has_threshold = (tree.feature != LEAF) & ~has_set
    absent = has_threshold & ~np.isfinite(tree.threshold)
    _refuse(absent, "threshold", tree.threshold, "it must be finite at a split of an ordered feature")
    idle = ~has_threshold & ~np.isnan(tree.threshold)
    _refuse(idle, "threshold", tree.threshold, "it must be NaN at a leaf and at a split on categories")
    _refuse(has_set & (lengths == 0), "feature", tree.feature, "it has no categories to split on")
    starts = np.where(has_set, np.cumsum(lengths) - lengths, -1)
    _raise_for_other("set_start", tree.set_start, starts, "the sets of the nodes follow one another")
    if len(tree.in_set) != lengths.sum():
        raise BrokenTreeError(f"in_set has {len(tree.in_set)} flags: the nodes' sets need {lengths.sum()}.")


@dataclass(frozen=True, eq=False)
class SetSizes:
    """Whether the features of a schema are split by sets of categories, and the sizes of the sets."""

    # With one more entry at the end, for LEAF, which is -1.
    is_subset: BoolArray
    lengths: LongArray

    @classmethod
    def of(cls, schema: Schema) -> "SetSizes":
        """Find the sizes for the features of a schema."""
        is_subset = np.array([each.is_subset for each in schema.features] + [False])
        lengths = np.array([len(each.categories) for each in schema.features] + [0], np.int64)
        return cls(is_subset, lengths * is_subset)

    def of_nodes(self, feature: IntArray) -> tuple[BoolArray, LongArray]:
        """Return for nodes with these features whether they split on a set, and the number of its flags."""
        return self.is_subset[feature], self.lengths[feature]


def _check_values(tree: Tree) -> None:
    classes = tree.schema.target.classes
    width = max(len(classes), 1)
    if tree.value.shape[1] != width:
        raise BrokenTreeError(f"value has {tree.value.shape[1]} columns: the target needs {width}.")
    _refuse(~np.isfinite(tree.value), "value", tree.value, "every number must be finite")
    if tree.schema.target.is_survival:
        _refuse(tree.value < 0, "value", tree.value, "relative risks are not negative")
    if classes:
        _refuse(tree.value < 0, "value", tree.value, "fractions of classes are not negative")
        with np.errstate(over="ignore"):
            total = tree.value.sum(axis=1)
        _refuse(np.abs(total - 1) > TOLERANCE, "value", tree.value, "fractions of classes sum to 1")


def check_outcome(tree: Tree) -> None:
    """Raise a BrokenTreeError if the fixed class of a node is not one of its most frequent."""
    given = tree.given_outcome
    if given is None:
        return
    classes = tree.schema.target.classes
    if not classes:
        raise BrokenTreeError("given_outcome holds classes: the target is a number.")
    if given.dtype != np.int32 or given.shape != (tree.n_nodes,):
        raise BrokenTreeError(f"given_outcome holds {given.dtype} {given.shape}: it has an int32 per node.")
    outside = (given < 0) | (given >= len(classes))
    _refuse(outside, "outcome", given, f"the target has {len(classes)} classes")
    merit = score_classes(tree.value, tree.loss_matrix)
    worse = merit[np.arange(tree.n_nodes), given] < merit.max(axis=1)
    why = "is more frequent" if tree.loss_matrix is None else "costs less"
    _refuse(worse, "outcome", given, f"another class {why} at the node")


def check_losses(loss_matrix: FloatArray | None, target: Target) -> None:
    """Raise a BrokenTreeError unless the losses are a valid matrix for the classes of the target."""
    if loss_matrix is None:
        return
    n_classes = len(target.classes)
    if loss_matrix.shape != (n_classes, n_classes) or not n_classes:
        raise BrokenTreeError(
            f"loss_matrix has the shape {loss_matrix.shape}: there are {n_classes} classes."
        )
    if not (np.isfinite(loss_matrix) & (loss_matrix >= 0)).all() or np.diag(loss_matrix).any():
        raise BrokenTreeError("loss_matrix holds losses that are negative, not finite, or on its diagonal.")


def _check_weights(tree: Tree) -> None:
    for name, lowest in (("count", 0.0), ("weight", 0.0), ("impurity", LOWEST_IMPURITY)):
        array = getattr(tree, name)
        _refuse(~(np.isfinite(array) & (array >= lowest)), name, array, "it must be finite and not negative")
    inner = tree.feature != LEAF
    total = tree.weight.copy()
    with np.errstate(over="ignore"):
        total[inner] = tree.weight[tree.left[inner]] + tree.weight[tree.right[inner]]
    apart = np.abs(total - tree.weight) > TOLERANCE * tree.weight + LAST_BITS
    expected = np.where(apart, total, tree.weight)
    _raise_for_other("weight", tree.weight, expected, "it is the sum of the children's weights")


def _optional_array(tree: Tree, name: str, shape: tuple[int, ...]) -> FloatArray | None:
    """Return an optional array of the tree; a BrokenTreeError if it has another type or shape."""
    array: FloatArray | None = getattr(tree, name)
    if array is not None and (array.dtype != np.float64 or array.shape != shape):
        raise BrokenTreeError(f"{name} holds {array.dtype} {array.shape}: it must be float64 {shape}.")
    return array


def _check_observed(tree: Tree) -> None:
    """Check the class counts, which sum up from the leaves to the root."""
    if tree.observed is not None and not tree.schema.target.is_classes:
        raise BrokenTreeError("observed counts rows of classes: the target is a number.")
    observed = _optional_array(tree, "observed", tree.value.shape)
    if observed is None:
        return
    _refuse(
        ~(np.isfinite(observed) & (observed >= 0)), "observed", observed, "rows are finite and at least 0"
    )
    inner = tree.feature != LEAF
    with np.errstate(over="ignore"):
        total, below = observed.sum(axis=1), observed[tree.left[inner]] + observed[tree.right[inner]]
        apart = np.zeros(observed.shape, np.bool_)
        apart[inner] = np.abs(below - observed[inner]) > TOLERANCE * (1.0 + observed[inner])
        unlike = np.abs(total - tree.count) > TOLERANCE * (1.0 + tree.count)
    _refuse(apart, "observed", observed, "its rows are those of its children")
    _refuse(unlike, "observed", observed, "its rows add up to its count")


def _check_evidence(tree: Tree) -> None:
    """Check effective rows and deviations: one number per node, finite and at least 0."""
    for name in ("effective", "deviation"):
        if (array := _optional_array(tree, name, (tree.n_nodes,))) is not None:
            _refuse(~(np.isfinite(array) & (array >= 0)), name, array, "it is finite and at least 0")


def _check_means(tree: Tree, name: str) -> None:
    """Check means of nodes, which have the shape of the values; those of classes are fractions."""
    mean = _optional_array(tree, name, tree.value.shape)
    if mean is None:
        return
    is_fraction = (mean >= 0) & (mean <= 1 + TOLERANCE)
    is_sound = is_fraction if tree.schema.target.is_classes else np.isfinite(mean)
    _refuse(~is_sound, name, mean, "it is finite, and between 0 and 1 where it is a fraction")


def _check_split_support(tree: Tree) -> None:
    """Check the split support: a fraction or NaN for each split, and NaN at leaves."""
    support = _optional_array(tree, "split_support", (tree.n_nodes,))
    if support is None:
        return
    _refuse((support < 0) | (support > 1), "split_support", support, "it is a fraction")
    is_at_leaf = (tree.feature == LEAF) & ~np.isnan(support)
    _refuse(is_at_leaf, "split_support", support, "the node is no split")


def _check_recorded(tree: Tree) -> None:
    """Check counts of missing values (leaf, feature, rows; sorted, below the splits) and seen flags."""
    if tree.seen is not None and (tree.seen.dtype != np.bool_ or tree.seen.shape != tree.in_set.shape):
        raise BrokenTreeError(
            f"seen holds {tree.seen.dtype} {tree.seen.shape}: it has a flag for each of {len(tree.in_set)}."
        )
    entries = tree.not_recorded
    if entries is None:
        return
    if entries.dtype != np.float64 or entries.ndim != 2 or entries.shape[1] != 3 or not len(entries):
        raise BrokenTreeError(
            f"not_recorded holds {entries.dtype} {entries.shape}: each entry is a leaf, a feature and rows."
        )
    _refuse(~np.isfinite(entries), "not_recorded", entries, "every number must be finite")
    leaf, feature, rows = entries.T
    is_index = (leaf == np.floor(leaf)) & (feature == np.floor(feature)) & (leaf >= 0) & (feature >= 0)
    is_index &= (leaf < tree.n_nodes) & (feature < len(tree.schema.features))
    _refuse(~is_index, "not_recorded", entries, "it names a leaf and a feature by their numbers")
    leaves, features = leaf.astype(np.int64), feature.astype(np.int64)
    is_below = np.zeros(len(entries), np.bool_)
    for each in np.unique(features).tolist():
        own = features == each
        is_below[own] = below_splits(tree, each)[leaves[own]]
    _refuse(~is_below, "not_recorded", entries, "no split on the feature leads there")
    _refuse(tree.feature[leaves] != LEAF, "not_recorded", entries, "the node is no leaf")
    most = tree.count[leaves] * (1.0 + TOLERANCE) + TOLERANCE
    _refuse((rows < 0) | (rows > most), "not_recorded", entries, "its rows are 0 to those of the leaf")
    steps = np.diff(leaves * np.int64(len(tree.schema.features)) + features, prepend=-1)
    _refuse(steps <= 0, "not_recorded", entries, "entries are sorted by leaf and feature, without duplicates")


def below_splits(tree: Tree, feature: int) -> BoolArray:
    """Flag the nodes below splits on the feature."""
    change = np.zeros(tree.n_nodes + 1, np.int64)
    nodes = np.flatnonzero(tree.feature == feature)
    np.add.at(change, nodes + 1, 1)
    np.add.at(change, tree.subtree_end[nodes], -1)
    return np.asarray(np.cumsum(change)[:-1] > 0, np.bool_)


def _refuse(broken: BoolArray, name: str, array: NDArray[Any], reason: str) -> None:
    """Raise a BrokenTreeError for the first flagged node; there is a flag per node or per number."""
    if broken.any():
        node = np.argwhere(broken)[0, 0]
        raise BrokenTreeError(f"{name}[{node}] is {array[node]}: {reason}.")


def _raise_for_other(name: str, array: NDArray[Any], expected: NDArray[Any], reason: str) -> None:
    nodes = np.flatnonzero(array != expected)
    if len(nodes):
        node = nodes[0]
        raise BrokenTreeError(f"{name}[{node}] is {array[node]}, not {expected[node]}: {reason}.")


# -- Ensembles -----------------------------------------------------------------------------------------------

Link = Literal["mean", "identity", "exp", "logistic", "double_logistic", "softmax"]
# Weights within these limits cannot underflow or overflow, also in sums of many.
LIGHTEST, HEAVIEST = 1e-200, 1e200


def check_ensemble(ensemble: "Ensemble") -> None:
    """Raise a BrokenTreeError that names the part and the value, unless all parts fit together.

    The trees themselves are assumed to be valid.
    """
    if not ensemble.trees:
        raise BrokenTreeError("trees is empty: an ensemble has at least one tree.")
    if ensemble.link not in get_args(Link):
        raise BrokenTreeError(f"link is {ensemble.link!r}: it is one of {quoted(get_args(Link))}.")
    for name in ("weights", "outputs", "start"):
        array = getattr(ensemble, name)
        if array.ndim != 1:
            raise BrokenTreeError(f"{name} has {array.ndim} dimensions: it must have 1.")
        if name != "start" and len(array) != len(ensemble.trees):
            raise BrokenTreeError(f"{name} has {len(array)} numbers: there are {len(ensemble.trees)} trees.")
        if not np.isfinite(array).all():
            raise BrokenTreeError(f"{name} holds {array[~np.isfinite(array)][0]}: numbers must be finite.")
    for position, note in enumerate(ensemble.notes):
        check_text(f"notes[{position}]", note)
    _check_outputs(ensemble)
    _check_link(ensemble)
    _check_sums(ensemble)
    check_losses(ensemble.loss_matrix, ensemble.schema.target)


def _check_outputs(ensemble: "Ensemble") -> None:
    features, target = ensemble.schema.features, ensemble.schema.target
    for position, (tree, output) in enumerate(zip(ensemble.trees, ensemble.outputs.tolist(), strict=True)):
        if tree.schema.features is not features and tree.schema.features != features:
            raise BrokenTreeError(
                f"trees[{position}] has other features than the schema of the ensemble: put it on them first "
                "with tree.with_schema(schema)."
            )
        classes = tree.schema.target.classes
        if classes and classes is not target.classes and classes != target.classes:
            raise BrokenTreeError(
                f"trees[{position}] predicts the classes {quoted(classes)}, and the ensemble predicts "
                f"{quoted(target.classes) or 'a number'}."
            )
        if not classes and (ensemble.votes or (ensemble.link == "mean" and target.is_classes)):
            raise BrokenTreeError(f"trees[{position}] predicts a number: shares and votes are for classes.")
        width = tree.value.shape[1]
        if not 0 <= output <= ensemble.n_outputs - width:
            raise BrokenTreeError(
                f"outputs[{position}] is {output}: the tree adds to {width} columns from there on, and there "
                f"are {ensemble.n_outputs}."
            )


def _check_link(ensemble: "Ensemble") -> None:
    n_classes = len(ensemble.schema.target.classes)
    match ensemble.link:
        case "mean":
            fits = ensemble.n_outputs == max(n_classes, 1)
        case "identity" | "exp":
            fits = ensemble.n_outputs == 1 and n_classes == 0
        case "softmax":
            fits = ensemble.n_outputs == n_classes
        case _:
            fits = ensemble.n_outputs == 1 and n_classes == 2
    if not fits:
        raise BrokenTreeError(
            f"the link {ensemble.link!r} cannot make a prediction of {n_classes} classes "
            f"from {ensemble.n_outputs} scores."
        )


def _check_sums(ensemble: "Ensemble") -> None:
    """Check that sums cannot overflow and that means of fractions are fractions."""
    weights, start = ensemble.weights, ensemble.start
    if (weights < 0).any():
        raise BrokenTreeError(f"weights holds {weights[weights < 0][0]}: a weight is not negative.")
    if ensemble.link == "mean":
        outside = ~((weights >= LIGHTEST) & (weights <= HEAVIEST))
        if outside.any():
            raise BrokenTreeError(
                f'weights holds {weights[outside][0]}: the link "mean" divides by their sum, so each must be '
                f"from {LIGHTEST} to {HEAVIEST}."
            )
        if start.any():
            raise BrokenTreeError(f'start holds {start[start != 0][0]}: under the link "mean" it is 0.')
        return  # a mean is always finite, since its sum is scaled
    largest = [
        1.0 if ensemble.votes else max(float(tree.value.max()), -float(tree.value.min()))
        for tree in ensemble.trees
    ]
    with np.errstate(over="ignore"):
        reach = np.abs(start).max() + (weights * largest).sum()
    if not reach <= float_info.max / 4:  # twice the score, and a difference of two, must be finite too
        raise BrokenTreeError(
            f"the scores of a row could reach {reach:.3g}: start and the weights times the values of the "
            f"trees must sum to less than {float_info.max / 4:.3g}."
        )
