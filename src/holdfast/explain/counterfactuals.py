"""The smallest changes of a row that lead it to another leaf: exact, leaf by leaf.

A leaf has one condition on each feature, so the cheapest change is the cheapest one of each column by itself.
A custom feature over several columns cannot be changed directly: leaves that need another value of one are
left out, and the result lists these features.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import floor, inf, isfinite, log10, nextafter
from typing import Any

import numpy as np

from holdfast._check import check_number
from holdfast._text import columns_text
from holdfast.data.custom_features import CustomFeature, parse_custom_feature
from holdfast.data.encode import encode_rows, match_column, name_columns
from holdfast.data.frame import Frame, make_frame
from holdfast.data.schema import Feature, Label, Schema
from holdfast.errors import DataError, DataWarning, ParameterError
from holdfast.tree.leaf_evidence import LeafOutcome, leaf_outcome
from holdfast.tree.rules import Condition, count_rows, list_conditions
from holdfast.tree.tree import KNOWN, LEAF, Tree

ROUNDING = 0.005  # of the range: what a number may go past its threshold to be a round one
LAST_DIGITS = 12  # of a cost; two that agree in these are equal


@dataclass(frozen=True)
class ValueChange:
    """Another value for one column of a row."""

    column: str
    old: Value  # None if it is missing
    new: Label
    cost: float  # a fraction of the range of numbers; of categories, the cost of a change
    alternatives: tuple[Label, ...] = ()  # other categories with the same result
    # Training rows of the leaf that had the column recorded, where some had not: NaN if they were not
    # counted, None if all had it or the tree does not know.
    n_recorded: float | None = None


@dataclass(frozen=True)
class Counterfactual:
    """A change of a row, and its outcome.

    Attributes
    ----------
    changes : tuple of ValueChange
        The columns that change, with old and new values.
    cost : float
        Sum of the costs of the changes.
    outcome : LeafOutcome
        The leaf that the changed row reaches.
    """

    changes: tuple[ValueChange, ...]
    cost: float
    outcome: LeafOutcome

    @property
    def values(self) -> dict[str, Label]:
        """The new values by column: `{**row, **counterfactual.values}` is the changed row."""
        return {change.column: change.new for change in self.changes}

    @property
    def is_recorded(self) -> bool:
        """False if most rows of the leaf are known to lack a value that changes."""
        counts = [each.n_recorded for each in self.changes if each.n_recorded is not None]
        return not any(2 * n_recorded < self.outcome.n_rows for n_recorded in counts)


@dataclass(frozen=True)
class ChangeLimits:
    """The columns that may change, and the cost of a category."""

    fixed: Sequence[str] = ()
    only_increase: Sequence[str] = ()
    only_decrease: Sequence[str] = ()
    category_cost: float = 1.0

    def check(self, schema: Schema) -> None:
        """Raise a ParameterError if a column is unknown, or has no direction."""
        kinds = {feature.name: feature.kind for feature in schema.columns}
        for option in ("fixed", "only_increase", "only_decrease"):
            names = getattr(self, option)
            if isinstance(names, str):
                raise ParameterError(f"{option}={names!r} is one text: give a list, such as [{names!r}].")
            for name in names:
                if name not in kinds:
                    raise ParameterError(
                        f"{option}={name!r} is not a column of the model. {columns_text([name], [*kinds])}"
                    )
                if option != "fixed" and kinds[name] == "nominal":
                    raise ParameterError(
                        f"{option}={name!r} has categories without an order: leave it out, or make it fixed."
                    )
        check_number("category_cost", self.category_cost)

    def allow(self, name: str, step: float) -> bool:
        """Return True if the column may change by the step; NaN for one without a direction."""
        if name in self.fixed:
            return False
        return not (step < 0 and name in self.only_increase) and not (step > 0 and name in self.only_decrease)


def counterfactuals(
    row: RowValues, leaves: Sequence[int], limits: ChangeLimits, most: int, positive: Label | None = None
) -> tuple[tuple[Counterfactual, ...], tuple[str, ...]]:
    """Find the cheapest changes that lead the row to one of these leaves, at most `most` of them.

    Returns them with the custom features that block the way to other leaves.

    One that changes all that a cheaper one changes, and more, is left out. Of two that cost the same, the one
    that changes fewer columns comes first, then the one of the first leaf. Those to leaves of which most
    training rows lacked a value that changes come last.
    """
    whole = _whole_columns(row)
    found: list[Counterfactual] = []
    blocking_features: set[str] = set()
    for leaf in leaves:
        conditions = list_conditions(row.tree, leaf)
        codes = _cheapest_codes(row, conditions, limits, whole)
        if codes is None:
            continue
        changed = row.with_codes(codes)
        if changed.leaf == leaf:
            found.append(
                _make_counterfactual(row, codes, conditions, leaf_outcome(row.tree, leaf, positive), limits)
            )
        else:
            blocking_features.update(_find_blocking(changed, conditions))
    found.sort(
        key=lambda each: (
            not each.is_recorded,
            round(each.cost, LAST_DIGITS),
            len(each.changes),
            each.outcome.leaf,
        )
    )
    return tuple(_drop_supersets(found))[:most], tuple(sorted(blocking_features))


def _drop_supersets(found: Sequence[Counterfactual]) -> Iterator[Counterfactual]:
    """Leave out those that change all columns of a cheaper one, and more."""
    before: list[set[str]] = []
    for each in found:
        columns = set(each.values)
        if not any(cheaper <= columns for cheaper in before):
            before.append(columns)
            yield each


def _find_blocking(changed: RowValues, conditions: Mapping[int, Condition]) -> Iterator[str]:
    """List the custom features of which the leaf needs another value than the changed row has."""
    for feature in changed.custom_features:
        if feature in conditions and not _meets(changed.code(feature), conditions[feature]):
            yield changed.tree.schema.features[feature].name


# -- the cheapest change of each column -------------------------------------------------------------------


def _cheapest_codes(
    row: RowValues, conditions: Mapping[int, Condition], limits: ChangeLimits, whole: set[int]
) -> dict[int, float] | None:
    """Find the columns that must change, with their new codes; None if one of them cannot."""
    codes: dict[int, float] = {}
    for feature, condition in conditions.items():
        if feature in row.custom_features or _meets(row.codes[feature], condition):
            continue
        old = row.codes[feature]
        new = _nearest_code(old, condition, feature in whole)
        if new is None or not limits.allow(
            condition.name, np.nan if condition.feature.is_subset else new - old
        ):
            return None
        codes[feature] = new
    return codes


def _meets(code: float, condition: Condition) -> bool:
    if code != code:
        return condition.missing
    if condition.feature.is_subset:
        return condition.feature.categories[int(code)] in condition.categories
    return condition.low < code <= condition.high


def _nearest_code(code: float, condition: Condition, is_whole: bool) -> float | None:
    """Find the nearest code that the condition allows; None if it allows no known one."""
    if condition.is_empty:
        return None
    categories = condition.feature.categories
    if categories:
        allowed = [categories.index(label) for label in condition.categories]
        if condition.feature.is_subset:
            return float(allowed[0])
        middle = (allowed[0] + allowed[-1]) / 2
        return float(min(allowed, key=lambda place: abs(place - (middle if code != code else code))))
    least, most = condition.feature.low, condition.feature.high
    if condition.low > most or condition.high < least:
        return None  # no row of the data was there
    if code != code:
        low, high = condition.bounds
        code = low / 2 + high / 2
    # The range of a tree of another library ends at its last thresholds; values may go past them.
    high = min(condition.high, most) if condition.low < most else condition.high
    return _round_inside(max(condition.low, nextafter(least, -inf)), high, code, condition.feature, is_whole)


def _round_inside(low: float, high: float, code: float, feature: Feature, is_whole: bool) -> float | None:
    """Find the roundest number of the interval near its point nearest to the code."""
    nearest, reach = min(max(code, low), high), ROUNDING * _length(feature)
    first = 0 if is_whole else -floor(log10(reach)) - 3
    for decimals in [0] if is_whole else range(first, first + 20):
        number = _round(nearest, decimals, -1 if code > high else 1 if code <= low else 0)
        if low < number <= high and (is_whole or abs(number - nearest) <= reach):
            return number
    if is_whole:
        return None
    return nextafter(low, inf) if code <= low else nearest


def _round(number: float, decimals: int, way: int) -> float:
    """Round to `decimals`: to the next number above (1), the last not above (-1), or the nearest (0)."""
    unit = 10.0**-decimals
    if not isfinite(number / unit):
        return number
    steps = floor(number / unit) + 1 if way > 0 else floor(number / unit) if way < 0 else round(number / unit)
    return round(steps * unit, decimals) + 0.0


def _length(feature: Feature) -> float:
    return feature.high - feature.low or 1.0


def _whole_columns(row: RowValues) -> set[int]:
    """Find the numeric columns of whole numbers, by range, thresholds and the row."""
    tree = row.tree
    return {feature for feature in row.codes if _is_whole(tree, feature, row.codes[feature])}


def _is_whole(tree: Tree, feature: int, code: float) -> bool:
    known = tree.schema.features[feature]
    thresholds = tree.threshold[(tree.feature == feature) & (tree.threshold < KNOWN)]
    ends = [known.low, known.high, *([] if code != code else [code])]
    halves = [2 * threshold for threshold in thresholds.tolist()]  # halfway between two whole numbers
    return known.kind == "numeric" and all(float(each).is_integer() for each in [*ends, *halves])


# -- changes in the units of the data -------------------------------------------------------------------


def _make_counterfactual(
    row: RowValues,
    codes: Mapping[int, float],
    conditions: Mapping[int, Condition],
    outcome: LeafOutcome,
    limits: ChangeLimits,
) -> Counterfactual:
    changes = tuple(
        _make_change(row, each, code, count_rows(row.tree, outcome.leaf, each, conditions[each]), limits)
        for each, code in codes.items()
    )
    return Counterfactual(changes, sum(change.cost for change in changes), outcome)


def _make_change(
    row: RowValues, place: int, code: float, condition: Condition, limits: ChangeLimits
) -> ValueChange:
    feature, old = row.tree.schema.features[place], row.codes[place]
    new = decode_value(row.tree, place, code)
    assert new is not None
    has_distance = not feature.is_subset and old == old
    return ValueChange(
        column=feature.name,
        old=row.value(place),
        new=new,
        cost=abs(code - old) / _length(feature) if has_distance else limits.category_cost,
        alternatives=tuple(each for each in condition.categories if each != new) if feature.is_subset else (),
        n_recorded=condition.n_known if condition.has_missing_rows else None,
    )


# -- One row as a tree reads it ------------------------------------------------------------------------------

Value = Label | None  # of a cell: a number or a category; None if it is missing


def row_frame(x: Any) -> Frame:
    """Make a frame of one row: of a mapping or a series by its names, of a flat list by position.

    >>> row_frame({"age": 70, "ward": "B"}).names
    ('age', 'ward')
    """
    if getattr(x, "ndim", None) == 1 and hasattr(x, "to_dict"):  # a series of pandas: a row of a frame
        x = x.to_dict()
    if isinstance(x, Mapping):
        return Frame(tuple(map(str, x)), [_cell(value) for value in x.values()], 1)
    frame = make_frame([x] if _is_flat(x) else x)
    if frame.n_rows != 1:
        raise DataError(
            f"explain_row explains one row, and x has {frame.n_rows}. Take one of them, such as X.iloc[[0]] "
            "or X[0], or call it once for each."
        )
    return frame


def _is_flat(x: Any) -> bool:
    if isinstance(x, np.ndarray):
        return x.ndim == 1
    return isinstance(x, list | tuple) and not any(
        isinstance(each, Sequence | np.ndarray) for each in x if not isinstance(each, str)
    )


def _cell(value: Any) -> Any:
    if isinstance(value, bool | int | float | np.number | np.bool_):
        return np.array([value])
    if isinstance(value, Mapping | Sequence | np.ndarray) and not isinstance(value, str):
        raise DataError(
            f"explain_row explains one row: each column has one value, and here one has {value!r}."
        )
    column = np.empty(1, object)
    column[0] = value
    return column


@dataclass(frozen=True, eq=False)
class RowValues:
    """The columns of a row that a tree splits on, or its custom features read, encoded by the schema."""

    tree: Tree
    codes: Mapping[int, float]  # by the place of the feature; NaN if it is missing, or unseen
    unseen: Mapping[int, Label]  # categories that the schema does not hold
    custom_features: Mapping[int, CustomFeature]  # of the tree, by the place of the feature

    @classmethod
    def of(
        cls, tree: Tree, frame: Frame, *, handle_unknown: str = "missing", handle_missing: str = "learned"
    ) -> RowValues:
        """Encode the row of a frame, which has all columns that the tree needs."""
        schema = tree.schema
        features = [each for each in np.unique(tree.feature).tolist() if each != LEAF]
        custom_features = {
            each: parse_custom_feature(schema.features[each].name, schema.columns)
            for each in features
            if schema.features[each].kind == "custom"
        }
        read = {column for custom_feature in custom_features.values() for column in custom_feature.columns}
        columns = sorted(read.union(each for each in features if each not in custom_features))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DataWarning)  # the explanation names unseen values
            row = encode_rows(
                frame, schema, columns, handle_unknown=handle_unknown, handle_missing=handle_missing
            )[0].tolist()
        codes = dict(zip(columns, row, strict=True))
        unseen = {each: label for each in columns if (label := _unseen(tree, each, frame)) is not None}
        return cls(tree, codes, unseen, custom_features)

    def with_codes(self, changes: Mapping[int, float]) -> RowValues:
        """Return the row with these columns changed."""
        unseen = {each: label for each, label in self.unseen.items() if each not in changes}
        return replace(self, codes={**self.codes, **changes}, unseen=unseen)

    def code(self, feature: int) -> float:
        """Return the code of the feature; of a custom feature, its value."""
        custom_feature = self.custom_features.get(feature)
        if custom_feature is None:
            return self.codes[feature]
        return float(
            custom_feature.evaluate([np.array([self.codes[each]]) for each in custom_feature.columns])[0]
        )

    def value(self, feature: int) -> Value:
        """Return the value of the feature in the data; None if it is missing."""
        return decode_value(self.tree, feature, self.code(feature), self.unseen.get(feature))

    @property
    def path(self) -> list[tuple[int, bool]]:
        """The inner nodes that the row passes, each with True if it goes left."""
        tree, node, passed = self.tree, 0, []
        while tree.feature[node] != LEAF:
            is_left = self._goes_left(node)
            passed.append((node, is_left))
            node = int(tree.left[node] if is_left else tree.right[node])
        return passed

    @property
    def leaf(self) -> int:
        """The leaf that the row reaches."""
        if not (path := self.path):
            return 0
        node, is_left = path[-1]
        return int(self.tree.left[node] if is_left else self.tree.right[node])

    def _goes_left(self, node: int) -> bool:
        feature = int(self.tree.feature[node])
        code = self.code(feature)
        if code != code:
            return bool(self.tree.missing_left[node])
        if self.tree.schema.features[feature].is_subset:
            return bool(self.tree.left_categories(node)[int(code)])
        return code <= float(self.tree.threshold[node])


def decode_value(tree: Tree, feature: int, code: float, unseen: Label | None = None) -> Value:
    """Return the number or category of a code; None if it is missing."""
    if code != code:
        return unseen
    categories = tree.schema.features[feature].categories
    return categories[int(code)] if categories else code


def _unseen(tree: Tree, column: int, frame: Frame) -> Label | None:
    """The category of the row in this column that the schema does not hold."""
    feature = tree.schema.features[column]
    if feature.kind == "numeric":
        return None
    match = match_column(
        name_columns(tree.schema, frame).column(feature.name), feature, f"column {feature.name!r}"
    )
    return next(iter(match.unknown), None)
