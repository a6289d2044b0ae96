"""The results that are kept, each as a function: every criterion, kind of data and estimator."""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from golden import marks
from golden.made_data import QUESTIONS, builtin, clinic, features, table
from golden.marks import Marks
from holdfast import (
    C45,
    AdaBoostClassifier,
    BaggingClassifier,
    BaggingRegressor,
    BoostingClassifier,
    BoostingRegressor,
    DensityTree,
    ForestClassifier,
    ForestRegressor,
    GrowthRules,
    StabilityRules,
    StableTreeClassifier,
    StableTreeRegressor,
    Table,
    distance_matrix,
    grow,
    prune,
)
from holdfast.growth import SizeSearch, choose_size, grow_bootstraps, merge_leaves
from holdfast.growth.holdout_pruning import grow_reduced_error
from holdfast.io.model_file import model_to_json, trees_to_json

CRITERIA = {
    "gini": "outcome",
    "entropy": "outcome",
    "misclassification": "outcome",
    "gain_ratio": "outcome",
    "mutual_information": "outcome",
    "squared_error": "stay",
    "poisson": "events",
}
RESULTS: dict[str, Callable[[], Marks]] = {}


def result(name: str) -> Callable[[Callable[[], Marks]], Callable[[], Marks]]:
    """Keep what the function returns under a name."""

    def keep(function: Callable[[], Marks]) -> Callable[[], Marks]:
        RESULTS[name] = function
        return function

    return keep


def marks_of(name: str) -> Marks:
    """The result of that name, worked out now."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return RESULTS[name]()


# -- single trees -----------------------------------------------------------------------------------------


def _by_criterion(criterion: str, target: str) -> Callable[[], Marks]:
    def three_trees() -> Marks:
        rules = GrowthRules(criterion, min_samples_leaf=3)
        tables = {
            "plain": table(target),
            "weighted": table(target, weighted=True),
            "with questions": table(target, custom_features=QUESTIONS),
        }
        return marks.joined({name: marks.of_tree(grow(each, rules)) for name, each in tables.items()})

    return three_trees


for _criterion, _target in CRITERIA.items():
    RESULTS[f"tree by {_criterion}"] = _by_criterion(_criterion, _target)


@result("tree by C4.5, pruned")
def _c45() -> Marks:
    return marks.of_tree(grow(table("outcome", custom_features=QUESTIONS), C45))


@result("tree, best first")
def _best_first() -> Marks:
    rules = GrowthRules("entropy", max_leaf_nodes=12, class_weight="balanced")
    return marks.of_tree(grow(table("outcome", weighted=True), rules))


@result("tree, features drawn")
def _drawn() -> Marks:
    return marks.of_tree(grow(table("outcome"), GrowthRules(max_features="sqrt"), random_state=5))


@result("tree, pruned by cost")
def _pruned() -> Marks:
    trees = [prune(grow(table("outcome")), 0.01, "misclassification"), prune(grow(table("lived")), 0.02)]
    stay = grow(table("stay"), GrowthRules("squared_error", ccp_alpha=1.0))
    return marks.of_trees([*trees, stay])


@result("tree, pruned by rows held out, leaves merged")
def _reduced() -> Marks:
    rules = GrowthRules("entropy")
    return marks.of_tree(merge_leaves(grow_reduced_error(table("outcome"), rules, 0.3, seed=2)))


@result("trees of scikit-learn's data")
def _builtin() -> Marks:
    trees = [grow(Table.from_arrays(*builtin(name))) for name in ("iris", "wine", "breast_cancer")]
    rules = GrowthRules("squared_error", min_samples_leaf=10)
    return marks.of_trees([*trees, grow(Table.from_arrays(*builtin("diabetes"), task="regression"), rules)])


# -- collections ------------------------------------------------------------------------------------------


@result("bootstraps of classes")
def _bootstraps() -> Marks:
    return marks.of_trees(grow_bootstraps(table("outcome"), GrowthRules(max_depth=5), 12, random_state=3))


@result("bootstraps of numbers, weighted")
def _number_bootstraps() -> Marks:
    rules = GrowthRules("squared_error", max_depth=5)
    return marks.of_trees(grow_bootstraps(table("stay", weighted=True), rules, 12, random_state=3))


@result("distances between trees of classes")
def _distances() -> Marks:
    trees = grow_bootstraps(table("outcome"), GrowthRules(max_depth=5), 12, random_state=3)
    found = {way: distance_matrix(trees, matching=way).ravel() for way in ("paper", "cover", "metric")}
    return Marks({way: [number.hex() for number in line.tolist()] for way, line in found.items()}, found)


@result("distances between trees of numbers")
def _number_distances() -> Marks:
    trees = grow_bootstraps(table("stay"), GrowthRules("squared_error", max_depth=4), 12, random_state=3)
    return Marks(len(trees), {"distance": distance_matrix(trees, normalised=True)})


# -- stable trees -----------------------------------------------------------------------------------------


def _of_stable(model: Any, target: str) -> Marks:
    return _of_fitted(model.fit(features(), clinic()[target]))


def _of_fitted(model: Any) -> Marks:
    choice = Marks([model.choice_.candidate, model.choice_.selection_rule], {})
    frontier = model.frontier_
    if frontier.sizes:  # those of the most leaves, as if there were no others
        frontier = frontier.subset(np.flatnonzero(frontier.max_leaf_nodes == frontier.sizes[-1]))
    parts = {"frontier": marks.of_frontier(frontier), "tree": marks.of_tree(model.tree_)}
    return marks.joined({**parts, "choice": choice})


@result("stable tree of classes")
def _stable() -> Marks:
    return _of_stable(StableTreeClassifier(method="bootstrap", n_estimators=15, max_depth=5), "outcome")


@result("stable tree by log loss")
def _stable_log_loss() -> Marks:
    model = StableTreeClassifier(
        method="bootstrap",
        n_estimators=15,
        max_depth=4,
        scoring="log_loss",
        criterion="entropy",
        selection_rule="knee",
    )
    return _of_stable(model, "lived")


@result("stable tree of numbers")
def _stable_numbers() -> Marks:
    return _of_stable(StableTreeRegressor(method="bootstrap", n_estimators=15, max_depth=4), "stay")


@result("stable tree from one pruning path")
def _stable_pruned() -> Marks:
    return _of_stable(StableTreeClassifier(n_estimators=15, max_depth=6, method="pruned"), "outcome")


def _consensus(kind: Any) -> Any:
    """An estimator with the default teacher, and fewer students than by default."""
    return kind(method="consensus", n_estimators=20)


@result("consensus tree of two classes")
def _consensus_two() -> Marks:
    return _of_fitted(_consensus(StableTreeClassifier).fit(*builtin("breast_cancer")))


@result("consensus tree of three classes")
def _consensus_three() -> Marks:
    return _of_fitted(_consensus(StableTreeClassifier).fit(*builtin("wine")))


@result("consensus tree of numbers")
def _consensus_numbers() -> Marks:
    return _of_fitted(_consensus(StableTreeRegressor).fit(*builtin("diabetes")))


@result("consensus tree of categories with gaps")
def _consensus_categories() -> Marks:
    return _of_stable(_consensus(StableTreeClassifier), "lived")


@result("consensus tree, labels of three classes in its leaves, metric")
def _consensus_labels() -> Marks:
    model = _consensus(StableTreeClassifier).set_params(
        leaf_values="labels", stability_rules=StabilityRules(matching="metric")
    )
    return _of_stable(model, "outcome")


@result("consensus trees of several sizes")
def _consensus_sizes() -> Marks:
    model = _consensus(StableTreeClassifier).set_params(max_leaf_nodes=8, teacher="linear")
    model.fit(features(), clinic()["outcome"])
    trees = marks.of_trees(model.candidate_trees_)
    return marks.joined({"frontier": marks.of_frontier(model.frontier_), "trees": trees})


@result("consensus tree of a size by held-out rows")
def _consensus_of_open_size() -> Marks:
    model = _consensus(StableTreeClassifier).set_params(max_leaf_nodes="auto")
    choice = model.fit(features(), clinic()["lived"]).size_choice_
    names = ("explained", "difference", "difference_error")
    own = Marks(choice.max_leaf_nodes, {name: getattr(choice, name) for name in names})
    return marks.joined({"choice": own, "tree": marks.of_tree(model.tree_)})


# -- sizes ------------------------------------------------------------------------------------------------


def _sized(target: str, rules: GrowthRules, parameter: Any, **search: Any) -> Marks:
    found = choose_size(table(target), rules, parameter, search=SizeSearch(**search))
    return marks.joined({"tree": marks.of_tree(found.tree), "sizes": marks.of_sizes(found.sizes)})


@result("size by alpha")
def _alphas() -> Marks:
    return _sized("outcome", GrowthRules(), "ccp_alpha", cv=5, random_state=1)


@result("size by leaves, one standard error, log loss")
def _leaves() -> Marks:
    rules = GrowthRules("entropy", min_samples_leaf=5)
    return _sized(
        "lived", rules, "max_leaf_nodes", selection_rule="cv-1se", cv=5, scoring="log_loss", random_state=1
    )


@result("size by depth of numbers")
def _depths() -> Marks:
    return _sized("stay", GrowthRules("squared_error"), "max_depth", cv=4, random_state=1)


# -- ensembles --------------------------------------------------------------------------------------------


def _of_ensemble(model: Any, target: str) -> Marks:
    model.fit(features(), clinic()[target])
    said = model.predict_proba(features()) if hasattr(model, "predict_proba") else model.predict(features())
    return marks.of_ensemble(model.ensemble_, said)


@result("forest of classes, out of the bag")
def _forest() -> Marks:
    model = ForestClassifier(12, oob_score=True, permutation_importance=True, random_state=4)
    parts = {"ensemble": _of_ensemble(model, "outcome")}
    table_ = model.importances_
    figures = {"importance": table_.total_decrease.mean, "permutation": table_.permutation.mean}
    own = Marks(table_.n_splits.tolist(), {**figures, "score": model.oob_score_})
    return marks.joined({**parts, "out of bag": own})


@result("forest of numbers")
def _number_forest() -> Marks:
    return _of_ensemble(ForestRegressor(12, random_state=4), "stay")


@result("bagging, votes")
def _votes() -> Marks:
    return _of_ensemble(BaggingClassifier(12, voting="hard", max_depth=4, random_state=4), "outcome")


@result("bagging of counts")
def _number_bagging() -> Marks:
    return _of_ensemble(BaggingRegressor(8, criterion="poisson", max_depth=4, random_state=4), "events")


def _boosted(target: str, **options: Any) -> Callable[[], Marks]:
    kind = BoostingRegressor if target in ("stay", "events") else BoostingClassifier
    return lambda: _of_ensemble(kind(n_estimators=8, random_state=4, **options), target)


RESULTS |= {
    "boosting, exact, two classes": _boosted("lived", splits="exact"),
    "boosting, exact, three classes": _boosted("outcome", splits="exact", subsample=0.7),
    "boosting, binned, three classes": _boosted("outcome", splits="binned", max_features="sqrt"),
    "boosting, exponential loss": _boosted("lived", loss="exponential", leaf_steps=3),
    "boosting, binned, squared error": _boosted("stay", splits="binned", l2_regularization=1.0),
    "boosting, exact, absolute error": _boosted("stay", splits="exact", loss="absolute_error"),
    "boosting, huber": _boosted("stay", loss="huber"),
    "boosting, quantile": _boosted("stay", loss="quantile", alpha=0.8),
    "boosting, counts, rounds by folds": _boosted("events", loss="poisson", early_stopping="cv", cv=3),
}


@result("AdaBoost")
def _adaboost() -> Marks:
    return _of_ensemble(AdaBoostClassifier(n_estimators=10, max_depth=2, random_state=4), "outcome")


# -- without labels ---------------------------------------------------------------------------------------


def _clustered(X: Any, **options: Any) -> Marks:
    model = DensityTree(**options).fit(X)
    own = Marks(model.labels_.tolist(), {"density": model.score_samples(X)})
    return marks.joined({"tree": marks.of_tree(model.tree_), "clusters": own})


@result("density tree, categories and gaps")
def _density() -> Marks:
    return _clustered(features(), max_leaf_nodes=6, validation=None)


@result("density tree, full covariance")
def _full_density() -> Marks:
    return _clustered(builtin("iris")[0], covariance="full")


# -- files ------------------------------------------------------------------------------------------------


@result("model file of a tree")
def _tree_file() -> Marks:
    return marks.of_bytes(model_to_json(grow(table("outcome", custom_features=QUESTIONS))))


@result("model file of several trees")
def _trees_file() -> Marks:
    rules = GrowthRules("squared_error", max_depth=4)
    return marks.of_bytes(trees_to_json(grow_bootstraps(table("stay"), rules, 5, random_state=3)))


@result("model file of an ensemble")
def _ensemble_file() -> Marks:
    model = ForestClassifier(5, max_depth=4, random_state=4).fit(features(), clinic()["outcome"])
    return marks.of_bytes(model_to_json(model.ensemble_))
