"""A change held against a policy. To add a line is to add a field to the policy and a function here."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from holdfast.data.input.columns import Column, read_column
from holdfast.data.input.frame import as_vector, make_frame
from holdfast.data.schema import Target
from holdfast.data.table import Table
from holdfast.distance.diff.tree_diff import TreeDiff, tree_diff
from holdfast.errors import DataError, ParameterError, PolicyError
from holdfast.scoring.metric import make_metric
from holdfast.stability.policy import judged_rows, judged_trees
from holdfast.stability.policy.change import Change
from holdfast.stability.policy.nearest import nearest
from holdfast.stability.policy.policy import ChangePolicy
from holdfast.stability.policy.verdict import PolicyLine, PolicyVerdict

Judge = Callable[[str, Change], Iterator[PolicyLine]]

# Line: who judges it. The other lines only say how.
JUDGES: dict[str, Judge] = {
    "leaf_values": judged_trees.leaf_values,
    "thresholds": judged_trees.splits,
    "categories": judged_trees.splits,
    "missing_sides": judged_trees.splits,
    "new_splits": judged_trees.splits,
    "gone_splits": judged_trees.splits,
    "new_root": judged_trees.new_root,
    "max_changed_rules": judged_trees.max_changed_rules,
    "max_threshold_shift": judged_trees.max_threshold_shift,
    "threshold_intervals": judged_trees.threshold_intervals,
    "max_distance": judged_trees.max_distance,
    "max_churn": judged_rows.max_churn,
    "max_flips": judged_rows.max_flips,
    "max_negative_flips": judged_rows.max_negative_flips,
    "score_margin": judged_rows.score_margin,
    "subgroups": judged_rows.subgroups,
    "observed_expected": judged_rows.observed_expected,
    "calibration_intercept": judged_rows.calibration_intercept,
    "calibration_slope": judged_rows.calibration_slope,
    "min_leaf_rows": judged_rows.min_leaf_rows,
}


def checked(
    policy: ChangePolicy,
    old: Any,
    new: Any,
    table: Table,
    *,
    subgroups: Any = None,
    diff: TreeDiff | None = None,
) -> PolicyVerdict:
    """The verdict on a change, judged by the rows of the table. See `ChangePolicy.check`."""
    columns = {name: _column(name, table, _given(subgroups, table.n_rows)) for name in policy.subgroups}
    change = Change(policy, tree_diff(old, new) if diff is None else diff, table, columns)
    _check_scoring(policy.scoring, change.diff.old.schema.target)
    stated = [name for name in JUDGES if getattr(policy, name) not in (None, (), {})]
    lines = tuple(line for name in stated for line in JUDGES[name](name, change))
    return PolicyVerdict(policy, lines, int(change.counted.sum()))


def _check_scoring(scoring: str | None, target: Target) -> None:
    try:
        make_metric(scoring, target)
    except ParameterError as error:
        why = str(error).removeprefix(f"scoring={scoring!r} ")
        raise PolicyError(f"The line scoring is {scoring!r}, which {why}") from error


def _given(subgroups: Any, n_rows: int) -> dict[str, Any]:
    """The columns that were given besides the table, by name."""
    if subgroups is None:
        return {}
    if isinstance(subgroups, Mapping):
        columns = {name: as_vector(values, f"subgroups[{name!r}]") for name, values in subgroups.items()}
    else:
        frame = make_frame(subgroups)
        columns = dict(zip(frame.names, frame.columns, strict=True))
    for name, values in columns.items():
        if len(values) != n_rows:
            raise DataError(
                f"subgroups[{name!r}] has {len(values)} values, and the table has {n_rows} rows: give one "
                "value per row."
            )
    return columns


def _column(name: str, table: Table, given: Mapping[str, Any]) -> Column:
    """The column that subgroups are made by."""
    if name in given:
        return read_column(given[name], f"subgroups[{name!r}]")
    known = dict(zip(table.schema.names, zip(table.schema.features, table.columns, strict=True), strict=True))
    if name not in known:
        raise PolicyError(
            f"The line subgroups names the column {name!r}, which the rows do not have: "
            f"{nearest(name, [*known, *given])} A column that is no feature can be given by subgroups=."
        )
    feature, values = known[name]
    kind = "nominal" if feature.kind == "question" else feature.kind
    return Column(kind, values, feature.categories)
