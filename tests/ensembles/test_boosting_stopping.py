"""How many rounds are enough: rows held out, and folds, all recounted."""

from typing import Any

import numpy as np
import pytest
from boosting_tables import GREEDY, KINDS, LOSSES, noisy, scale_weights, staged_losses
from sklearn.model_selection import GroupKFold, KFold

from holdfast._arrays import FloatArray
from holdfast.data.folds import Fold, draw_stable_folds
from holdfast.data.table import Table
from holdfast.ensembles.boosting import Boosting, BoostingSettings, boost
from holdfast.errors import DataError, ParameterError
from holdfast.tree.ensemble import Ensemble

VALIDATION = 53  # branch of the seed


def held_out_losses(table: Table, kind: str, fold: Fold, n_estimators: int) -> FloatArray:
    """The mean loss of the rows held out, after every round of boosting on the others alone."""
    rows = np.repeat(np.arange(table.n_rows), fold.times)
    rules = BoostingSettings(LOSSES.get(kind, kind), n_estimators, **GREEDY)
    alone = boost(table.subset(rows), rules).ensemble
    held_out = table.subset(fold.held_out)
    return np.average(staged_losses(alone, held_out, kind), axis=1, weights=scale_weights(held_out))


def assert_same(one: Ensemble, other: Ensemble, table: Table) -> None:
    assert len(one) == len(other)
    assert one.scores(table) == pytest.approx(other.scores(table), rel=1e-9, abs=1e-9)


# -- rows held out ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_the_rounds_that_lose_least_on_the_rows_held_out_are_kept(kind: str, weighted: bool) -> None:
    table, seed = noisy(kind, weighted=weighted), 4
    rules = BoostingSettings(
        LOSSES.get(kind, kind),
        40,
        early_stopping=True,
        validation_fraction=0.25,
        n_iter_no_change=5,
        **GREEDY,
    )
    run = boost(table, rules, seed=seed)
    (fold,) = draw_stable_folds(table, None, 0.25, (seed, VALIDATION))
    assert fold.held_out.mean() == pytest.approx(0.25, abs=0.05)
    n_tried = len(run.validation_loss)
    by_hand = held_out_losses(table, kind, fold, n_tried)
    assert run.validation_loss == pytest.approx(by_hand, rel=1e-9)
    assert run.n_estimators == by_hand.argmin() + 1
    assert n_tried == min(run.n_estimators + 5, 40)
    assert n_tried < 40  # so that the test shows something


def test_a_gain_below_the_tolerance_is_none() -> None:
    table = noisy("squared_error")
    options = {**GREEDY, "tol": 10.0, "learning_rate": 0.1}
    rules = BoostingSettings("squared_error", 50, early_stopping=True, n_iter_no_change=4, **options)
    run = boost(table, rules)
    assert (run.n_estimators, len(run.validation_loss)) == (1, 5)


@pytest.mark.parametrize("kind", KINDS)
def test_groups_are_held_out_as_a_whole(kind: str) -> None:
    table, seed = noisy(kind), 1
    groups = np.random.default_rng(0).integers(0, 30, table.n_rows)
    rules = BoostingSettings(
        LOSSES.get(kind, kind), 10, early_stopping=True, validation_fraction=0.3, **GREEDY
    )
    run = boost(table, rules, groups=groups, seed=seed)
    (fold,) = draw_stable_folds(table, np.unique(groups, return_inverse=True)[1], 0.3, (seed, VALIDATION))
    assert not set(groups[fold.held_out]) & set(groups[~fold.held_out])
    by_hand = held_out_losses(table, kind, fold, len(run.validation_loss))
    assert run.validation_loss == pytest.approx(by_hand, rel=1e-9)


def test_the_rows_held_out_do_not_depend_on_their_order() -> None:
    table = noisy("three classes")
    mixed = table.subset(np.random.default_rng(0).permutation(table.n_rows))
    rules = BoostingSettings("log_loss", 15, early_stopping=True, subsample=0.6, max_features=2, **GREEDY)
    one, other = (boost(each, rules, seed=3) for each in (table, mixed))
    assert one.validation_loss == pytest.approx(other.validation_loss)
    assert one.oob_improvement == pytest.approx(other.oob_improvement)
    assert_same(one.ensemble, other.ensemble, table)


def test_a_single_unit_cannot_be_divided() -> None:
    table, rules = noisy("squared_error", 20), BoostingSettings("squared_error", early_stopping=True)
    with pytest.raises(DataError, match="only one row"):
        boost(table.subset([0]), rules)
    with pytest.raises(DataError, match="only one group"):
        boost(table, rules, groups=["same"] * 20)


# -- folds --------------------------------------------------------------------------------------------------


def cross_validated(table: Table, kind: str, cv: Any, groups: Any = None) -> Boosting:
    rules = BoostingSettings(LOSSES.get(kind, kind), 20, early_stopping="cv", cv=cv, **GREEDY)
    return boost(table, rules, groups=groups, seed=2)


def assert_chosen_by(folds: list[Fold], run: Boosting, table: Table, kind: str) -> None:
    """The number of rounds is that of the lowest mean over the folds, and all rows are learnt from."""
    mean = np.mean([held_out_losses(table, kind, fold, 20) for fold in folds], axis=0)
    assert run.validation_loss == pytest.approx(mean, rel=1e-9)
    assert run.n_estimators == mean.argmin() + 1
    rules = BoostingSettings(LOSSES.get(kind, kind), run.n_estimators, **GREEDY)
    assert_same(run.ensemble, boost(table, rules).ensemble, table)


@pytest.mark.parametrize("kind", KINDS)
def test_folds_choose_the_lowest_mean_loss(kind: str) -> None:
    table = noisy(kind)
    run = cross_validated(table, kind, 4)
    folds = draw_stable_folds(table, None, 4, (2, VALIDATION))
    assert np.array_equal(sum(fold.held_out.astype(int) for fold in folds), np.ones(table.n_rows))
    assert_chosen_by(folds, run, table, kind)
    assert 1 < run.n_estimators < 20  # so that the test shows something


def test_a_splitter_makes_the_folds() -> None:
    table, splitter = noisy("poisson", weighted=True), KFold(3, shuffle=True, random_state=0)
    folds = []
    for learnt, held_out in splitter.split(np.zeros(table.n_rows)):
        flags = np.isin(np.arange(table.n_rows), held_out)
        folds.append(Fold(np.isin(np.arange(table.n_rows), learnt).astype(np.int32), flags))
    assert_chosen_by(folds, cross_validated(table, "poisson", splitter), table, "poisson")


def test_a_row_that_a_pair_names_twice_counts_twice() -> None:
    table = noisy("squared_error", 90)
    learnt = np.concatenate([np.arange(50), np.arange(20)])
    fold = Fold(np.bincount(learnt, minlength=90).astype(np.int32), np.arange(90) >= 60)
    run = cross_validated(table, "squared_error", [(learnt, np.arange(60, 90))])
    assert_chosen_by([fold], run, table, "squared_error")


def test_folds_keep_groups_together() -> None:
    table = noisy("two classes")
    groups = np.arange(table.n_rows) // 5
    run = cross_validated(table, "two classes", 3, groups)
    folds = draw_stable_folds(table, groups, 3, (2, VALIDATION))
    assert all(len(set(groups[f.held_out])) * 5 == f.held_out.sum() for f in folds)
    assert_chosen_by(folds, run, table, "two classes")
    cross_validated(table, "two classes", GroupKFold(3), groups)
    with pytest.raises(ParameterError, match="cv divides"):
        cross_validated(table, "two classes", list(KFold(4).split(groups)), groups)


@pytest.mark.parametrize("kind", ["two classes", "three classes"])
@pytest.mark.parametrize("splits", ["exact", "binned"])
def test_a_class_that_only_rows_held_out_have_is_unlikely_and_no_error(kind: str, splits: Any) -> None:
    table = noisy(kind)
    is_last = table.target == table.target.max()
    held_out = is_last | (np.arange(table.n_rows) % 5 == 0)
    rules = BoostingSettings("log_loss", 5, early_stopping="cv", cv=[(~held_out, held_out)], splits=splits)
    run = boost(table, rules)
    assert np.isfinite(run.validation_loss).all()
    assert run.validation_loss.min() > 5  # e^-5: nobody foresaw them
    shares = run.ensemble.predict_proba(table)[:, -1]  # boosted on all rows again
    assert shares[is_last].mean() > is_last.mean() > shares[~is_last].mean()


def test_a_fold_of_nothing_but_zeros_has_no_rate_to_start_from() -> None:
    table = Table.from_arrays(np.arange(40.0)[:, None], np.repeat([0.0, 3.0], 20), task="regression")
    rules = BoostingSettings("poisson", 3, early_stopping="cv", cv=[(np.arange(20), np.arange(20, 40))])
    with pytest.raises(DataError, match="loss='poisson' needs a target above 0"):
        boost(table, rules)
