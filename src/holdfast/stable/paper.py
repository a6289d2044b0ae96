"""The method of the paper, exactly: one holdout to score on, no leaf refitted, no score shrunk.

Bertsimas and Digalakis, "Improving Stability in Decision Tree Models", arXiv 2305.17299.
"""

from numbers import Integral, Real
from typing import Any

import numpy as np

from holdfast._check import check_fraction
from holdfast._random import Branch
from holdfast.data.folds import draw_positions, find_early_stages, renumber_groups, select_below
from holdfast.data.row_keys import unit_keys
from holdfast.data.table import Table
from holdfast.errors import ParameterError
from holdfast.scoring.metric import Metric
from holdfast.stable.candidates import (
    Method,
    Scoring,
    TrainedCandidates,
    choose_learner,
    grow_candidates,
    grow_references,
    score_candidates,
)
from holdfast.stable.rows import FRACTION_HELD_OUT, RowMetadata, RowSplit, TrainingSet, baseline_test
from holdfast.stable.settings import StabilitySettings


def split_rows_for_paper(table: Table, settings: StabilitySettings, info: RowMetadata) -> RowSplit:
    """Split off one holdout, the user's own or a simple random sample, and early rows among the others.

    Stages determine the early rows; without them, these are a simple random sample of the rows not held out.
    """
    check_fraction("early_fraction", settings.early_fraction)
    fraction, seed = _fraction(settings.validation, info), settings.seed
    keys = unit_keys(table, info.groups)
    strata = np.zeros(table.n_rows, np.int64)  # a single one: neither classes nor stages are balanced
    holdout = info.holdout
    if holdout is None:
        holdout = select_below(draw_positions(strata, keys, (seed, Branch.PAPER_TEST_ROWS)), fraction)
    early = np.zeros(table.n_rows, np.bool_)
    training = holdout if holdout.all() else ~holdout  # a table of a single row has nothing to hold out
    if info.stage is not None and info.holdout is None:
        return RowSplit(find_early_stages(info.stage, settings.early_fraction), (holdout,))
    if (stage := renumber_groups(info.stage, training)) is not None:
        early[training] = find_early_stages(stage, settings.early_fraction)
        return RowSplit(early, (holdout,))
    position = draw_positions(strata[training], keys[training], (seed, Branch.PAPER_EARLY_ROWS))
    early[training] = select_below(position, settings.early_fraction)
    return RowSplit(early, (holdout,))


def train_paper_candidates(
    rows: TrainingSet, settings: StabilitySettings, metric: Metric
) -> TrainedCandidates:
    """Grow one candidate on each sample of the training rows, and score it on the holdout."""
    learner = choose_learner(rows, settings)
    references = grow_references(learner, rows, settings)
    candidates = grow_candidates(learner, rows, settings)
    scoring = Scoring(metric, refit=(), shrink=False, seed=settings.seed, n_jobs=settings.n_jobs)
    baseline = baseline_test(rows, metric, candidates.by_division(rows.division))
    return TrainedCandidates(
        references, candidates, score_candidates(candidates, rows, scoring), baseline=baseline
    )


def _fraction(validation: Any, info: RowMetadata) -> float:
    """The fraction of the rows to hold out; raise a ParameterError for folds or two holdouts."""
    if isinstance(validation, str) and validation == "auto":
        return FRACTION_HELD_OUT
    if info.holdout is not None:
        raise ParameterError(
            f"validation={validation!r} and X_holdout both determine the rows to score on: give one of them."
        )
    is_fraction = isinstance(validation, Real) and not isinstance(validation, Integral)
    if is_fraction and 0 < float(validation) < 1:
        return float(validation)
    raise ParameterError(
        f"validation={validation!r} is not for method='paper', which scores on one holdout: it must be a "
        "fraction between 0 and 1, or 'auto' for a third."
    )


PAPER = Method(train_paper_candidates, split_rows_for_paper, reports_on_holdout=True)
