"""Our grower against scikit-learn's, node by node: the same split wherever there is one best."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import sklearn
from side_by_side import Comparison, Data, is_seen, loss, slack, walk_together
from sklearn import datasets
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.utils.class_weight import compute_sample_weight

from holdfast.adapters import as_tree
from holdfast.data.table import Table
from holdfast.growth.grow import grow
from holdfast.growth.rules import GrowthRules
from holdfast.tree.tree import LEAF, Tree

SHARED = Path(__file__).parents[2].parent / "shared" / "data"

pytestmark = pytest.mark.filterwarnings("ignore:no tree can split")


@dataclass(frozen=True)
class Sizes:
    """How far both trees grow."""

    max_depth: int | None = None
    min_samples_leaf: int = 1
    max_leaf_nodes: int | None = None


SIZES = [Sizes(3), Sizes(6), Sizes(), Sizes(6, 5), Sizes(None, 5), Sizes(None, 1, 10), Sizes(None, 5, 10)]


# -- data -------------------------------------------------------------------------------------------------


def bundled(load: Callable[..., Any]) -> tuple[np.ndarray, np.ndarray]:
    X, y = load(return_X_y=True)
    return X, y[:, 0] if y.ndim == 2 else y


def with_gaps(X: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Some values missing, more of them where the target is high: missing values tell something."""
    likely = 0.1 + 0.3 * (y > np.median(y))[:, None]
    return np.where(np.random.default_rng(0).random(X.shape) < likely, np.nan, X), y


def shared(file: str, rows: int | None = None) -> tuple[np.ndarray, np.ndarray]:
    """The numeric columns of a shared file, whose target is the last column."""
    if not (SHARED / file).exists():
        pytest.skip(f"{SHARED / file} is not there")
    frame = pd.read_csv(SHARED / file)
    if rows:
        frame = frame.sample(rows, random_state=0)
    y = frame.iloc[:, -1]
    X = frame.iloc[:, :-1].select_dtypes("number")
    return X.to_numpy(float), (y if pd.api.types.is_numeric_dtype(y) else pd.factorize(y)[0])


DATA: dict[str, Callable[[], tuple[np.ndarray, Any]]] = {
    "breast cancer": lambda: bundled(datasets.load_breast_cancer),
    "iris": lambda: bundled(datasets.load_iris),
    "wine": lambda: bundled(datasets.load_wine),
    "digits": lambda: tuple(part[:600] for part in bundled(datasets.load_digits)),
    "three classes": lambda: datasets.make_classification(
        400, 8, n_informative=5, n_classes=3, flip_y=0.1, random_state=0
    ),
    "wine with gaps": lambda: with_gaps(*bundled(datasets.load_wine)),
    "shared wdbc": lambda: shared("breast_cancer_wdbc.csv", rows=300),
    "shared pima": lambda: shared("pima_diabetes.csv"),
    "diabetes": lambda: bundled(datasets.load_diabetes),
    "linnerud": lambda: bundled(datasets.load_linnerud),
    "friedman": lambda: datasets.make_friedman1(200, random_state=0),
    "diabetes with gaps": lambda: with_gaps(*bundled(datasets.load_diabetes)),
    "shared california": lambda: shared("california_housing.csv.gz", rows=400),
    "shared hitters": lambda: shared("hitters_salary.csv"),
}
OF_NUMBERS = ("diabetes", "linnerud", "friedman", "diabetes with gaps", "shared california", "shared hitters")
CASES = [
    (name, criterion)
    for name in DATA
    for criterion in (("squared_error", "poisson") if name in OF_NUMBERS else ("gini", "entropy"))
]
# With weights, one criterion for each data set: all of them in turn.
WEIGHTED = CASES[::4] + CASES[3::4]


@cache
def rows_of(name: str) -> tuple[np.ndarray, np.ndarray]:
    """The data, its features rounded to the precision that scikit-learn reads them in."""
    X, y = DATA[name]()
    if np.isnan(X).any() and tuple(map(int, sklearn.__version__.split(".")[:2])) < (1, 9):
        pytest.skip("before 1.9 scikit-learn had errors in the splits of columns with missing values")
    y = np.asarray(y)
    return X.astype(np.float32).astype(np.float64), y


# -- both growers -----------------------------------------------------------------------------------------


def compared(
    name: str, criterion: str, sizes: list[Sizes], weight: Any = None, class_weight: str | None = None
) -> Comparison:
    """All that was found in the trees of these sizes, each of which is checked."""
    X, y = rows_of(name)
    table = Table.from_arrays(X, y, weight, task="regression" if name in OF_NUMBERS else "classification")
    kind = DecisionTreeRegressor if name in OF_NUMBERS else DecisionTreeClassifier
    balance = {"class_weight": class_weight} if class_weight else {}
    total_weight = (1.0 if weight is None else weight) * compute_sample_weight(class_weight, y)
    nodes: dict[int, dict[bytes, Any]] = {}
    total = Comparison()
    for size in sizes:
        rules = {"criterion": criterion, **vars(size), **balance}
        ours = grow(table, GrowthRules(**rules))
        theirs = as_tree(kind(random_state=0, **rules).fit(X, y, weight), table.schema)
        known = nodes.setdefault(size.min_samples_leaf, {})
        data = Data(X, table.target, total_weight, criterion, size.min_samples_leaf, known)
        found = checked(ours, theirs, data, size)
        total = Comparison(total.agreed + found.agreed, total.tied + found.tied, total.parted + found.parted)
    return total


def checked(ours: Tree, theirs: Tree, data: Data, size: Sizes) -> Comparison:
    """What the walk through both trees found, with all that must hold about it."""
    found = walk_together(ours, theirs, data)
    if found.parted and size.max_leaf_nodes:
        return found  # other splits compete for the last leaves
    for place in found.uneven:
        node = data.node(place.rows)
        gain = max((split.gain for split in node.splits if is_seen(split)), default=0.0)
        # Both make splits that gain nothing, but rounding can show scikit-learn a small loss.
        assert size.max_leaf_nodes or gain <= slack(node, gain), (place, gain)
    if not found.parted:
        root = data.node(data.rows)
        assert loss(ours, data) <= loss(theirs, data) * (1 + 1e-9) + slack(root, 0.0)
    return found


# -- on real data -----------------------------------------------------------------------------------------


# With each data set, the second of its criteria is slow to try at every size.
@pytest.mark.parametrize(
    ("name", "criterion"),
    [pytest.param(*case, marks=pytest.mark.slow if place % 2 else ()) for place, case in enumerate(CASES)],
)
def test_both_make_the_best_split_at_every_node(name: str, criterion: str) -> None:
    found = compared(name, criterion, SIZES)
    assert found.agreed > found.tied / 2


@pytest.mark.parametrize(("name", "criterion"), WEIGHTED)
def test_both_weigh_rows_in_the_same_way(name: str, criterion: str) -> None:
    weight = np.random.default_rng(1).uniform(0.1, 3.0, len(rows_of(name)[1]))
    assert compared(name, criterion, [Sizes(), Sizes(None, 5), Sizes(None, 1, 10)], weight).agreed


@pytest.mark.parametrize(("name", "criterion"), WEIGHTED)
def test_both_take_a_bootstrap_as_whole_weights(name: str, criterion: str) -> None:
    rows = len(rows_of(name)[1])
    weight = np.random.default_rng(2).multinomial(rows, np.full(rows, 1 / rows)).astype(float)
    assert compared(name, criterion, [Sizes(6), Sizes(), Sizes(None, 1, 10)], weight).agreed


@pytest.mark.parametrize(("name", "criterion"), [case for case in WEIGHTED if case[0] not in OF_NUMBERS])
def test_both_balance_classes_in_the_same_way(name: str, criterion: str) -> None:
    sizes = [Sizes(6), Sizes(None, 5), Sizes(None, 1, 10)]
    assert compared(name, criterion, sizes, class_weight="balanced").agreed


# -- on rows that rounding could lead astray --------------------------------------------------------------


def leaves_of_both(X: Any, y: Any, criterion: str, weight: Any = None) -> tuple[int, int]:
    """How many leaves we grow, and how many scikit-learn does."""
    is_classes = criterion in ("gini", "entropy")
    table = Table.from_arrays(X, y, weight, task="classification" if is_classes else "regression")
    kind = DecisionTreeClassifier if is_classes else DecisionTreeRegressor
    model = kind(criterion=criterion, random_state=0).fit(X, y, weight)
    return grow(table, GrowthRules(criterion)).n_leaves, int(model.get_n_leaves())


@pytest.mark.parametrize(
    ("criterion", "copies"),
    [("gini", 5), ("gini", 20)] + [("entropy", copies) for copies in (1, 5, 6, 7, 20)],
)
def test_both_split_where_nothing_is_gained_at_first(criterion: str, copies: int) -> None:
    X = np.repeat([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]], copies, axis=0)
    either_or = X[:, 0] != X[:, 1]
    assert leaves_of_both(X, either_or, criterion) == (4, 4)


def test_both_split_where_both_sides_have_the_same_poisson_rate() -> None:
    X, y, weight = np.arange(5.0)[:, None], [0.0, 1.0, 2.0, 0.0, 0.0], [2.0, 1.0, 1.0, 2.0, 3.0]
    assert leaves_of_both(X, y, "poisson", weight) == (2, 2)


@pytest.mark.parametrize("criterion", ["squared_error", "poisson"])
def test_neither_splits_rows_of_one_target_whatever_they_weigh(criterion: str) -> None:
    X, y, weight = [[0.0], [1.0], [2.0]], [3.0, 3.0, 9.0], [0.3, 0.8, 2.4]
    assert leaves_of_both(X, y, criterion, weight) == (2, 2)


def test_no_leaf_has_a_poisson_rate_of_zero_whatever_its_rows_weigh() -> None:
    for seed in range(100, 150):
        random = np.random.default_rng(seed)
        weight = np.round(random.uniform(0.1, 3.0, 40), 1)
        y = np.where(np.arange(40) < 26, random.integers(1, 3, 40), 0).astype(float)
        table = Table.from_arrays(np.arange(40.0)[:, None], y, weight, task="regression")
        assert grow(table, GrowthRules("poisson")).value.min() > 0.0


@pytest.mark.parametrize(
    ("y", "criterion"),
    [
        ([6578.0, 0.0100333474, 0.0000381012538, 6578.0], "squared_error"),
        ([1054.3, 1035.0, 1037.5], "poisson"),
        (["a", "b", "a", "a"], "gini"),
        (["a", "b", "a", "a"], "entropy"),
    ],
)
def test_of_a_split_and_its_mirror_image_we_make_that_on_the_lower_feature(y: Any, criterion: str) -> None:
    X = np.stack([np.arange(len(y)), np.arange(len(y))[::-1]], axis=1)
    tree = grow(Table.from_arrays(X, y), GrowthRules(criterion))
    assert set(tree.feature.tolist()) == {0, LEAF}
