"""Rows to predict for, read in the types that a model knows their columns by."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from holdfast.data.files.dates import DateColumn, date_columns, date_source
from holdfast.data.files.reading import Choices, CsvSource, FrameSource
from holdfast.data.files.reading_options import ReadingOptions
from holdfast.data.input.frame import Frame
from holdfast.data.input.rows import columns_asked
from holdfast.data.schema import Feature, Label
from holdfast.errors import SchemaMismatch
from holdfast.text.lists import listed
from holdfast.tree.ensemble import Ensemble
from holdfast.tree.tree import LEAF, Tree

TRUTHS = {"true": True, "false": False}
NO_OTHERS = Choices()


def read_features(
    source: CsvSource | FrameSource,
    model: Tree | Ensemble,
    rules: ReadingOptions,
    *,
    others: Sequence[Tree] = (),
    also: Mapping[str, Sequence[Label]] | None = None,
) -> Frame:
    """The columns that the model asks about, in the types that it knows them by; others are left unread.

    `others` are further trees on its schema. `also` names columns that are no features, with their classes if
    they are known.
    """
    also = also or {}
    asked = set(columns_asked(model.schema, _asked([model, *others])))
    known = {feature.name: feature for feature in model.schema.columns if feature.name in asked}
    known |= {
        name: Feature(name, "nominal", categories=tuple(labels)) for name, labels in also.items() if labels
    }
    return read_known(source, known, rules, others=Choices(roles=[*also]))


def read_known(
    source: CsvSource | FrameSource,
    known: Mapping[str, Feature],
    rules: ReadingOptions,
    *,
    others: Choices = NO_OTHERS,
    rest: bool = False,
    needs: str = "Cannot predict: {} has no column {}, and the model asks about {}.",
) -> Frame:
    """The columns of these features in their types, and the `others` that have a role.

    All further columns are left unread; or, with `rest`, read as their cells and the others' choices say.
    `needs` is what is said of columns that are not there.
    """
    names = source.names
    dates = _dates(known, names, rules)
    needed = {column.name for column in dates} | {name for name in known if not _is_derived(name, dates)}
    needed |= set(others.roles)
    if missing := sorted(name for name in needed if name not in names):
        source.read(Choices(categorical=names), replace(rules, dates=()))  # is it a table at all?
        they = "it" if len(missing) == 1 else "them"
        raise SchemaMismatch(
            f"{needs.format(source.name, listed(missing, 30), they)} Its columns are {listed(names, 30)}."
        )
    if not needed:
        needed = {names[0]}  # of a tree that asks nothing, the rows count
    unread = others.drop if rest else [name for name in names if name not in needed]
    texts = [name for name in needed if name in known and is_text(known[name])] if known else names
    choices = Choices(
        categorical=[*texts, *others.categorical],
        numeric=[name for name in needed if name in known and _is_number(known[name])],
        drop=unread,
        roles=others.roles,
        known={name: feature.categories for name, feature in known.items()},
    )
    frame = source.read(choices, replace(rules, dates=tuple(map(_spelt, dates))))
    columns = [
        _truths(column) if name in known and _is_truth(known[name]) else column
        for name, column in zip(frame.names, frame.columns, strict=True)
    ]
    return replace(frame, columns=columns)


# -- what is needed ---------------------------------------------------------------------------------------


def _asked(models: Sequence[Tree | Ensemble]) -> list[int]:
    """The features that the models, on one schema, ask about."""
    trees = [tree for each in models for tree in (each.trees if isinstance(each, Ensemble) else [each])]
    return sorted({index for tree in trees for index in np.unique(tree.feature).tolist() if index != LEAF})


def _dates(known: Iterable[str], names: tuple[str, ...], rules: ReadingOptions) -> list[DateColumn]:
    """The columns of dates that features of the model were made of, and in which order they are written."""
    orders = {column.name: column.order for column in date_columns(rules.dates, names)}
    sources = {date_source(name) for name in known if name not in names}
    return [
        replace(source, order=orders.get(source.name))
        for source in sorted(filter(None, sources), key=lambda source: (source.name, source.form))
    ]


def _is_derived(name: str, dates: Iterable[DateColumn]) -> bool:
    return any(name in source.derived for source in dates)


def _spelt(column: DateColumn) -> str:
    return ":".join(filter(None, (column.name, column.form, column.order)))


# -- columns ---------------------------------------------------------------------------------------------


def is_text(feature: Feature) -> bool:
    """True if the feature has texts for categories."""
    return any(isinstance(label, str) for label in feature.categories)


def _is_number(feature: Feature) -> bool:
    return not is_text(feature) and not _is_truth(feature)


def _is_truth(feature: Feature) -> bool:
    return bool(feature.categories) and all(isinstance(label, bool) for label in feature.categories)


def _truths(column: Any) -> Any:
    """The texts True and False, in any case, as what they mean; a column of another kind as it is."""
    if not (isinstance(column, np.ndarray) and column.dtype == object):
        return column
    texts: list[Any] = column.tolist()
    if not all(text is None or text.strip().lower() in TRUTHS for text in texts):
        return column
    return np.array([None if text is None else TRUTHS[text.strip().lower()] for text in texts], object)
