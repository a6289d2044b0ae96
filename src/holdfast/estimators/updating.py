"""The rows that a stable tree is trained on and updated by, and the update of a deployed tree."""

import warnings
from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from holdfast._arrays import BoolArray, FloatArray, KeyArray, LongArray
from holdfast.data.folds import read_groups, read_stage, renumber_groups, subset_groups
from holdfast.data.frame import Frame, make_frame, stack_frames, stack_vectors, subset_vector
from holdfast.data.row_keys import find_unique_hashes
from holdfast.data.schema import Feature, Schema, Target
from holdfast.data.table import Table
from holdfast.data.target import (
    Task,
    count_effective_rows,
    find_weighted_rows,
    get_target_name,
    read_vector,
    read_weight,
)
from holdfast.distance.reference_schema import list_split_features, project_to_reference
from holdfast.errors import DataError, DataWarning, ParameterError, SchemaMismatch
from holdfast.governance.policy import ChangePolicy
from holdfast.tree.tree import Tree
from holdfast.update.settings import UpdateSettings, default_prior_rows, parse_frozen
from holdfast.update.update import TreeUpdate, UpdateData, update_tree

Pair = tuple[Any, Any]  # rows and their target as the user hands them over; None and None if there are none
NO_ROWS: Pair = (None, None)
FEWEST_ROWS = 20  # of an update
FEWEST_EVENTS = 5  # of them, rows that are not of the most frequent class
_FORCE = "Wait for more rows, or give force=True to update the tree all the same."
_WIDEN = "give allow_new_values=True: the update then takes in new columns, categories and classes."
_WIDER_SCHEMA = "To accept them, read the data without a schema"  # not for updates


@dataclass(frozen=True, eq=False)
class TrainingRows:
    """Rows to learn from and to score on, all of which count, and what is known of each besides."""

    X: Frame
    y: Any
    weight: FloatArray | None
    stage: LongArray | None
    groups: LongArray | None
    holdout: BoolArray | None  # True for the rows that the user holds out; None if there are none

    def subset(self, rows: BoolArray) -> "TrainingRows":
        """The rows with a flag."""
        return TrainingRows(
            self.X.subset(rows),
            subset_vector(read_vector(self.y, self.X.n_rows), rows),
            None if self.weight is None else self.weight[rows],
            renumber_groups(self.stage, rows),
            subset_groups(self.groups, rows),
            None if self.holdout is None else self.holdout[rows],
        )


def training_rows(
    rows: Pair,
    sample_weight: Any,
    *,
    stage: Any,
    groups: Any,
    early: Pair = NO_ROWS,
    holdout: Pair = NO_ROWS,
    early_names: tuple[str, str] = ("X_early", "y_early"),
) -> TrainingRows:
    """All rows whose weight is above 0: those of `early`, then those of `rows`, then those of `holdout`.

    Weights, stages and groups run over all of them in this order.
    """
    whole = _Part(make_frame(rows[0]), rows[1], ("X", "y"))
    n_early = n_held_out = 0
    if (first := _part(early, early_names)) is not None:
        if stage is not None:
            raise ParameterError("stage and X_early both say which rows are early: give one of them.")
        n_early, whole = first.X.n_rows, _joined(first, whole)
    if (last := _part(holdout, ("X_holdout", "y_holdout"))) is not None:
        n_held_out, whole = last.X.n_rows, _joined(whole, last)
    n_rows = whole.X.n_rows
    if first is not None:
        stage = np.arange(n_rows) >= n_early
    found = TrainingRows(
        whole.X,
        whole.y,
        read_weight(sample_weight, n_rows),
        None if stage is None else read_stage(stage, n_rows),
        None if groups is None else read_groups(groups, n_rows),
        None if last is None else np.arange(n_rows) >= n_rows - n_held_out,
    )
    counted = find_weighted_rows(found.weight)
    return found if counted is None else found.subset(counted)


class _Part(NamedTuple):
    """Rows and their target, and what messages call them."""

    X: Frame
    y: Any
    names: tuple[str, str]


def _part(pair: Pair, names: tuple[str, str]) -> _Part | None:
    X, y = pair
    if (X is None) != (y is None):
        raise ParameterError(
            f"{' and '.join(names)} go together: give the rows and their target, or neither."
        )
    return None if X is None else _Part(make_frame(X), y, names)


def _joined(first: _Part, second: _Part) -> _Part:
    """The rows of one part followed by those of another, under the names of X and y."""
    lines = [read_vector(part.y, part.X.n_rows, part.names) for part in (first, second)]
    if len({_is_text(line) for line in lines}) > 1:
        names = f"{first.names[1]} and {second.names[1]}"
        raise DataError(f"{names} must be of one kind, and one of them is text: write labels alike.")
    line = stack_vectors(*lines)
    if not isinstance(line, np.ndarray):
        line = line.rename(lines[0].name or "y")  # the target keeps its name
    return _Part(stack_frames(first.X, second.X, (first.names[0], second.names[0])), line, ("X", "y"))


def _is_text(line: Any) -> bool:
    entries = line.tolist() if isinstance(line, np.ndarray) else line.to_list()
    return any(isinstance(entry, str) for entry in entries)


# -- the rows of an update -------------------------------------------------------------------------------


@dataclass(frozen=True)
class Reading:
    """How the estimator reads rows."""

    task: Task
    categorical_features: Any
    custom_features: tuple[str, ...]
    allow_new_values: bool


def update_rows(rows: TrainingRows, tree: Tree, reading: Reading) -> UpdateData:
    """The rows on the schema of the tree, whose ranges hold theirs too; on request also what is new to it.

    New categories of a column that the tree does not split on are taken in anyway. Those of other columns
    count as missing, as they do in predictions, with a warning. Rows of the stage 0 are old ones.
    """
    is_new = np.ones(rows.X.n_rows, np.bool_) if rows.stage is None else rows.stage > 0
    asked = list_split_features([tree])
    if reading.allow_new_values:
        return UpdateData(
            _read(rows, _schema_with_new_values(rows, tree, reading, asked), reading), rows.groups, is_new
        )
    try:
        table = _read(rows, tree.schema, reading)
    except SchemaMismatch as error:
        if "columns" in str(error):  # missing, or more of them
            raise offer_new_values(error) from None
        wide = _schema_with_new_values(rows, tree, reading, asked)
        known = {feature.name: feature for feature in tree.schema.features}
        features = tuple(known[each.name] if each.name in asked else each for each in wide.features)
        try:
            table = _read(rows, Schema(features, tree.schema.target), reading, handle_unknown="missing")
        except SchemaMismatch:
            raise offer_new_values(error) from error
    return UpdateData(table, rows.groups, is_new)


def offer_new_values(error: SchemaMismatch) -> SchemaMismatch:
    """The error with allow_new_values=True as a way out, unless columns are missing and nothing is new."""
    lines = [line for line in str(error).splitlines() if not line.startswith(_WIDER_SCHEMA)]
    if any(new in str(error) for new in ("columns not in the schema", "new categories", "new classes")):
        others = any(line.startswith("Give ") for line in lines)
        lines.append(f"Or {_WIDEN}" if others else f"{_WIDEN[0].upper()}{_WIDEN[1:]}")
    return SchemaMismatch("\n".join(lines))


def check_enough(rows: UpdateData) -> None:
    """Raise a DataError if the new rows are too few, or too much alike, to update a tree by.

    Of classes, at least two must be there, and at least `FEWEST_EVENTS` rows must not be of the most
    frequent one.
    """
    counted = rows.is_new if rows.table.weight is None else rows.is_new & (rows.table.weight > 0)
    target, classes = rows.table.target[counted], rows.table.schema.target.classes
    if len(target) < FEWEST_ROWS:
        raise DataError(
            f"An update needs at least {FEWEST_ROWS} new rows, and there are {len(target)}. {_FORCE}"
        )
    if (survival := rows.table.survival) is not None and (n_events := int(survival.event[counted].sum())) < (
        FEWEST_EVENTS
    ):
        raise DataError(
            f"Of {len(target):,} new rows, {n_events} have an event: an update needs at least "
            f"{FEWEST_EVENTS}. {_FORCE}"
        )
    if not classes:
        return
    counts = np.bincount(target, minlength=len(classes))
    most, n_events = classes[int(counts.argmax())], len(target) - int(counts.max())
    if n_events == 0:
        raise DataError(
            f"All {len(target):,} new rows have the class {most!r}: an update needs rows of at least two "
            f"classes. {_FORCE}"
        )
    if n_events < FEWEST_EVENTS:
        raise DataError(
            f"Of {len(target):,} new rows, {n_events} have another class than {most!r}: an update needs at "
            f"least {FEWEST_EVENTS} such rows. {_FORCE}"
        )


def _read(rows: TrainingRows, schema: Schema, reading: Reading, handle_unknown: str = "error") -> Table:
    with warnings.catch_warnings():
        # Rows of one class, or columns of one value, say little, but the tree will not be a leaf.
        warnings.filterwarnings("ignore", "the target has one class", DataWarning)
        warnings.filterwarnings("ignore", "no tree can split on columns", DataWarning)
        return with_ranges(
            Table.from_arrays(
                rows.X, rows.y, rows.weight, task=reading.task, schema=schema, handle_unknown=handle_unknown
            )
        )


def _schema_with_new_values(
    rows: TrainingRows, tree: Tree, reading: Reading, asked: Collection[str]
) -> Schema:
    """The schema of the tree with all that is new in the rows."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)  # it was shown when the rows were read
        fresh = Table.from_arrays(
            rows.X,
            rows.y,
            rows.weight,
            task=reading.task,
            categorical_features=reading.categorical_features,
            custom_features=reading.custom_features,
            target=get_target_name(rows.y),
        )
    return joined(tree.schema, fresh.schema, asked)


def joined(old: Schema, new: Schema, asked: Collection[str]) -> Schema:
    """The old schema with the new columns, and the ranges, categories and classes of both.

    A column that is of another kind now, as one that was empty before, is what it is now, unless it is asked
    about.
    """
    by_name = {feature.name: feature for feature in new.features}
    if lost := [name for name in old.names if name not in by_name]:
        raise SchemaMismatch(
            f"The new rows have no column {lost[0]!r}, which the deployed tree was trained with. Give it, "
            "with missing values if it is no longer known."
        )
    shared = Schema(tuple(by_name[name] for name in old.names), replace(new.target, name=old.target.name))
    known = [
        theirs if own.kind != theirs.kind and own.name not in asked else own
        for own, theirs in zip(old.features, shared.features, strict=True)
    ]
    wide = Schema(tuple(known), old.target).widen(shared)
    added = tuple(feature for feature in new.columns if feature.name not in old.names)
    custom_features = wide.features[len(wide.columns) :]
    return Schema((*wide.columns, *added, *custom_features), wide.target)


def with_ranges(table: Table) -> Table:
    """The table on a schema whose ranges hold its values."""
    features = tuple(map(_ranged, table.schema.features, table.columns))
    target = table.schema.target
    if not target.is_classes and not target.is_survival:
        low, high = _range(table.target, target)
        target = replace(target, low=low, high=high)
    return replace(table, schema=Schema(features, target))


def _ranged(feature: Feature, values: FloatArray) -> Feature:
    if feature.kind != "numeric":
        return feature
    low, high = _range(values[~np.isnan(values)], feature)
    return replace(feature, low=low, high=high)


def _range(values: FloatArray, scale: Feature | Target) -> tuple[float, float]:
    if not len(values):
        return scale.low, scale.high
    return min(scale.low, float(values.min())), max(scale.high, float(values.max()))


# -- age ------------------------------------------------------------------------------------------------


def weights_by_age(n_old: int, n_new: int, sample_weight: Any, age: Any, half_life: Any) -> Any:
    """The weights, of old rows and then of new ones, halved for every `half_life` of the age of a row.

    Without ages, old rows have the age 1 and new ones 0.
    """
    if half_life is None:
        if age is not None:
            raise ParameterError(
                "age and half_life belong together: how old rows are, and the age at which they count half."
            )
        return sample_weight
    if not isinstance(half_life, Real) or isinstance(half_life, bool) or not 0 < float(half_life) < np.inf:
        raise ParameterError(f"half_life={half_life!r} is out of range: it must be a number above 0.")
    if age is None and not n_old:
        raise ParameterError(
            "half_life needs to know how old rows are: give age=, one number per row, or X_old and y_old."
        )
    ages = np.repeat([1.0, 0.0], [n_old, n_new]) if age is None else _ages(age, n_old + n_new)
    # Against the youngest row, so that very old ones are not all without weight.
    factor = np.exp2(-(ages - ages.min()) / float(half_life))
    weight = read_weight(sample_weight, n_old + n_new)
    return factor if weight is None else weight * factor


def _ages(age: Any, n_rows: int) -> FloatArray:
    try:
        ages = np.asarray(age, np.float64).ravel()
    except (TypeError, ValueError):
        raise DataError("age must be numbers, such as years, and some are not.") from None
    if np.asarray(age).dtype.kind == "M":
        raise DataError("age is dates: give how long ago each row was, as a number.")
    if len(ages) != n_rows:
        raise DataError(f"age has {len(ages)} values, and there are {n_rows} rows: give one per row.")
    if not (np.isfinite(ages).all() and (ages >= 0).all()):
        raise DataError("age must be finite numbers of at least 0, and some are not.")
    return ages


# -- the update -----------------------------------------------------------------------------------------


def find_update(
    model: Any,
    rows: tuple[Any, Any, Any],
    *,
    old: Pair,
    strategy: str,
    tolerance: float,
    frozen: int | str | Sequence[int],
    groups: Any,
    age: Any,
    half_life: float | None,
    prior_rows: float | None,
    allow_new_values: bool,
    validation: float | None,
    policy: ChangePolicy | None,
    force: bool,
) -> tuple[TreeUpdate, KeyArray]:
    """The update of the tree of a fitted stable model, judged by the policy, and the hashes of its rows.

    Parameters are those of `StableTreeClassifier.update`; the model stays as it is.
    """
    if policy is not None and not isinstance(policy, ChangePolicy):
        raise ParameterError(
            f"policy must be a ChangePolicy, such as ChangePolicy.load('change.toml'), got {policy!r}."
        )
    (X, y, sample_weight), (X_old, y_old) = rows, old
    if not allow_new_values:
        try:
            X, X_old = model._matched(X), None if X_old is None else model._matched(X_old)
        except SchemaMismatch as error:
            raise offer_new_values(error) from None
    n_new, n_old = (0 if each is None else make_frame(each).n_rows for each in (X, X_old))
    weight = weights_by_age(n_old, n_new, sample_weight, age, half_life)
    early: Any = {"early": (X_old, y_old), "early_names": ("X_old", "y_old")}
    given = training_rows((X, y), weight, stage=None, groups=groups, **early)
    reading = Reading(
        model._task, model.categorical_features, model.schema_.custom_features, allow_new_values
    )
    new = update_rows(given, model.tree_, reading)
    if not force:
        check_enough(new)
    n_effective, hashes = model._n_rows_effective, find_unique_hashes(new.table)
    # Old rows that are handed over are those that the tree has learned from, as far as anyone knows.
    n_again = max(_estimate_overlap(model, hashes), min(n_effective, n_old))
    n_again = min(n_again, count_effective_rows(new.table.weight, new.table.n_rows))
    carried = max(n_effective - n_again, 0.0) if prior_rows is None else None
    prior_rows = default_prior_rows(n_effective, n_again) if prior_rows is None else prior_rows
    schema, reference_trees = new.table.schema, []
    for tree in vars(model).get("reference_trees_", ()):
        with suppress(SchemaMismatch):  # it splits on a column that is of another kind now
            reference_trees.append(project_to_reference(tree, schema))
    found = update_tree(
        project_to_reference(model.tree_, schema),
        new,
        model._update_settings(),
        UpdateSettings(
            strategy, tolerance, parse_frozen(frozen, model.tree_), validation, prior_rows, carried
        ),
        own_loss=vars(model).get("teacher_loss_", 0.0),
        more=tuple(reference_trees),
        rule=model._selection_rule(),
        references=model.references_,
    )
    return found.judge(policy, force=force), hashes


def _estimate_overlap(model: Any, hashes: KeyArray) -> int:
    """About how many of the rows that the tree has learned from are among those with these hashes."""
    known = vars(model).get("_row_hashes", np.zeros(0, np.uint64))
    return round(model._n_rows_effective * float(np.isin(known, hashes).mean())) if len(known) else 0


def is_wider(schema: Schema, before: Schema) -> bool:
    """True if the schema has other columns, categories or classes than before; ranges do not count."""
    known = [[(each.name, each.kind, each.categories) for each in one.features] for one in (schema, before)]
    return known[0] != known[1] or schema.target.classes != before.target.classes
