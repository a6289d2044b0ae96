"""DensityTree as scikit-learn sees it, and its density as calculus sees it."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.integrate import trapezoid
from scipy.stats import multivariate_normal
from sklearn.utils.estimator_checks import parametrize_with_checks

from holdfast.errors import DataWarning, ParameterError, SchemaMismatch
from holdfast.estimators.density import DensityTree
from holdfast.scoring.scorers import purity_score


@pytest.fixture(autouse=True)
def array_interface(monkeypatch: pytest.MonkeyPatch) -> None:
    """scikit-learn skips its check of array inputs from other libraries unless this is set."""
    monkeypatch.setenv("SCIPY_ARRAY_API", "1")


@pytest.mark.filterwarnings("ignore::holdfast.errors.DataWarning")
@parametrize_with_checks(
    [
        DensityTree(),
        DensityTree(covariance="full"),
        DensityTree(validation=None, max_leaf_nodes=3, min_samples_leaf=0.1),
    ]
)
def test_scikit_learn_accepts_the_estimator(estimator: Any, check: Callable[[Any], None]) -> None:
    check(estimator)


def three_groups(n_rows: int = 100) -> np.ndarray:
    centres = np.repeat([(0.0, 0.0), (8.0, 0.0), (0.0, 8.0)], n_rows, axis=0)
    return np.random.default_rng(0).normal(centres, 1.0)


def mixed_frame() -> pd.DataFrame:
    generator = np.random.default_rng(0)
    group = generator.integers(0, 2, 300)
    dose = generator.normal(10 * group, 1.0)
    return pd.DataFrame(
        {
            "dose": dose,
            "level": dose * 0.8 + generator.normal(size=300),
            "ward": np.where(generator.random(300) < 0.9, np.array(["north", "south"])[group], "west"),
        }
    )


# -- clusters -------------------------------------------------------------------------------------------


def test_labels_are_the_predictions_for_the_rows_of_fit() -> None:
    X = three_groups()
    model = DensityTree().fit(X)
    assert model.n_clusters_ == model.get_n_leaves() == 3
    assert model.labels_.tolist() == model.predict(X).tolist() == DensityTree().fit_predict(X).tolist()
    assert purity_score(np.repeat([0, 1, 2], 100), model.labels_) == 1.0
    assert [cluster.fraction for cluster in model.clusters_] == pytest.approx([1 / 3] * 3)
    assert model.rules().count("THEN cluster = ") == 3


def test_rows_of_no_weight_have_labels_too() -> None:
    X = three_groups()
    weight = np.ones(300)
    weight[::10] = 0.0
    assert len(DensityTree().fit(X, sample_weight=weight).labels_) == 300


def test_the_same_data_give_the_same_clusters_by_default() -> None:
    X = three_groups()
    assert DensityTree().fit(X).rules() == DensityTree().fit(X[::-1]).rules()


def test_columns_of_a_frame_are_matched_by_name() -> None:
    frame = mixed_frame()
    model = DensityTree().fit(frame)
    assert model.feature_names_in_.tolist() == ["dose", "level", "ward"]
    turned = frame[["ward", "level", "dose"]]
    assert model.predict(turned).tolist() == model.labels_.tolist()
    assert model.score_samples(turned).tolist() == model.score_samples(frame).tolist()
    assert model.score(frame) == pytest.approx(model.score_samples(frame).mean())


def test_a_parameter_out_of_range_is_refused_at_fit() -> None:
    with pytest.raises(ParameterError, match="covariance='round' is unknown"):
        DensityTree(covariance="round").fit(three_groups())  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="handle_unknown='guess' is unknown"):
        DensityTree(handle_unknown="guess").fit(three_groups())


# -- the density ----------------------------------------------------------------------------------------


def test_a_density_of_one_column_integrates_to_1() -> None:
    X = 1000 * np.concatenate([np.random.default_rng(0).normal(centre, 1, 200) for centre in (0, 9)])[:, None]
    model = DensityTree().fit(X)
    assert model.n_clusters_ == 2
    grid = np.linspace(-30_000, 40_000, 20_001)
    density = np.exp(model.score_samples(grid[:, None]))
    assert trapezoid(density, grid) == pytest.approx(1.0, abs=1e-6)


@pytest.mark.parametrize("covariance", ["diagonal", "full"])
def test_a_density_of_two_columns_integrates_to_1(covariance: Any) -> None:
    model = DensityTree(covariance=covariance).fit(three_groups() * [1.0, 0.01])
    x, y = np.linspace(-10, 20, 301), np.linspace(-0.1, 0.2, 301)
    points = np.stack(np.meshgrid(x, y, indexing="ij"), axis=-1).reshape(-1, 2)
    density = np.exp(model.score_samples(points)).reshape(301, 301)
    assert trapezoid(trapezoid(density, y), x) == pytest.approx(1.0, abs=1e-6)


@pytest.mark.parametrize("covariance", ["diagonal", "full"])
def test_what_is_missing_is_integrated_or_summed_over(covariance: Any) -> None:
    model = DensityTree(covariance=covariance).fit(mixed_frame())
    levels = np.linspace(-40, 60, 4001)
    wards = ["north", "south", "west"]
    joint = 0.0
    for ward in wards:
        frame = pd.DataFrame({"dose": 9.0, "level": levels, "ward": ward})
        joint += trapezoid(np.exp(model.score_samples(frame)), levels)
    known = pd.DataFrame({"dose": [9.0], "level": [np.nan], "ward": pd.Series([None], dtype=object)})
    assert np.exp(model.score_samples(known)[0]) == pytest.approx(joint, rel=1e-6)


def test_the_density_is_the_weighted_sum_of_the_clusters() -> None:
    frame = mixed_frame()
    model = DensityTree(covariance="full").fit(frame)
    expected = np.zeros(len(frame))
    for cluster in model.clusters_:
        gaussian = multivariate_normal(list(cluster.mean.values()), cluster.covariance)
        of_ward = frame["ward"].map(dict(cluster.frequency["ward"])).to_numpy()
        expected += cluster.fraction * gaussian.pdf(frame[["dose", "level"]].to_numpy()) * of_ward
    assert model.score_samples(frame) == pytest.approx(np.log(expected))


def test_an_unseen_category_counts_as_missing() -> None:
    model = DensityTree().fit(mixed_frame())
    row = pd.DataFrame({"dose": [0.0], "level": [0.0], "ward": ["east"]})
    with pytest.warns(DataWarning, match="'east'"):
        found = model.score_samples(row)
    without = model.score_samples(row.assign(ward=pd.Series([None], dtype=object)))
    assert found.tolist() == without.tolist()
    with pytest.raises(SchemaMismatch, match="east"):
        DensityTree(handle_unknown="error").fit(mixed_frame()).score_samples(row)


def test_rows_far_from_everything_are_unlikely_and_nothing_worse() -> None:
    model = DensityTree().fit(three_groups())
    far = model.score_samples([[0.0, 0.0], [1e3, 0.0], [1e300, 0.0]])
    assert far[0] > far[1] > far[2]
    assert not np.isnan(far).any()
