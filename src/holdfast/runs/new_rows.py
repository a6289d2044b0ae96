"""New rows of a file or a frame, read in the types of a model's schema."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from holdfast._text import columns_text, quoted
from holdfast.data.dates import DateColumn, find_date_source, parse_date_columns
from holdfast.data.encode import encode_rows, list_required_columns
from holdfast.data.frame import Frame
from holdfast.data.read import ColumnChoices, CsvSource, FrameSource, open_source
from holdfast.data.read_options import ReadingOptions
from holdfast.data.schema import Feature, Schema, SchemaDifferences, Target
from holdfast.data.survival import make_risk_target
from holdfast.data.table import Table
from holdfast.data.target import match_target
from holdfast.data.target_columns import TargetColumns
from holdfast.distance.diff_rows import prepare_table
from holdfast.distance.reference_schema import widen_schemas
from holdfast.errors import DataError, ModelFileError, SchemaMismatch
from holdfast.io.model_file import load_model
from holdfast.runs.folder import model_file
from holdfast.tree.ensemble import Ensemble
from holdfast.tree.tree import LEAF, Tree

TRUTHS = {"true": True, "false": False}
NO_OTHERS = ColumnChoices()


def read_features(
    source: CsvSource | FrameSource, model: Tree | Ensemble, rules: ReadingOptions, also: Iterable[int] = ()
) -> Frame:
    """Read the columns that the model splits on, and the features of `also`, in the types of its schema."""
    used = sorted({*_split_features(model), *also})
    return read_columns(source, _columns(model.schema, used), rules)


def read_rows_of_both(
    source: CsvSource | FrameSource,
    old: Tree,
    new: Tree,
    targets: TargetColumns | None,
    weight: str | None,
    rules: ReadingOptions,
    untyped: Sequence[str] = (),
    also: Sequence[str] = (),
) -> tuple[Frame, Any, Any]:
    """Read the columns that either tree splits on, both on one schema, the target and the weights.

    All of them are in the frame. `untyped` names columns whose types are those of their cells, `also`
    features that are read as well.
    """
    names = old.schema.names
    used = sorted({*_split_features(old), *_split_features(new), *(names.index(name) for name in also)})
    features = [*_columns(old.schema, used), *([Feature(weight)] if weight else [])]
    if targets is None:
        frame, y = read_columns(source, features, rules, others=ColumnChoices(roles=untyped)), None
    else:
        frame = read_target(source, targets, old.schema.target, features, rules, untyped)
        y = targets.read(frame)
    return frame, y, frame.column(weight) if weight else None


def read_known_rows(
    source: CsvSource | FrameSource,
    model: Tree | Ensemble,
    also: Iterable[int],
    target: str | None,
    rules: ReadingOptions,
) -> Table:
    """Read rows with their target on the schema of the model.

    Only the features that the model splits on, and those of `also`, are read: all others count as missing.
    """
    schema, features = model.schema, sorted({*_split_features(model), *also})
    targets = TargetColumns.of(schema.target, name=target)
    for role, name in targets.roles(source.names).items():
        if name not in source.names:
            raise DataError(
                f"There is no column {name!r} in {source.name}, for the {role}: name the column with "
                f"target. {columns_text([name], source.names)}"
            )
    frame = read_target(source, targets, schema.target, _columns(schema, features), rules)
    y, survival = targets.read(frame), None
    if schema.target.hazard is not None:
        target_values, _, survival = make_risk_target(y, None, schema.target.hazard)
    else:
        differences = SchemaDifferences()
        target_values = match_target(y, schema.target, None, differences, frame.rows)
        differences.raise_if_any()
    matrix = encode_rows(frame.without(targets.names), schema, features)
    columns = {feature: matrix[:, place] for place, feature in enumerate(features)}
    unread = np.full(frame.n_rows, np.nan)
    values = tuple(columns.get(each, unread) for each in range(len(schema.features)))
    return Table(schema, values, target_values, survival=survival)


def read_target(
    source: CsvSource | FrameSource,
    targets: TargetColumns,
    target: Target,
    features: Sequence[Feature],
    rules: ReadingOptions,
    untyped: Sequence[str] = (),
) -> Frame:
    """Read these features and the target; columns of `untyped` are read in the types of their cells."""
    roles = [*untyped, *(targets.roles(source.names).values() if targets.is_survival else ())]
    known = [*features, *targets.features(target)]
    return targets.read_event(read_columns(source, known, rules, others=ColumnChoices(roles=roles)))


def read_columns(
    source: CsvSource | FrameSource,
    features: Iterable[Feature],
    rules: ReadingOptions,
    *,
    others: ColumnChoices = NO_OTHERS,
    rest: bool = False,
    needs: str = "Cannot predict: {} has no column {}, and the model splits on {}.",
) -> Frame:
    """Read the columns of these features in their types, and the `others` that have a role.

    Further columns are left unread; or, with `rest`, read in the types of their cells. `needs` is the message
    on missing columns.
    """
    names = source.names
    known = {feature.name: feature for feature in features}
    dates = _dates(known, names, rules)
    needed = {column.name for column in dates} | {name for name in known if not _is_derived(name, dates)}
    needed |= set(others.roles)
    if missing := sorted(name for name in needed if name not in names):
        source.read(ColumnChoices(categorical=names), replace(rules, dates=()))  # is it a table at all?
        they = "it" if len(missing) == 1 else "them"
        raise SchemaMismatch(
            f"{needs.format(source.name, quoted(missing, 30), they)} {columns_text(missing, names)}"
        )
    if not needed:
        needed = {names[0]}  # of a tree without splits: only the number of rows matters
    texts = [name for name in needed if name in known and is_text(known[name])] if known else names
    choices = ColumnChoices(
        categorical=[*texts, *others.categorical],
        numeric=[name for name in needed if name in known and _is_number(known[name])],
        drop=others.drop if rest else [name for name in names if name not in needed],
        roles=others.roles,
        known={name: feature.categories for name, feature in known.items()},
    )
    frame = source.read(choices, replace(rules, dates=tuple(map(_date_text, dates))))
    columns = [
        _convert_truths(column) if name in known and _is_truth(known[name]) else column
        for name, column in zip(frame.names, frame.columns, strict=True)
    ]
    return replace(frame, columns=columns)


# -- what is needed ---------------------------------------------------------------------------------------


def _columns(schema: Schema, features: Sequence[int]) -> list[Feature]:
    """The columns that these features are made of."""
    names = set(list_required_columns(schema, features))
    return [feature for feature in schema.columns if feature.name in names]


def _split_features(model: Tree | Ensemble) -> list[int]:
    """The features that the model splits on."""
    trees = model.trees if isinstance(model, Ensemble) else [model]
    return sorted({index for tree in trees for index in np.unique(tree.feature).tolist() if index != LEAF})


def _dates(known: Iterable[str], names: tuple[str, ...], rules: ReadingOptions) -> list[DateColumn]:
    """The columns of dates that features of the model were made of, with the order of day and month."""
    orders = {column.name: column.order for column in parse_date_columns(rules.dates, names)}
    sources = {find_date_source(name) for name in known if name not in names}
    return [
        replace(source, order=orders.get(source.name))
        for source in sorted(filter(None, sources), key=lambda source: (source.name, source.form))
    ]


def _is_derived(name: str, dates: Iterable[DateColumn]) -> bool:
    return any(name in source.derived for source in dates)


def _date_text(column: DateColumn) -> str:
    return ":".join(filter(None, (column.name, column.form, column.order)))


# -- columns ---------------------------------------------------------------------------------------------


def is_text(feature: Feature) -> bool:
    """True if the feature has texts for categories."""
    return any(isinstance(label, str) for label in feature.categories)


def _is_number(feature: Feature) -> bool:
    return not is_text(feature) and not _is_truth(feature)


def _is_truth(feature: Feature) -> bool:
    return bool(feature.categories) and all(isinstance(label, bool) for label in feature.categories)


def _convert_truths(column: Any) -> Any:
    """Convert the texts True and False to booleans; another column stays as it is."""
    if not (isinstance(column, np.ndarray) and column.dtype == object):
        return column
    texts: list[Any] = column.tolist()
    if not all(text is None or text.strip().lower() in TRUTHS for text in texts):
        return column
    return np.array([None if text is None else TRUTHS[text.strip().lower()] for text in texts], object)


# -- rows to compare two trees on -------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class ComparedRows:
    """Two trees on one schema, and the rows to compare them on."""

    old: Tree
    new: Tree
    table: Table
    columns: dict[str, Any]  # that are no features, as they were read


def load_tree(path: Path) -> Tree:
    """Load the tree of a model file or a run folder; a ModelFileError if it is an ensemble."""
    model = load_model(model_file(path))
    if not isinstance(model, Tree):
        raise ModelFileError(
            f"'{path}' contains an ensemble of {len(model.trees)} trees, and only single trees are compared."
        )
    return model


def read_compared(
    trees: tuple[Tree, Tree],
    path: Path,
    rules: ReadingOptions,
    *,
    target: str | None = None,
    weight: str | None = None,
    columns: Sequence[str] = (),
    also: Sequence[str] = (),
) -> ComparedRows:
    """Read the rows of a file in the types of the trees' schemas, with further `columns`.

    The features of `also` are read even where neither tree splits on them.
    """
    old, new = widen_schemas(*trees)
    targets = TargetColumns.of(old.schema.target, name=target)
    with open_source(path, rules.encoding) as source:
        roles = [*targets.roles(source.names).values(), *([weight] if weight else [])]
        if absent := [name for name in (*roles, *columns) if name not in source.names]:
            raise DataError(
                f"There is no column {quoted(absent)} in {source.name}. {columns_text(absent, source.names)}"
            )
        frame, y, weights = read_rows_of_both(source, old, new, targets, weight, rules, columns, also)
    table = prepare_table(old, new, frame.without([*targets.names, *roles]), y, weights)
    known = {name: frame.column(name) for name in columns if name not in table.schema.names}
    return ComparedRows(old, new, table, known)
