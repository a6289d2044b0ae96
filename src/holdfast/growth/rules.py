"""When to split and when to stop: CART and C4.5 are values of one type."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Literal, get_args

import numpy as np

from holdfast._check import (
    check_choice,
    check_flag,
    check_fraction,
    check_integer,
    check_number,
    is_integer,
    is_number,
    refuse,
)
from holdfast.data.schema import Label
from holdfast.errors import ParameterError
from holdfast.growth.class_costs import LossMatrix, Priors, plain_losses, plain_priors
from holdfast.growth.constraint_forms import CONSTRAINT_FORMS
from holdfast.growth.criteria import CRITERIA
from holdfast.tree.quantile import QUANTILE, format_quantile_name, parse_quantile

ClassWeight = Mapping[Label, float] | Literal["balanced"] | None
Categories = Literal["shrunk", "exact"]
Splitter = Literal["best", "random"]
Column = str | int  # its name or position
Interactions = Sequence[Any] | Literal["pairwise", "no_interactions"] | None
MaxFeatures = int | float | Literal["sqrt", "log2", "third"] | None


@dataclass(frozen=True, repr=False)
class GrowthRules:
    """How a tree grows.

    >>> GrowthRules(max_depth=0)
    Traceback (most recent call last):
    holdfast.errors.ParameterError: max_depth=0 is out of range: it must be an integer of at least 1, or None.
    """

    criterion: str = "gini"
    max_depth: int | None = None
    max_leaf_nodes: int | None = None  # the most useful splits first
    min_samples_split: int | float = 2  # rows; a float is a fraction of all rows
    min_samples_leaf: int | float = 1
    min_weight_fraction_leaf: float = 0.0
    min_impurity_decrease: float = 0.0  # decrease of impurity, weighted by the node's fraction of the rows
    min_relative_gain: float = 0.0  # decrease of impurity as a fraction of the node's own
    quantile: float | None = None  # of criterion="quantile": the fraction of a leaf's rows at or below it
    threshold_cost: bool = False  # "gain_ratio" only: a threshold costs the bits that it takes to name it
    splitter: Splitter = "best"  # of all splits; "random": of one drawn from each feature, as in extra-trees
    categories: Categories = "shrunk"  # means of columns of more than 9; "exact": the best set of these rows
    max_features: MaxFeatures = None  # drawn anew at every split
    class_weight: ClassWeight = None
    priors: Priors = None  # fractions of the classes at the root, instead of those of the rows
    loss_matrix: LossMatrix = None  # what each error costs: growth by altered priors, the class by least loss
    custom_features_only: bool = False  # split by the user's questions alone; columns are what these read
    max_seconds: float | None = None  # budgets: growth ends with the best tree so far, and says so
    max_nodes: int | None = None
    memory_limit: int | None = None  # bytes for growing one tree, apart from the table
    pruning_confidence: float | None = None  # C4.5's pessimistic pruning: 0.25 is usual, less prunes more
    subtree_raising: bool = True  # with it: a subtree may also give way to its larger branch
    ccp_alpha: float = 0.0  # cost-complexity pruning: what a leaf costs, in risk per row
    ccp_risk: str | None = None  # None: the criterion's impurity; for classes also "misclassification" etc.
    merge_leaves: bool = False  # two leaves of one node that predict the same class become one
    # What people know of the columns, each by name or position: see growth/constraints.py.
    monotonic_cst: Mapping[Column, int] | Sequence[int] | None = None  # 1 never falls, -1 never rises
    monotonic_class: Label | None = None  # whose fraction it is; None: the second of two
    interaction_cst: Interactions = None  # sets of columns that may stand on one path together
    excluded_features: Mapping[Column, int | None] | Sequence[Column] | None = (
        None  # never asked, or not before
    )
    first_splits: Any = None  # the top of the tree: nodes as in Tree.from_nodes, or a tree
    feature_costs: Mapping[Column, float] | None = None  # splits compete by gain per cost

    def __post_init__(self) -> None:
        for field in fields(self):
            object.__setattr__(self, field.name, _plain(getattr(self, field.name)))
        if not isinstance(self.criterion, str):  # which there are depends on the target: growth looks it up
            raise ParameterError(
                f"criterion={self.criterion!r} is no name: write one such as 'gini' or 'squared_error'."
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
        features_drawn(self.max_features, 1)
        _check_splitter(self.splitter, self.threshold_cost)
        check_choice("categories", self.categories, get_args(Categories))
        check_fraction("pruning_confidence", self.pruning_confidence, none_ok=True)
        check_number("ccp_alpha", self.ccp_alpha, is_finite=False)
        if self.ccp_risk is not None and not isinstance(self.ccp_risk, str):
            raise ParameterError(
                f"ccp_risk={self.ccp_risk!r} is no name: write one such as 'misclassification'."
            )
        for flag in ("threshold_cost", "custom_features_only", "subtree_raising", "merge_leaves"):
            check_flag(flag, getattr(self, flag))
        if self.threshold_cost and not (self.criterion in CRITERIA and CRITERIA[self.criterion].by_ratio):
            names = " or ".join(repr(name) for name, each in CRITERIA.items() if each.by_ratio)
            raise ParameterError(
                f"threshold_cost=True is for criterion={names}, and the criterion is {self.criterion!r}."
            )
        _check_class_weight(self.class_weight)
        object.__setattr__(self, "priors", plain_priors(self.priors))
        object.__setattr__(self, "loss_matrix", plain_losses(self.loss_matrix))
        if self.priors is not None and self.class_weight is not None:
            raise ParameterError(
                f"priors={self.priors!r} and class_weight={self.class_weight!r} both weigh the classes: "
                "leave one of them None."
            )
        for name, plain_form in CONSTRAINT_FORMS.items():
            object.__setattr__(self, name, plain_form(getattr(self, name)))

    def replace(self, **changes: Any) -> "GrowthRules":
        """The same rules with some of them changed."""
        return replace(self, **changes)

    def __repr__(self) -> str:
        """The rules that are not the default."""
        said = [field.name for field in fields(self) if getattr(self, field.name) != field.default]
        return f"GrowthRules({', '.join(f'{name}={getattr(self, name)!r}' for name in said)})"

    @property
    def criterion_name(self) -> str:
        """The criterion as trees remember it: with the quantile, if that is what their leaves say."""
        return self.criterion if self.quantile is None else format_quantile_name(self.quantile)

    @property
    def says_quantiles(self) -> bool:
        """True if leaves say a median or another quantile."""
        return parse_quantile(self.criterion_name) is not None

    @property
    def draws(self) -> bool:
        """True if chance has a part in the tree: features or splits are drawn."""
        return self.max_features is not None or self.splitter == "random"

    @property
    def is_best_first(self) -> bool:
        """True if the most useful split is made first, so that growth can end at any moment."""
        budgets = (self.max_leaf_nodes, self.max_seconds, self.max_nodes, self.memory_limit)
        return any(budget is not None for budget in budgets)


def features_drawn(max_features: MaxFeatures, n_features: int) -> int:
    """Number of features drawn at each split; 0 where all are tried."""
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
        refuse("max_features", max_features, "a number above 0, a name", none_ok=True)
    elif is_integer(max_features):
        drawn = int(max_features)
    elif max_features > 1.0:
        refuse("max_features", max_features, "an integer, or a fraction of at most 1.0", none_ok=True)
    else:
        drawn = int(max_features * n_features)
    return 0 if drawn >= n_features > 1 else max(drawn, 1)


def rows_needed(value: int | float, n_rows: float) -> int:
    """A number of rows that was given as a number or as a fraction of all rows."""
    return int(value) if is_integer(value) else math.ceil(value * n_rows)


def _plain(value: Any) -> Any:
    """The value, as Python's own number or text if it is one of numpy's."""
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
        raise ParameterError("criterion='quantile' needs to know which: say it, as in quantile=0.9.")
    if splitter == "random" and (criterion == QUANTILE or parse_quantile(criterion) is not None):
        raise ParameterError(
            f"splitter='random' is not for criterion={criterion!r}, whose splits are all tried: use "
            "splitter='best', or criterion='squared_error'."
        )


def _check_splitter(splitter: object, threshold_cost: object) -> None:
    check_choice("splitter", splitter, ("best", "random"))
    if splitter == "random" and threshold_cost is True:
        raise ParameterError(
            "splitter='random' draws one threshold of each feature, and threshold_cost=True is what it costs "
            "to choose one among many: leave one of the two out."
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
        # The root has all rows to split, but none of its children can have them all.
        highest = 1.0 if name == "min_samples_split" else math.nextafter(1.0, 0.0)
        fits = isinstance(value, float) and 0.0 < value <= highest
    if not fits:
        refuse(name, value, f"an integer of at least {least}, or a fraction of the rows between 0.0 and 1.0")


CART = GrowthRules()
C45 = GrowthRules("gain_ratio", min_samples_leaf=2, threshold_cost=True, pruning_confidence=0.25)
