import copy
import pickle
from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import stats

from holdfast import ParameterError
from holdfast.evaluate.compare import Failure
from reference.comparisons import FOUR_FOLDS, comparison, folds_of

# -- figures ----------------------------------------------------------------------------------------------


def test_the_mean_and_its_standard_error_are_those_over_the_folds() -> None:
    found = comparison(FOUR_FOLDS)
    assert found.mean == pytest.approx([0.875, 0.845, 0.575])
    assert found.error == pytest.approx([stats.sem(scores) for scores in FOUR_FOLDS])


def test_differences_are_taken_fold_by_fold_and_their_error_is_corrected_for_shared_rows() -> None:
    found = comparison(FOUR_FOLDS).differences()
    assert found.baseline == "forest"
    assert found.values[1] == pytest.approx([-0.04, -0.02, -0.01, -0.05])
    assert found.mean[1] == pytest.approx(-0.03)
    # Deviations from -0.03: -1, 1, 2, -2 hundredths. Variance (1 + 1 + 4 + 4) / 3 = 10/3, of hundredths.
    assert found.plain_error[1] == pytest.approx(0.01 * np.sqrt(10 / 3 / 4))
    # Of 20 rows, 5 are held out for 15 trained on: 1/4 + 5/15 = 7/12 instead of 1/4.
    assert found.ratio == pytest.approx(1 / 3)
    assert found.error[1] == pytest.approx(0.01 * np.sqrt(10 / 3 * 7 / 12))
    assert found.values[0].tolist() == [0, 0, 0, 0]
    assert found.error[0] == 0


def test_noise_is_what_students_distribution_leaves_to_chance() -> None:
    found = comparison(FOUR_FOLDS).differences()
    assert found.quantile == pytest.approx(stats.t.ppf(0.975, 3))
    # 0.03 is 2.2 corrected errors, and 3.2 of them may be chance; the plain error would say 3.3.
    assert found.within_noise.tolist() == [True, True, False]
    assert abs(found.mean[1]) > found.quantile * found.plain_error[1]


def test_a_difference_that_is_the_same_on_every_fold_is_no_noise() -> None:
    found = comparison([[0.75, 0.5, 0.25], [0.5, 0.25, 0.0], [0.75, 0.5, 0.25]]).differences()
    assert found.error.tolist() == [0, 0, 0]
    assert found.within_noise.tolist() == [True, False, True]


@pytest.mark.parametrize("n_folds", [2, 3])
def test_two_or_three_folds_cannot_tell_and_say_which_difference_they_could(n_folds: int) -> None:
    """Differences of 0.29 and 0.09, and perhaps 0.19: the mean is 0.19, and noise of so few folds is more."""
    better, worse = [0.9, 0.9, 0.9][:n_folds], [0.61, 0.81, 0.71][:n_folds]
    found = comparison([better, worse], names=("forest", "stable"))
    differences = found.differences()
    values = np.array(worse) - np.array(better)
    ratio = found.folds[0].held_out.sum() / found.folds[0].training.sum()
    noise = stats.t.ppf(0.975, n_folds - 1) * values.std(ddof=1) * np.sqrt(1 / n_folds + ratio)
    assert differences.mean[1] == pytest.approx(-0.19)
    assert differences.noise[1] == pytest.approx(noise)
    assert differences.within_noise.tolist() == [True, False]
    assert differences.cannot_tell.tolist() == [False, True]
    assert repr(differences).endswith("cannot tell")
    assert "ithin noise" not in found.reading
    assert f"{n_folds} folds are too few to distinguish the best, forest, from stable" in found.reading
    assert f"(less than {noise:.2g} may be chance)" in found.reading
    frame = found.to_frame("pandas")
    assert frame["cannot_tell"].tolist() == [False, True]
    assert frame["noise"].tolist() == pytest.approx([0, noise])


def test_few_folds_still_tell_a_difference_that_is_greater_than_their_noise() -> None:
    differences = comparison([[0.9, 0.9], [0.500, 0.501], [0.9, 0.9]]).differences()
    assert differences.has_few_folds
    assert differences.cannot_tell.tolist() == [False, False, False]
    assert differences.within_noise.tolist() == [True, False, True]  # the last is the same on every fold


@pytest.mark.parametrize("n_folds", [4, 5, 10])
def test_with_four_folds_or_more_a_small_difference_is_within_noise(n_folds: int) -> None:
    differences = comparison([[0.9, 0.8] * 5, [0.8, 0.9] * 5], ("a", "b")).differences()
    few = replace(differences, values=differences.values[:, :n_folds])
    assert not few.has_few_folds
    assert few.within_noise.tolist() == [True, True]
    assert not few.cannot_tell.any()


def test_differences_to_another_baseline_change_their_sign() -> None:
    found = comparison(FOUR_FOLDS, given_baseline="tree")
    assert found.best == "forest"
    assert found.differences().baseline == "tree"
    assert found.differences().mean[0] == pytest.approx(0.3)
    assert found.differences("forest").mean[2] == pytest.approx(-0.3)
    with pytest.raises(
        ParameterError, match=r"baseline='wood' is not one of the models.*'forest', 'stable', 'tree'"
    ):
        found.differences("wood")


def test_a_single_split_has_errors_by_its_rows_and_none_of_differences() -> None:
    found = comparison([[0.9], [0.8], [0.7]], row_errors=np.array([[0.03, 0.04, 0.05]]))
    assert found.error.tolist() == [0.03, 0.04, 0.05]
    differences = found.differences()
    assert differences.mean == pytest.approx([0, -0.1, -0.2])
    assert np.isnan(differences.error).all()
    assert differences.within_noise.tolist() == [True, False, False]
    assert differences.cannot_tell.tolist() == [False, True, True]
    assert "0.800 ± 0.040 -0.100 8 leaves" in " ".join(found.text().split())
    assert "A single fold gives no estimate of chance" in found.reading


def test_a_fold_that_tells_nothing_counts_in_no_mean() -> None:
    is_scored = np.array([[True, True, False, True]])
    scores = np.where(is_scored[0], np.array(FOUR_FOLDS), np.nan)
    found = comparison(scores, is_scored=is_scored)
    assert found.mean[0] == pytest.approx((0.90 + 0.80 + 0.95) / 3)
    assert found.differences().n_folds == 3
    assert "3 of 4 folds" in found.reading


def test_another_metric_can_decide() -> None:
    losses = [[-0.5, -0.6], [-0.4, -0.3], [-0.9, -0.8]]
    found = comparison([[[0.9, 0.8], [0.8, 0.7], [0.7, 0.6]], losses], scoring=("auc", "log_loss"))
    assert found.best == "forest"
    other = found.by("log_loss")
    assert other.best == "stable"
    assert other.metric.name == "log_loss"
    assert other.by("auc") == found
    with pytest.raises(
        ParameterError, match="metric='brier' was not computed: choose one of 'auc', 'log_loss'"
    ):
        found.by("brier")


def test_times_are_no_part_of_equality_and_all_else_is() -> None:
    found = comparison(FOUR_FOLDS)
    assert found == comparison(FOUR_FOLDS, fit_seconds=np.full((3, 4), 9.0))
    assert found == pickle.loads(pickle.dumps(found)) == copy.deepcopy(found)
    assert found != comparison(np.array(FOUR_FOLDS) + 1e-12)
    assert found != comparison(FOUR_FOLDS, names=("forest", "stable", "trunk"))
    assert found != comparison(FOUR_FOLDS, folds=folds_of(4)[::-1])
    assert found != comparison(FOUR_FOLDS, predictions={**found.predictions, "tree": np.full((20, 2), 0.25)})
    assert found != "a comparison"


def test_nothing_in_it_can_be_written_to() -> None:
    found = comparison(FOUR_FOLDS)
    for array in (found.scores, found.mean, found.predictions["tree"], found.differences().values):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1.0


# -- tables -----------------------------------------------------------------------------------------------


def test_a_model_that_failed_comes_last_with_the_reason() -> None:
    scores = np.array(FOUR_FOLDS)
    scores[0, 1] = np.nan
    found = comparison(scores, failures=(Failure("forest", 1, "ValueError: on\nfire"),))
    assert found.order.tolist() == [1, 2, 0]
    assert "forest failed on 1 of 4 folds: ValueError: on fire" in found.text()
    assert (
        found.to_frame("pandas")["failure"].tolist()[2] == "'forest' failed on fold 2. ValueError: on\nfire"
    )


@pytest.mark.parametrize(
    ("backend", "kind"), [("pandas", pd.DataFrame), ("polars", pl.DataFrame), ("pyarrow", pa.Table)]
)
def test_the_frame_has_one_row_per_model_in_any_library(backend: str, kind: type) -> None:
    frame = comparison(FOUR_FOLDS).to_frame(backend)
    assert isinstance(frame, kind)
    assert frame.shape[0] == 3
    columns = frame.column_names if backend == "pyarrow" else list(frame.columns)
    assert columns[:7] == [
        "model",
        "metric",
        "score",
        "score_error",
        "difference",
        "difference_error",
        "within_noise",
    ]
    assert columns[-5:] == ["fold_1", "fold_2", "fold_3", "fold_4", "failure"]
