"""AdaBoost: each tree is grown with more weight on the rows that earlier trees misclassify; the trees vote.

SAMME (Zhu, Zou, Rosset and Hastie, 2009), which for two classes is the classic AdaBoost.M1 of Freund and
Schapire. With K classes and a tree that errs on a fraction e of the weight,

    alpha = learning_rate * (log((1 - e) / e) + log(K - 1)),

the rows it misclassifies weigh exp(alpha) times as much for the next tree, and its vote has weight alpha.
"""

import math
import warnings
from dataclasses import dataclass

import numpy as np

from holdfast._arrays import BoolArray, FloatArray, IntArray, freeze
from holdfast._check import check_number
from holdfast._random import Branch, derive_seed
from holdfast.data.table import Table
from holdfast.ensembles.bagging import check_n_estimators
from holdfast.errors import GrowthWarning
from holdfast.growth.grow import grow_samples
from holdfast.growth.rules import GrowthRules
from holdfast.growth.sample import FixedPointSample, fixed_point_sample, reweight
from holdfast.tree.ensemble import Ensemble
from holdfast.tree.tree import Tree

STUMPS = GrowthRules(max_depth=1)
# By the new weights the last tree is no better than guessing. If the same tree is grown again, rounding must
# not make it slightly better.
ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class AdaBoost:
    """AdaBoost trees with their votes and error rates."""

    ensemble: Ensemble  # its weights are the alphas
    errors: FloatArray  # (trees,) weighted error of each tree in its round


def grow_adaboost(
    table: Table,
    rules: GrowthRules = STUMPS,
    n_estimators: int = 50,
    *,
    learning_rate: float = 1.0,
    seed: int = 0,
) -> AdaBoost:
    """Grow trees in sequence, each on rows reweighted by the errors of the last.

    Boosting ends early with a tree without an error, and before one that is no better than guessing. The seed
    matters only if features are drawn.

    >>> table = Table.from_arrays([[1.0], [2.0], [3.0], [4.0], [5.0]], ["no", "yes", "yes", "no", "no"])
    >>> boosted = grow_adaboost(table, n_estimators=3)
    >>> boosted.errors.round(3), boosted.ensemble.predict([[1.0], [2.5], [4.5]])
    (array([0.2  , 0.25 , 0.167]), array(['no', 'yes', 'no'], dtype='<U3'))
    """
    check_n_estimators(n_estimators)
    more = "; 1.0 is usual, and smaller steps take more trees"
    check_number("learning_rate", learning_rate, is_open="low", way_out=more)
    fixed = fixed_point_sample(table, rules)
    n_classes = len(np.unique(table.target[fixed.repeats > 0]))
    trees, errors, alphas = list[Tree](), list[float](), list[float]()
    log_weight = np.log(fixed.importance)
    while len(trees) < n_estimators:
        tree_seed = derive_seed(seed, Branch.ADABOOST_ROUNDS, len(trees))
        tree = grow_samples(table, rules, fixed, [fixed.repeats], [tree_seed])[0]
        is_wrong = tree.outcome[tree.apply(table)] != table.target
        error = _weighted_error(fixed, is_wrong)
        is_chance = error >= (1.0 - 1.0 / n_classes) * (1.0 - ROUNDING) and n_classes > 1
        if is_chance and trees:
            break
        alpha = 0.0 if is_chance else learning_rate * _log_odds(error, n_classes, fixed.repeats)
        trees.append(tree)
        errors.append(error)
        alphas.append(alpha)
        if is_chance or error == 0.0:
            break
        log_weight = log_weight + alpha * is_wrong
        log_weight -= log_weight[fixed.repeats > 0].max()  # a sum of many alphas would overflow
        fixed = reweight(fixed, np.exp(np.minimum(log_weight, 0.0)))
    boosted = _build_ensemble(table, trees, errors, alphas)
    for note in boosted.ensemble.notes:
        warnings.warn(note, GrowthWarning, stacklevel=2)
    return boosted


def _weighted_error(fixed: FixedPointSample, is_wrong: BoolArray) -> float:
    """Compute the weighted error from integers, independent of the row order."""
    repeats = fixed.repeats.astype(np.int64)
    weight = repeats if fixed.weight is None else repeats * fixed.weight
    return int(weight[is_wrong].sum()) / int(weight.sum())


def _log_odds(error: float, n_classes: int, repeats: IntArray) -> float:
    """Compute the vote of a tree before the learning rate.

    A tree without an error would have an infinite vote: it counts as if half a row were wrong.
    """
    if error == 0.0:
        error = 0.5 / int(repeats.sum(dtype=np.int64))
    return math.log((1.0 - error) / error) + math.log(max(n_classes - 1, 1))


def _build_ensemble(table: Table, trees: list[Tree], errors: list[float], alphas: list[float]) -> AdaBoost:
    """Build an ensemble of the trees.

    SAMME minimises the mean of exp(-y'f / K), where y is 1 for the class of the row and -1 / (K - 1) for all
    others, and f sums to 0. The minimum over all f is at

        f_k = (K - 1) (log p_k - the mean of log p over the classes),

    so that p is the softmax of f / (K - 1). A vote for class k adds beta = alpha (K - 1)^2 / K to f_k and
    subtracts beta / (K - 1) from every other, which separates f_k / (K - 1) from the others by exactly alpha:
    p is the softmax of the summed alphas. For two classes that is 1 / (1 + exp(-2 f)), as it should be.
    Divided by the sum of the alphas, as in other libraries, no probability could be near 0 or 1.
    """
    notes = [note for tree in trees for note in tree.notes]
    if alphas[0] == 0.0 and errors[0] > 0.0:
        notes.append(
            "No tree is better than guessing, and all classes are predicted as equally likely: deeper trees "
            "(max_depth) may separate them."
        )
    n_classes = len(table.schema.target.classes)
    ensemble = Ensemble(
        schema=table.schema,
        trees=tuple(trees),
        weights=np.array(alphas),
        outputs=np.zeros(len(trees), np.int32),
        start=np.zeros(n_classes),
        link="softmax",
        votes=True,
        notes=tuple(dict.fromkeys(notes)),
    )
    return AdaBoost(ensemble, freeze(np.array(errors)))
