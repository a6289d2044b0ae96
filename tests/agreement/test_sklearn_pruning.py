"""Our pruning against scikit-learn's: the sequences, the trees between them, and sizes chosen by folds."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pytest
from sklearn import datasets
from sklearn.metrics import fbeta_score, get_scorer, make_scorer, max_error
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from holdfast.adapters import as_tree
from holdfast.data.table import Table
from holdfast.growth.grow import grow
from holdfast.growth.pruning import PruningPath, prune, pruning_path
from holdfast.growth.rules import GrowthRules
from holdfast.growth.size_search import SizeChoice, SizeSearch, choose_size

pytestmark = pytest.mark.filterwarnings("ignore:no tree can split")

ALL = 1e9  # an alpha that undoes every split


# -- data -------------------------------------------------------------------------------------------------


def bundled(load: Callable[..., Any], rows: int | None = None) -> tuple[np.ndarray, np.ndarray]:
    X, y = load(return_X_y=True)
    return X[:rows].astype(np.float32).astype(np.float64), y[:rows]


def counts(n_rows: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Counts whose rate follows two of four columns."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(n_rows, 4)).astype(np.float32).astype(np.float64)
    return X, random.poisson(np.exp(1.5 + 0.8 * X[:, 0] - 0.5 * X[:, 1])).astype(float)


def noisy(n_rows: int, seed: int, n_classes: int = 2) -> tuple[np.ndarray, np.ndarray]:
    """Classes that follow three columns, some of them wrong."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(n_rows, 5)).astype(np.float32).astype(np.float64)
    score = X[:, 0] + np.abs(X[:, 1]) - X[:, 2] * X[:, 0] + random.normal(0, 0.7, n_rows)
    return X, np.searchsorted(np.quantile(score, np.arange(1, n_classes) / n_classes), score)


def skewed(n_rows: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Two classes, one of them rare."""
    X, y = noisy(n_rows, seed, 4)
    return X[:, :3], np.minimum(y, 1)


def friedman(n_rows: int) -> tuple[np.ndarray, np.ndarray]:
    X, y = datasets.make_friedman1(n_rows, n_features=5, noise=2.0, random_state=0)
    return X.astype(np.float32).astype(np.float64), y


@dataclass(frozen=True)
class Case:
    """Rows, and how both grow a tree on them."""

    load: Callable[[], tuple[np.ndarray, np.ndarray]]
    criterion: str = "gini"
    weights: str | None = None
    class_weight: str | tuple[tuple[int, float], ...] | None = None
    min_samples_leaf: int = 1

    @property
    def is_classes(self) -> bool:
        return self.criterion in ("gini", "entropy", "log_loss")

    @property
    def rules(self) -> dict[str, Any]:
        """What both call by one name."""
        named = dict(self.class_weight) if isinstance(self.class_weight, tuple) else self.class_weight
        balance = {"class_weight": named} if named else {}
        return {"criterion": self.criterion, "min_samples_leaf": self.min_samples_leaf, **balance}

    def model(self, **size: Any) -> Any:
        kind = DecisionTreeClassifier if self.is_classes else DecisionTreeRegressor
        return kind(random_state=0, **self.rules, **size)

    @cache  # noqa: B019 (a few cases that live as long as the tests)
    def data(self) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
        X, y = self.load()
        random = np.random.default_rng(5)
        weight = {
            None: None,
            "fractions": random.integers(200, 3000, len(y)) / 1024,  # their sums are exact in any order
            "whole": random.integers(0, 4, len(y)).astype(float),
        }[self.weights]
        return X, y, weight

    def table(self) -> Table:
        return Table.from_arrays(*self.data(), task="classification" if self.is_classes else "regression")


CASES = {
    "breast cancer": Case(lambda: bundled(datasets.load_breast_cancer)),
    "breast cancer, entropy": Case(lambda: bundled(datasets.load_breast_cancer), "entropy"),
    "breast cancer, log loss": Case(lambda: bundled(datasets.load_breast_cancer), "log_loss"),
    "iris": Case(lambda: bundled(datasets.load_iris)),
    "iris, weighted": Case(lambda: bundled(datasets.load_iris), "gini", "fractions"),
    "wine": Case(lambda: bundled(datasets.load_wine)),
    "wine, entropy, balanced": Case(lambda: bundled(datasets.load_wine), "entropy", None, "balanced"),
    "digits": Case(lambda: bundled(datasets.load_digits, 500)),
    "digits, weighted, balanced": Case(
        lambda: bundled(datasets.load_digits, 400), "gini", "whole", "balanced"
    ),
    "diabetes": Case(lambda: bundled(datasets.load_diabetes), "squared_error"),
    "diabetes, weighted": Case(lambda: bundled(datasets.load_diabetes), "squared_error", "fractions"),
    "diabetes, Poisson": Case(lambda: bundled(datasets.load_diabetes), "poisson"),
    "counts, Poisson": Case(lambda: counts(300, 0), "poisson"),
    "counts, Poisson, weighted": Case(lambda: counts(300, 1), "poisson", "fractions"),
    "noise, weighted classes": Case(lambda: noisy(400, 0), "gini", "fractions", ((0, 1.0), (1, 2.5))),
    "three noisy classes": Case(lambda: noisy(400, 1, 3), "entropy", "whole"),
}


# -- sequences --------------------------------------------------------------------------------------------


def assert_same_sequence(path: PruningPath, theirs: Any) -> None:
    """Alphas, and the risk between any two of them; tied steps are one in ours and several in theirs."""
    root = path.risks[-1]
    assert theirs.impurities[-1] == pytest.approx(root, rel=1e-9)
    apart = np.abs(path.alphas[:, None] - theirs.ccp_alphas[None, :])
    assert apart.min(axis=1).max() <= 1e-9 * root
    assert apart.min(axis=0).max() <= 1e-9 * root
    for alpha in alphas_between(theirs.ccp_alphas, root):
        last = int(np.searchsorted(theirs.ccp_alphas, alpha)) - 1
        assert path.risks[path.place_of(alpha)] == pytest.approx(theirs.impurities[last], abs=1e-9 * root)


def alphas_between(alphas: np.ndarray, root: float) -> list[float]:
    """The middle of every gap between alphas that rounding does not account for, and one beyond all."""
    gaps = np.flatnonzero(np.diff(alphas) > 1e-8 * root)
    return [*((alphas[gaps] + alphas[gaps + 1]) / 2).tolist(), float(alphas[-1] * 2 + root)]


@pytest.mark.parametrize("name", CASES)
def test_the_very_same_tree_has_the_same_pruning_sequence(name: str) -> None:
    case = CASES[name]
    X, y, weight = case.data()
    model = case.model().fit(X, y, weight)
    path = pruning_path(as_tree(model, case.table().schema))
    assert path.n_leaves[0] == model.get_n_leaves()
    assert_same_sequence(path, case.model().cost_complexity_pruning_path(X, y, weight))


@pytest.mark.parametrize("name", CASES)
def test_between_the_alphas_both_prune_to_the_same_leaves_and_predictions(name: str) -> None:
    case = CASES[name]
    X, y, weight = case.data()
    tree = as_tree(case.model().fit(X, y, weight), case.table().schema)
    theirs = case.model().cost_complexity_pruning_path(X, y, weight)
    alphas = alphas_between(theirs.ccp_alphas, theirs.impurities[-1])
    for alpha in alphas[:: max(1, len(alphas) // 6)]:
        part, model = prune(tree, alpha), case.model(ccp_alpha=alpha).fit(X, y, weight)
        assert part.n_leaves == model.get_n_leaves()
        assert part.depth == model.get_depth()
        assert part.value[part.apply(X)] == pytest.approx(values_of(model, X), rel=1e-12)


def values_of(model: Any, X: np.ndarray) -> np.ndarray:
    return model.predict_proba(X) if hasattr(model, "predict_proba") else model.predict(X)[:, None]


# Continuous columns and leaves of five rows or more: no two splits are tied.
UNTIED = {
    "classes": Case(lambda: noisy(200, 3), "gini", "fractions", None, 5),
    "rare class": Case(lambda: skewed(200, 6), "entropy", "fractions", ((0, 2.5), (1, 1.0)), 5),
    "numbers": Case(lambda: friedman(150), "squared_error", None, None, 5),
    "weighted numbers": Case(lambda: friedman(200), "squared_error", "fractions", None, 7),
    "counts": Case(lambda: counts(200, 2), "poisson", "fractions", None, 5),
}


@pytest.mark.parametrize("name", UNTIED)
def test_both_grow_and_prune_to_the_same_sequence_and_trees(name: str) -> None:
    case = UNTIED[name]
    X, y, weight = case.data()
    theirs = case.model().cost_complexity_pruning_path(X, y, weight)
    path = pruning_path(grow(case.table(), GrowthRules(**case.rules)))
    assert_same_sequence(path, theirs)
    for alpha in alphas_between(theirs.ccp_alphas, theirs.impurities[-1]):
        tree = grow(case.table(), GrowthRules(**case.rules, ccp_alpha=alpha))
        model = case.model(ccp_alpha=alpha).fit(X, y, weight)
        assert tree.n_leaves == model.get_n_leaves()
        assert tree.value[tree.apply(X)] == pytest.approx(values_of(model, X), rel=1e-9)


# -- sizes chosen by folds --------------------------------------------------------------------------------


@dataclass(frozen=True)
class Chosen:
    """What the slow loop finds: scores of all sizes on all folds, the sizes of two rules, and their trees."""

    scores: np.ndarray
    sizes: list[dict[str, Any]]

    @property
    def best(self) -> int:
        mean = self.scores.mean(axis=1)
        return max(place for place in range(len(mean)) if mean[place] >= mean.max() - 1e-12)

    @property
    def within_error(self) -> int:
        mean, n_folds = self.scores.mean(axis=1), self.scores.shape[1]
        error = self.scores.std(axis=1, ddof=1) / np.sqrt(n_folds)
        return max(p for p in range(len(mean)) if mean[p] >= mean[self.best] - error[self.best])


@cache
def sizes_of(case: Case, parameter: str) -> list[dict[str, Any]]:
    """The sizes of scikit-learn's tree, the greatest first and the root alone last."""
    X, y, weight = case.data()
    whole = case.model().fit(X, y, weight)
    if parameter == "max_depth":
        return [{"max_depth": depth} for depth in range(whole.get_depth(), 0, -1)] + [{"ccp_alpha": ALL}]
    if parameter == "max_leaf_nodes":
        return [{"max_leaf_nodes": k} for k in range(whole.get_n_leaves(), 1, -1)] + [{"ccp_alpha": ALL}]
    path = case.model().cost_complexity_pruning_path(X, y, weight)
    alphas = path.ccp_alphas[np.diff(path.ccp_alphas, append=np.inf) > 1e-9 * path.impurities[-1]]
    return [{"ccp_alpha": alpha} for alpha in [*np.sqrt(alphas[:-1] * alphas[1:]), ALL]]


@cache
def fitted(case: Case, parameter: str) -> list[list[Any]]:
    """Every size fitted anew without every fold."""
    X, y, weight = case.data()
    weight = np.ones(len(y)) if weight is None else weight
    return [
        [case.model(**size).fit(X[train], y[train], weight[train]) for train, _ in folds_of(case)]
        for size in sizes_of(case, parameter)
    ]


def slow_loop(case: Case, parameter: str, scorer: Any) -> Chosen:
    """Every size scored on every fold."""
    X, y, weight = case.data()
    options = [{} if weight is None else {"sample_weight": weight[test]} for _, test in folds_of(case)]
    scores = [
        [
            scorer(model, X[test], y[test], **option)
            for model, (_, test), option in zip(models, folds_of(case), options, strict=True)
        ]
        for models in fitted(case, parameter)
    ]
    return Chosen(np.array(scores), sizes_of(case, parameter))


def folds_of(case: Case, n_folds: int = 5) -> list[Any]:
    X, y, _ = case.data()
    kind = StratifiedKFold if case.is_classes else KFold
    return list(kind(n_folds, shuffle=True, random_state=0).split(X, y))


def ours(case: Case, parameter: str, scoring: Any, folds: Any, rule: str) -> SizeChoice:
    evidence = SizeSearch(rule, folds, scoring)  # type: ignore[arg-type]
    return choose_size(case.table(), GrowthRules(**case.rules), parameter, search=evidence)  # type: ignore[arg-type]


def assert_same_choice(case: Case, parameter: str, scoring: Any) -> None:
    """Both give the same scores, and by both rules the same tree."""
    folds = folds_of(case)
    scorer = get_scorer(scoring) if isinstance(scoring, str) else scoring
    loop = slow_loop(case, parameter, scorer)
    X, y, weight = case.data()
    for rule, place in (("cv", loop.best), ("cv-1se", loop.within_error)):
        tree, sizes = ours(case, parameter, scoring, folds, rule)
        assert sizes.scores == pytest.approx(loop.scores, rel=1e-9, abs=1e-9)
        assert sizes.error == pytest.approx(loop.scores.std(axis=1, ddof=1) / np.sqrt(5), abs=1e-9)
        assert sizes.chosen == place
        model = case.model(**loop.sizes[place]).fit(X, y, weight)
        assert tree.n_leaves == model.get_n_leaves() == sizes.n_leaves[place]
        assert tree.value[tree.apply(X)] == pytest.approx(values_of(model, X), rel=1e-9)


FOR_CLASSES = ["accuracy", "roc_auc", "neg_log_loss", "balanced_accuracy", make_scorer(fbeta_score, beta=2)]
FOR_NUMBERS = ["r2", "neg_mean_squared_error", "neg_mean_absolute_error"]
PARAMETERS = ["ccp_alpha", "max_depth", "max_leaf_nodes"]


@pytest.mark.parametrize("scoring", FOR_CLASSES, ids=str)
@pytest.mark.parametrize("parameter", PARAMETERS)
def test_for_classes_folds_choose_the_tree_of_the_slow_loop(parameter: str, scoring: Any) -> None:
    assert_same_choice(UNTIED["classes"], parameter, scoring)


@pytest.mark.parametrize("scoring", FOR_NUMBERS)
@pytest.mark.parametrize("parameter", PARAMETERS)
def test_for_numbers_folds_choose_the_tree_of_the_slow_loop(parameter: str, scoring: Any) -> None:
    assert_same_choice(UNTIED["weighted numbers"], parameter, scoring)


@pytest.mark.parametrize("parameter", PARAMETERS)
def test_for_counts_folds_choose_the_tree_of_the_slow_loop(parameter: str) -> None:
    assert_same_choice(UNTIED["counts"], parameter, "neg_mean_poisson_deviance")


@pytest.mark.parametrize("parameter", PARAMETERS)
def test_with_weights_of_classes_folds_choose_the_tree_of_the_slow_loop(parameter: str) -> None:
    assert_same_choice(UNTIED["rare class"], parameter, "roc_auc")


@pytest.mark.parametrize("parameter", PARAMETERS)
def test_a_scorer_without_weights_chooses_the_tree_of_the_slow_loop(parameter: str) -> None:
    assert_same_choice(UNTIED["numbers"], parameter, make_scorer(max_error, greater_is_better=False))
