"""Split criteria and growth rules; CART and C4.5 are values of `GrowthRules`."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Literal, get_args

import numpy as np

from holdfast._arrays import FloatArray, max_rows, sum_rows
from holdfast._check import (
    check_choice,
    check_flag,
    check_fraction,
    check_integer,
    check_number,
    is_integer,
    is_number,
    raise_out_of_range,
)
from holdfast.data.schema import Label, Target
from holdfast.errors import ParameterError
from holdfast.growth.class_costs import LossMatrix, Priors, parse_loss_matrix, parse_priors
from holdfast.kernels.growth import criteria as formulas
from holdfast.tree.stats import ABSOLUTE_ERROR, MEDIAN, QUANTILE, format_quantile_name, parse_quantile


@dataclass(frozen=True)
class Criterion:
    """A split criterion, as kernels and rules need it."""

    name: str
    formula: int  # its number in the kernels
    impurity: Callable[[FloatArray], FloatArray] | None = None  # from fractions of classes; None for numbers
    shift_factor: float = 0.0  # the gain is this times the squared shift of the mean; 0: another formula
    by_ratio: bool = False  # features compete by gain ratio, each with its split of greatest gain
    is_normalised: bool = False  # gains are divided by the mean entropy of the node and of its sides
    is_rate: bool = False  # targets are at least 0, and both sides of a split need one above 0
    target_power: int = 0  # of numbers: impurity is in this power of the target
    quantile: float | None = None  # that nodes predict instead of a mean, see kernels/quantile.py

    @property
    def is_classes(self) -> bool:
        """True for classification."""
        return self.impurity is not None

    @property
    def costs(self) -> tuple[float, float]:
        """Cost of a unit of the target above and below the quantile."""
        assert self.quantile is not None
        is_plain = self.name == ABSOLUTE_ERROR
        return (1.0, 1.0) if is_plain else (self.quantile, 1.0 - self.quantile)


def _gini(fractions: FloatArray) -> FloatArray:
    return np.asarray(1.0 - sum_rows(np.square(fractions)), np.float64)


def _misclassification(fractions: FloatArray) -> FloatArray:
    return np.asarray(1.0 - max_rows(fractions), np.float64)


def _entropy(fractions: FloatArray) -> FloatArray:
    """Entropy in bits."""
    logs = np.log2(fractions, out=np.zeros_like(fractions), where=fractions > 0)
    return np.asarray(np.abs((fractions * logs).sum(axis=1)), np.float64)


_ALL = (
    Criterion("gini", formulas.GINI, _gini, shift_factor=2.0),
    Criterion("entropy", formulas.ENTROPY, _entropy),
    Criterion("log_loss", formulas.ENTROPY, _entropy),  # scikit-learn's other name for it
    Criterion("misclassification", formulas.MISCLASSIFICATION, _misclassification),
    # The fraction of the most frequent class: the same order of splits.
    Criterion("purity", formulas.MISCLASSIFICATION, _misclassification),
    Criterion("gain_ratio", formulas.ENTROPY, _entropy, by_ratio=True),
    Criterion("mutual_information", formulas.ENTROPY, _entropy, is_normalised=True),
    Criterion("squared_error", formulas.SQUARED_ERROR, shift_factor=1.0, target_power=2),
    Criterion("poisson", formulas.POISSON, is_rate=True, target_power=1),
    Criterion(ABSOLUTE_ERROR, formulas.PINBALL, target_power=1, quantile=MEDIAN),
    Criterion(QUANTILE, formulas.PINBALL, target_power=1),  # with GrowthRules.quantile
)
CLASS_CRITERIA = {criterion.name: criterion for criterion in _ALL if criterion.is_classes}
NUMBER_CRITERIA = {criterion.name: criterion for criterion in _ALL if not criterion.is_classes}
CRITERIA = CLASS_CRITERIA | NUMBER_CRITERIA
SQUARED_ERROR = CRITERIA["squared_error"]


def default_criterion(target: Target) -> str:
    """Return the criterion by which means and fractions are fitted."""
    if target.is_survival:
        return "poisson"
    return "gini" if target.is_classes else "squared_error"


def get_criterion(name: str, is_classes: bool) -> Criterion:
    """Return the criterion of this name, which must fit the kind of target.

    Names of trees that predict a quantile, such as "quantile 0.9", are included.
    """
    known = CLASS_CRITERIA if is_classes else NUMBER_CRITERIA
    if not is_classes and name not in known and (fraction := parse_quantile(name)) is not None:
        return Criterion(name, formulas.PINBALL, target_power=1, quantile=fraction)
    if name not in known:
        target = "classes" if is_classes else "a number"
        raise ParameterError(f"criterion={name!r} is not one for {target}: choose one of {sorted(known)}.")
    return known[name]


def is_for_numbers(name: str) -> bool:
    """Return True if the criterion can grow regression trees by itself."""
    return name != QUANTILE and (name in NUMBER_CRITERIA or parse_quantile(name) is not None)


def class_impurity(criterion: Criterion, fractions: FloatArray) -> FloatArray:
    """Compute the impurity of nodes with these class fractions."""
    assert criterion.impurity is not None
    return criterion.impurity(fractions)


# -- Constraints as users write them -------------------------------------------------------------------------


def check_monotonic(given: Any) -> Any:
    """Convert `monotonic_cst` to a dictionary or a tuple of 1, -1 and 0."""
    if given is None:
        return None
    if isinstance(given, str) or not isinstance(given, Mapping | Iterable):
        raise ParameterError(
            f"monotonic_cst={given!r} is neither a dictionary such as {{'age': 1}} nor a list with a number "
            "per column."
        )
    if isinstance(given, Mapping):
        return {key: _check_sign(key, value) for key, value in given.items()}
    return tuple(_check_sign(position, value) for position, value in enumerate(given))


def _check_sign(key: object, value: Any) -> int:
    if not is_number(value) or value not in (-1, 0, 1):
        raise ParameterError(
            f"monotonic_cst of {key!r} is {value!r}: it must be 1 (never falls as the column rises), -1 "
            "(never rises) or 0."
        )
    return int(float(value))


def check_groups(given: Any) -> Any:
    """Convert `interaction_cst` to tuples."""
    if given is None or (isinstance(given, str) and given in ("pairwise", "no_interactions")):
        return given
    wrong = isinstance(given, str | Mapping) or not isinstance(given, Iterable)
    groups = () if wrong else tuple(given)
    if wrong or any(isinstance(group, str) or not isinstance(group, Iterable) for group in groups):
        raise ParameterError(
            f"interaction_cst={given!r} is unknown: give a list of sets of columns, 'pairwise', "
            "'no_interactions' or None."
        )
    return tuple(tuple(_plain_number(key) for key in group) for group in groups)


def check_excluded_features(given: Any) -> Any:
    """Convert `excluded_features` to a tuple of columns or a dictionary from columns to depths."""
    if given is None:
        return None
    if isinstance(given, str) or not isinstance(given, Mapping | Iterable):
        raise ParameterError(
            f"excluded_features={given!r} is unknown: give a list of columns, or a dictionary from columns "
            "to the number of splits that must come first."
        )
    if not isinstance(given, Mapping):
        return tuple(_plain_number(key) for key in given)
    for key, depth in given.items():
        is_depth = is_integer(depth) and int(depth) >= 1
        if depth is not None and not is_depth:
            raise ParameterError(
                f"excluded_features of {key!r} is {depth!r}: it must be the number of splits that come "
                "first, at least 1, or None for never."
            )
    return {_plain_number(key): None if depth is None else int(depth) for key, depth in given.items()}


def check_costs(given: Any) -> Any:
    """Convert `feature_costs` to a dictionary."""
    if given is None:
        return None
    if not isinstance(given, Mapping):
        raise ParameterError(f"feature_costs={given!r} must be a dictionary from columns to costs.")
    for key, cost in given.items():
        if not is_number(cost) or not 0.0 < float(cost) < np.inf:
            raise ParameterError(
                f"feature_costs of {key!r} is {cost!r}: it must be a positive number; columns that are not "
                "named cost 1."
            )
    return {_plain_number(key): float(cost) for key, cost in given.items()}


def _plain_number(key: Any) -> Any:
    return key.item() if isinstance(key, np.generic) else key


CONSTRAINT_FORMS: dict[str, Callable[[Any], Any]] = {
    "monotonic_cst": check_monotonic,
    "interaction_cst": check_groups,
    "excluded_features": check_excluded_features,
    "feature_costs": check_costs,
}

CONSTRAINTS = (*CONSTRAINT_FORMS, "monotonic_class", "first_splits")


def is_guided(rules: Any) -> bool:
    """Return True if the rules constrain features, splits or values."""
    return any(getattr(rules, name) is not None for name in CONSTRAINTS)


# -- Growth rules --------------------------------------------------------------------------------------------

ClassWeight = Mapping[Label, float] | Literal["balanced"] | None
Categories = Literal["shrunk", "exact"]
Splitter = Literal["best", "random"]
Column = str | int  # its name or position
Interactions = Sequence[Any] | Literal["pairwise", "no_interactions"] | None
MaxFeatures = int | float | Literal["sqrt", "log2", "third"] | None


@dataclass(frozen=True, repr=False)
class GrowthRules:
    """How a tree grows and is pruned; `CART` and `C45` are two such rules.

    Parameters
    ----------
    criterion : str
        "gini", "entropy", "log_loss", "misclassification", "purity", "gain_ratio" or "mutual_information" for
        classification; "squared_error", "poisson", "absolute_error" or "quantile" for regression.
    max_depth : int, optional
    max_leaf_nodes : int, optional
        Splits of greatest gain come first.
    min_samples_split, min_samples_leaf : int or float
        Numbers of rows, or fractions of all rows.
    min_weight_fraction_leaf : float
    min_impurity_decrease : float
        Weighted by the fraction of rows at the node.
    min_relative_gain : float
        Impurity decrease as a fraction of the impurity of the node.
    quantile : float, optional
        Quantile that leaves predict, for `criterion="quantile"`.
    threshold_cost : bool
        For "gain_ratio": subtract the description length of a threshold, as C4.5 does.
    splitter : {"best", "random"}
        "random" draws one split from each feature, as in extra-trees.
    categories : {"shrunk", "exact"}
        Whether the means of features with more than 9 categories are shrunk before they are ordered.
    max_features : int, float, {"sqrt", "log2", "third"}, optional
        Number of features drawn at every split.
    class_weight : mapping or "balanced", optional
    priors : mapping or sequence, optional
        Fractions of the classes at the root, instead of those of the rows.
    loss_matrix : mapping or sequence, optional
        Losses of errors: trees grow by altered priors and predict the class of least expected loss.
    custom_features_only : bool
        Split on custom features only.
    max_seconds, max_nodes, memory_limit : float, int, int, optional
        Budgets: growth ends with the best tree so far and a note. Memory is in bytes for one tree, without
        the table.
    pruning_confidence : float, optional
        C4.5's pessimistic pruning. C4.5 uses 0.25; less prunes more.
    subtree_raising : bool
        In pessimistic pruning, also replace subtrees by their larger branch.
    ccp_alpha : float
        Cost-complexity pruning: cost of a leaf in risk per row.
    ccp_risk : str, optional
        Risk for cost-complexity pruning, such as "misclassification"; default: the criterion.
    merge_leaves : bool
        Merge sibling leaves that predict the same class.
    monotonic_cst : mapping or sequence, optional
        1 for non-decreasing and -1 for non-increasing, by column.
    monotonic_class : label, optional
        The class whose fraction is monotonic; default: the second of two.
    interaction_cst : sequence of sets, "pairwise" or "no_interactions", optional
        Columns that may occur together on one path.
    excluded_features : sequence or mapping, optional
        Columns that are never split on, or only below a least depth.
    first_splits : list, mapping or Tree, optional
        Prescribed splits at the top, described as in `Tree.from_nodes`.
    feature_costs : mapping, optional
        Splits compete by gain per cost.

    Examples
    --------
    >>> GrowthRules(max_depth=3, min_samples_leaf=5)
    GrowthRules(max_depth=3, min_samples_leaf=5)
    >>> GrowthRules(max_depth=0)
    Traceback (most recent call last):
    holdfast.errors.ParameterError: max_depth=0 is out of range: it must be an integer of at least 1, or None.
    """

    criterion: str = "gini"
    max_depth: int | None = None
    max_leaf_nodes: int | None = None
    min_samples_split: int | float = 2
    min_samples_leaf: int | float = 1
    min_weight_fraction_leaf: float = 0.0
    min_impurity_decrease: float = 0.0
    min_relative_gain: float = 0.0
    quantile: float | None = None
    threshold_cost: bool = False
    splitter: Splitter = "best"
    categories: Categories = "shrunk"
    max_features: MaxFeatures = None
    class_weight: ClassWeight = None
    priors: Priors = None
    loss_matrix: LossMatrix = None
    custom_features_only: bool = False
    max_seconds: float | None = None
    max_nodes: int | None = None
    memory_limit: int | None = None
    pruning_confidence: float | None = None
    subtree_raising: bool = True
    ccp_alpha: float = 0.0
    ccp_risk: str | None = None
    merge_leaves: bool = False
    monotonic_cst: Mapping[Column, int] | Sequence[int] | None = None
    monotonic_class: Label | None = None
    interaction_cst: Interactions = None
    excluded_features: Mapping[Column, int | None] | Sequence[Column] | None = None
    first_splits: Any = None
    feature_costs: Mapping[Column, float] | None = None

    def __post_init__(self) -> None:
        for field in fields(self):
            object.__setattr__(self, field.name, _plain(getattr(self, field.name)))
        if not isinstance(self.criterion, str):  # the valid names depend on the target
            raise ParameterError(
                f"criterion={self.criterion!r} must be a name such as 'gini' or 'squared_error'."
            )
        _check_quantile(self.criterion, self.quantile, self.splitter)
        check_integer("max_depth", self.max_depth, none_ok=True)
        check_integer("max_leaf_nodes", self.max_leaf_nodes, 2, none_ok=True)
        check_integer("max_nodes", self.max_nodes, none_ok=True)
        check_integer("memory_limit", self.memory_limit, none_ok=True)
        _check_rows("min_samples_split", self.min_samples_split, 2)
        _check_rows("min_samples_leaf", self.min_samples_leaf, 1)
        check_number("min_weight_fraction_leaf", self.min_weight_fraction_leaf, 0.0, 0.5)
        check_number("min_impurity_decrease", self.min_impurity_decrease, is_finite=False)
        check_number("min_relative_gain", self.min_relative_gain, 0.0, 1.0)
        check_number("max_seconds", self.max_seconds, is_finite=False, none_ok=True)
        count_drawn_features(self.max_features, 1)
        _check_splitter(self.splitter, self.threshold_cost)
        check_choice("categories", self.categories, get_args(Categories))
        check_fraction("pruning_confidence", self.pruning_confidence, none_ok=True)
        check_number("ccp_alpha", self.ccp_alpha, is_finite=False)
        if self.ccp_risk is not None and not isinstance(self.ccp_risk, str):
            raise ParameterError(f"ccp_risk={self.ccp_risk!r} must be a name such as 'misclassification'.")
        for flag in ("threshold_cost", "custom_features_only", "subtree_raising", "merge_leaves"):
            check_flag(flag, getattr(self, flag))
        if self.threshold_cost and not (self.criterion in CRITERIA and CRITERIA[self.criterion].by_ratio):
            names = " or ".join(repr(name) for name, each in CRITERIA.items() if each.by_ratio)
            raise ParameterError(
                f"threshold_cost=True is for criterion={names}, and the criterion is {self.criterion!r}."
            )
        _check_class_weight(self.class_weight)
        object.__setattr__(self, "priors", parse_priors(self.priors))
        object.__setattr__(self, "loss_matrix", parse_loss_matrix(self.loss_matrix))
        if self.priors is not None and self.class_weight is not None:
            raise ParameterError(
                f"priors={self.priors!r} and class_weight={self.class_weight!r} both weigh the classes: "
                "leave one of them None."
            )
        for name, plain_form in CONSTRAINT_FORMS.items():
            object.__setattr__(self, name, plain_form(getattr(self, name)))

    def replace(self, **changes: Any) -> "GrowthRules":
        """Return the rules with some of them changed."""
        return replace(self, **changes)

    def __repr__(self) -> str:
        """Only the rules that are not the default."""
        changed = [field.name for field in fields(self) if getattr(self, field.name) != field.default]
        return f"GrowthRules({', '.join(f'{name}={getattr(self, name)!r}' for name in changed)})"

    @property
    def criterion_name(self) -> str:
        """The criterion as it is stored with trees: with the quantile, if there is one."""
        return self.criterion if self.quantile is None else format_quantile_name(self.quantile)

    @property
    def predicts_quantiles(self) -> bool:
        """True if leaves predict a median or another quantile."""
        return parse_quantile(self.criterion_name) is not None

    @property
    def draws(self) -> bool:
        """True if features or splits are drawn at random."""
        return self.max_features is not None or self.splitter == "random"

    @property
    def is_best_first(self) -> bool:
        """True if splits are made in the order of their gain, so that growth can end at any time."""
        budgets = (self.max_leaf_nodes, self.max_seconds, self.max_nodes, self.memory_limit)
        return any(budget is not None for budget in budgets)


def count_drawn_features(max_features: MaxFeatures, n_features: int) -> int:
    """Return the number of features drawn at each split; 0 if all are tried."""
    if max_features is None:
        return 0
    if isinstance(max_features, str):
        shares = {"sqrt": math.sqrt(n_features), "log2": n_features.bit_length() - 1, "third": n_features / 3}
        if max_features not in shares:
            raise ParameterError(
                f"max_features={max_features!r} is unknown: choose one of {sorted(shares)}, a number, a "
                "fraction, or None; forests also take 'oob' and 'cv'."
            )
        drawn = int(shares[max_features])
    elif not is_number(max_features) or not max_features > 0:
        raise_out_of_range("max_features", max_features, "a number above 0, a name", none_ok=True)
    elif is_integer(max_features):
        drawn = int(max_features)
    elif max_features > 1.0:
        raise_out_of_range(
            "max_features", max_features, "an integer, or a fraction of at most 1.0", none_ok=True
        )
    else:
        drawn = int(max_features * n_features)
    return 0 if drawn >= n_features > 1 else max(drawn, 1)


def resolve_min_rows(value: int | float, n_rows: float) -> int:
    """Convert a number or fraction of rows to a number of rows."""
    return int(value) if is_integer(value) else math.ceil(value * n_rows)


def _plain(value: Any) -> Any:
    """Convert a numpy scalar to a Python one."""
    if isinstance(value, np.floating):
        return float(value)
    return value.item() if isinstance(value, np.generic) else value


def _check_quantile(criterion: str, quantile: object, splitter: object) -> None:
    if quantile is not None:
        if criterion != QUANTILE:
            raise ParameterError(
                f"quantile={quantile!r} is for criterion='quantile', and the criterion is {criterion!r}: "
                "leave one of the two out."
            )
        check_fraction("quantile", quantile)
    elif criterion == QUANTILE:
        raise ParameterError("criterion='quantile' needs a quantile: give one, as in quantile=0.9.")
    if splitter == "random" and (criterion == QUANTILE or parse_quantile(criterion) is not None):
        raise ParameterError(
            f"splitter='random' is not available for criterion={criterion!r}: use splitter='best', or "
            "criterion='squared_error'."
        )


def _check_splitter(splitter: object, threshold_cost: object) -> None:
    check_choice("splitter", splitter, ("best", "random"))
    if splitter == "random" and threshold_cost is True:
        raise ParameterError(
            "splitter='random' draws one threshold of each feature, and threshold_cost=True is the cost of "
            "choosing one among many: leave one of the two out."
        )


def _check_class_weight(class_weight: object) -> None:
    if class_weight is None or (isinstance(class_weight, str) and class_weight == "balanced"):
        return
    if not isinstance(class_weight, Mapping):
        raise ParameterError(
            f"class_weight={class_weight!r} is unknown: give a mapping from labels to weights, 'balanced', "
            "or None."
        )
    for label, factor in class_weight.items():
        if not is_number(factor) or not 0.0 < factor < math.inf:
            raise ParameterError(f"class_weight of {label!r} is {factor!r}: it must be a positive number.")


def _check_rows(name: str, value: int | float, least: int) -> None:
    if is_integer(value):
        fits = value >= least
    else:
        # The root can have all rows, but none of its children can.
        highest = 1.0 if name == "min_samples_split" else math.nextafter(1.0, 0.0)
        fits = isinstance(value, float) and 0.0 < value <= highest
    if not fits:
        raise_out_of_range(
            name, value, f"an integer of at least {least}, or a fraction of the rows between 0.0 and 1.0"
        )


CART = GrowthRules()
C45 = GrowthRules("gain_ratio", min_samples_leaf=2, threshold_cost=True, pruning_confidence=0.25)
