"""The rows for fitting and for testing: folds that all models share, and resamples."""

import warnings
from dataclasses import dataclass, replace
from functools import cached_property
from math import sqrt
from numbers import Integral
from typing import Any

import numpy as np

from holdfast._arrays import BoolArray, FloatArray, LongArray
from holdfast._check import is_number
from holdfast._random import Branch, Stream, derive_seed, make_generator
from holdfast._text import join_parts, number_text, percent_text
from holdfast.data.folds import (
    Fold,
    assign_strata,
    draw_stable_folds,
    find_known_groups,
    pool_stages,
    read_folds,
    select_below,
    subset_groups,
)
from holdfast.data.schema import Feature, Schema, Target
from holdfast.data.table import Table
from holdfast.errors import DataError, DataWarning, ParameterError
from holdfast.evaluate.fit import EvaluationData
from holdfast.tree.rules import format_class_names

SMALL_EFFECT = 0.2  # of Cohen's h and d: smaller effects are negligible
CHANCE = 2.0  # standard errors
LEAST_KEPT = 0.5  # of the earlier rows
MOST_CLASSES = 4  # in a sentence


def make_folds(
    table: Table,
    cv: Any,
    *,
    stage: LongArray | None = None,
    groups: LongArray | None = None,
    strict_groups: bool = False,
    seed: int = 0,
) -> tuple[tuple[Fold, ...], tuple[str, ...]]:
    """Make the folds that all models share, with notes; rows without weight are in none of them.

    Groups are never divided, except by stages: earlier rows of a group are used for training, and its later
    rows are held out, unless `strict_groups` keeps whole groups apart there, too.
    """
    if strict_groups and groups is None:
        raise ParameterError(
            "strict_groups=True keeps whole groups apart and needs groups: give groups, or leave it out."
        )
    counted = np.ones(table.n_rows, np.bool_) if table.weight is None else table.weight > 0
    if stage is None and not is_number(cv):
        given = enumerate(read_folds(table, groups, cv))
        return tuple(_drop_unweighted(fold, ~counted, place) for place, fold in given), ()
    if stage is None:
        return tuple(draw_stable_folds(table, groups, cv, (seed, Branch.COMPARISON_FOLDS))), ()
    rows = np.flatnonzero(counted)
    own_stage, own_groups = np.unique(stage[counted], return_inverse=True)[1], subset_groups(groups, counted)

    def forward(apart: LongArray | None) -> tuple[Fold, ...]:
        return tuple(fold.spread(rows, table.n_rows) for fold in forward_folds(own_stage, cv, apart))

    if groups is None:
        return forward(None), ()
    if not strict_groups:
        return forward(None), (_describe_known_groups(forward(None), groups),)
    folds = forward(own_groups)
    return folds, (_describe_separation(table, forward(None), folds),)


def forward_folds(stage: LongArray, cv: Any, apart: LongArray | None = None) -> list[Fold]:
    """Hold out each stage but the first, and train on all earlier ones.

    If there are more stages than `cv` + 1, neighbours are pooled into `cv` + 1 stages of about equally many
    rows. Earlier rows of groups to be kept `apart` are not used for training.

    >>> [fold.times.tolist() for fold in forward_folds(np.array([0, 1, 1, 2]), 5)]
    [[1, 0, 0, 0], [1, 1, 1, 0]]
    """
    if not isinstance(cv, Integral) or isinstance(cv, bool) or int(cv) < 1:
        raise ParameterError(
            f"cv={cv!r} does not go with stage, which defines the folds: give their greatest number, from "
            "1, or leave stage out."
        )
    if stage.min() == stage.max():
        raise DataError(
            "stage has one value for all rows: give at least two, as later stages are predicted by earlier "
            "ones."
        )
    block = pool_stages(stage, int(cv) + 1)
    return [_make_forward_fold(block, number, apart) for number in range(1, int(block.max()) + 1)]


def _make_forward_fold(block: LongArray, number: int, apart: LongArray | None) -> Fold:
    held_out = np.asarray(block == number, np.bool_)
    training = block < number
    if apart is not None:
        training &= ~np.isin(apart, apart[held_out])
        if not training.any():
            raise DataError(
                f"All groups before stage {number + 1} of {int(block.max()) + 1} are also in it: kept "
                "strictly apart, no row is left for training. Leave strict_groups out, "
                "or give other groups."
            )
    return Fold(training.astype(np.int32), held_out)


def _describe_known_groups(folds: tuple[Fold, ...], groups: LongArray) -> str:
    known = sum(int(find_known_groups(groups, fold.training, fold.held_out).sum()) for fold in folds)
    held_out = sum(int(fold.held_out.sum()) for fold in folds)
    if not known:
        return "No row that is held out belongs to a group that is trained on."
    return (
        f"{known:,} of the {held_out:,} rows that are held out belong to groups that are used for training "
        "too, by their earlier rows, as in use."
    )


def _drop_unweighted(fold: Fold, dropped: BoolArray, place: int) -> Fold:
    kept = Fold(np.where(dropped, 0, fold.times).astype(np.int32), fold.held_out & ~dropped)
    if not kept.training.any() or not kept.held_out.any():
        raise DataError(f"All rows for training or for scoring in place {place} of cv have the weight 0.")
    return kept


def _describe_separation(table: Table, earlier: tuple[Fold, ...], kept: tuple[Fold, ...]) -> str:
    """Describe how many of the earlier rows remain with whole groups kept apart, and their target.

    Also warn if they are few, or if their target differs from that of all earlier rows.
    """
    values = table.target if table.survival is None else table.survival.event.astype(np.float64)
    before, training = (
        np.concatenate([values[fold.training] for fold in folds]) for folds in (earlier, kept)
    )
    n_rows = f"{len(training):,} of the {len(before):,} earlier rows"
    target = _target_text(table, before, training)
    is_other = is_shifted(table.schema.target, before, training)
    if is_other or len(training) < LEAST_KEPT * len(before):
        warnings.warn(
            f"Of the earlier rows, {len(training):,} of {len(before):,} remain with whole groups "
            f"kept apart, and they {'are not like the others' if is_other else 'are few'}: {target}. Without "
            "strict_groups the earlier rows of a group that comes back are used too.",
            DataWarning,
            stacklevel=4,
        )
    folds = f" over {len(kept)} folds" if len(kept) > 1 else ""
    return f"Whole groups are kept apart: {n_rows}{folds} are used for training, {target}."


def is_shifted(target: Target, before: Any, training: Any) -> bool:
    """Return True if the targets `training` differ from those `before` significantly and relevantly.

    The effect is Cohen's h of a class share (the greatest), or d of a mean.

    >>> before, training = np.repeat([0, 1], [900, 100]), np.repeat([0, 1], [500, 100])
    >>> is_shifted(Target(classes=("no", "yes")), before, training)
    False
    """
    if target.is_classes:
        n_classes = len(target.classes)
        angles = [2 * np.arcsin(np.sqrt(_class_shares(values, n_classes))) for values in (training, before)]
        effect = float(np.abs(angles[0] - angles[1]).max())
    else:
        deviation = float(before.std())
        effect = abs(float(training.mean() - before.mean())) / deviation if deviation else 0.0
    return effect > max(
        SMALL_EFFECT, CHANCE / sqrt(len(training))
    )  # standard error of h, and about that of d


def _class_shares(values: Any, n_classes: int) -> FloatArray:
    return np.asarray(np.bincount(values, minlength=n_classes) / len(values), np.float64)


def _target_text(table: Table, before: Any, training: Any) -> str:
    target = table.schema.target
    if target.is_survival:
        return f"events {percent_text(training.mean())} instead of {percent_text(before.mean())}"
    if not target.is_classes:
        return (
            f"mean {number_text(float(training.mean()), 4)} instead of {number_text(float(before.mean()), 4)}"
        )
    names = format_class_names(target)
    shares, earlier = (_class_shares(values, len(names)) for values in (training, before))
    # Of many classes, those that changed most.
    moved = np.argsort(-np.abs(shares - earlier), kind="stable")
    order = range(len(names)) if len(names) <= MOST_CLASSES else moved
    parts = [f"{names[n]} {percent_text(shares[n])} instead of {percent_text(earlier[n])}" for n in order]
    return join_parts(parts, MOST_CLASSES)


# -- resamples --------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Resample:
    """One division of the rows into test rows and the pool of the samples."""

    data: EvaluationData  # in their fixed order
    number: int
    seed: int  # of the whole audit
    test_size: float

    @cached_property
    def test(self) -> LongArray:
        """The test rows, stratified by class and stage, with whole groups."""
        strata = assign_strata(self.data.table, self.data.stage)
        stream = (self.seed, Branch.AUDIT_TEST_ROWS, self.number)
        test = np.flatnonzero(
            select_below(permute_positions(strata, self.data.groups, stream), self.test_size)
        )
        if len(test) == self.data.n_rows:
            raise DataError(
                "There is only one row or one group: an audit needs several, for training and for testing."
            )
        return test

    @cached_property
    def pool(self) -> LongArray:
        """All other rows in random order, with whole groups."""
        is_test = np.zeros(self.data.n_rows, np.bool_)
        is_test[self.test] = True
        rest = np.flatnonzero(~is_test)
        return rest[np.argsort(self.positions(rest, Branch.AUDIT_SAMPLES), kind="stable")]

    @cached_property
    def schema(self) -> Schema:
        """The reference schema: ranges and categories of the pool."""
        table = self.data.table.subset(self.pool)
        return Schema(
            tuple(map(_measured_feature, table.schema.features, table.columns)), table.schema.target
        )

    def model_seed(self, number: int) -> int:
        """Derive the seed of a model, with a number for each use."""
        return derive_seed(self.seed, Branch.AUDIT_SEEDS, self.number, number)

    def positions(self, rows: LongArray, *branch: int) -> FloatArray:
        """Draw a random position between 0 and 1 for each row, equal for the rows of a group."""
        in_order = np.sort(rows)
        groups = subset_groups(self.data.groups, in_order)
        position = np.empty(self.data.n_rows)
        position[in_order] = permute_positions(
            np.zeros(len(rows), np.int64), groups, (self.seed, *branch, self.number)
        )
        return np.asarray(position[rows], np.float64)

    def part(self, low: float, high: float) -> LongArray:
        """Select the rows of the pool between two fractions of it, with whole groups."""
        position = self.positions(self.pool, Branch.AUDIT_SAMPLES)
        part: LongArray = self.pool[(position >= low) & (position < high)]
        if len(part) == 0:
            raise DataError(
                f"The {len(self.pool)} rows for training are too few, or in too few groups, for samples."
            )
        return part


def permute_positions(strata: LongArray, groups: LongArray | None, stream: Stream) -> FloatArray:
    """Draw a random position in [0, 1) for every row: a fraction of the range holds that share of each
    stratum.

    Rows of one group have one position; the stratum of a group is the lowest of its rows'. Equal rows are
    drawn separately. A stratum begins at a random position on the circle, so that many small strata do not
    lose their rows to the same side.

    >>> np.sort(permute_positions(np.zeros(4, np.int64), None, (0,)) < 0.5).tolist()
    [False, False, True, True]
    """
    chance = make_generator(*stream)
    unit = np.arange(len(strata)) if groups is None else np.unique(groups, return_inverse=True)[1]
    size = np.bincount(unit)
    stratum = np.full(len(size), strata.max(), np.int64)
    np.minimum.at(stratum, unit, strata)
    order = np.lexsort((chance.permutation(len(size)), stratum))
    rows_of = np.bincount(stratum, size)  # of every stratum
    before = (np.cumsum(rows_of) - rows_of)[stratum[order]]
    inside = (np.cumsum(size[order]) - size[order] / 2 - before) / rows_of[stratum[order]]
    position = np.empty(len(size))
    position[order] = (inside + chance.random(len(rows_of))[stratum[order]]) % 1.0
    return np.asarray(position[unit], np.float64)


def _measured_feature(feature: Feature, values: FloatArray) -> Feature:
    """Narrow a feature to the range, or the categories, of the values."""
    known = values[~np.isnan(values)]
    if feature.kind == "numeric" and len(known):
        return replace(feature, low=float(known.min()), high=float(known.max()))
    if feature.kind == "nominal":
        present = np.unique(known).astype(np.int64).tolist()
        return replace(feature, categories=tuple(feature.categories[place] for place in present))
    return feature
