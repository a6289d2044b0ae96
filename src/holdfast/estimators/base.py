"""What the estimators share: growth rules, columns by name, classes, thresholds, and one fitted tree."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from functools import cache, wraps
from numbers import Real
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar, cast

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, clone
from sklearn.exceptions import NotFittedError
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from holdfast._arrays import FloatArray, IntArray
from holdfast._choices import HAZARDS
from holdfast.data.custom_features import parse_custom_feature
from holdfast.data.folds import read_groups, subset_groups
from holdfast.data.frame import Frame, make_frame
from holdfast.data.schema import TASK_OUTCOMES, Schema, SchemaDifferences
from holdfast.data.table import Table
from holdfast.data.target import Task, get_target_name
from holdfast.errors import DataError, DataWarning, ParameterError
from holdfast.explain.row import RowExplanation, explain_row
from holdfast.growth.class_costs import LossMatrix, Priors, parse_loss_matrix, parse_priors, read_loss_matrix
from holdfast.growth.rules import GrowthRules
from holdfast.growth.sample import scale_weights
from holdfast.growth.size_search import divide_rows
from holdfast.parallel.tasks import check_jobs
from holdfast.scoring.thresholds import cheapest_threshold, threshold_costs
from holdfast.stable.settings import GROUPS
from holdfast.tree.leaf_evidence import bootstrap_leaf_intervals, check_method, node_intervals
from holdfast.tree.monotone import make_threshold_losses, set_losses
from holdfast.tree.stats import format_statistic, parse_quantile
from holdfast.tree.tree import Tree, label_array

Method = TypeVar("Method", bound=Callable[..., Any])
POLICIES = {"handle_unknown": ("missing", "error"), "handle_missing": ("learned", "error")}
N_FOLDS = 5  # of a threshold that is chosen, where the estimator has no `cv`
_NO_TABLES = (
    "{} takes arrays and frames, and X is a table. TreeClassifier and TreeRegressor grow one tree of a "
    "table, on disk too; grow_bagging(table, GrowthRules(max_features='sqrt')) grows a forest of it, and "
    "grow_subsamples and grow_parts trees on few rows each."
)


def build_estimator(kind: Any, **options: Any) -> Any:
    """Build an estimator from flat options, each put where it belongs.

    Parameters
    ----------
    kind : type
        A class of estimators, such as `StableTreeClassifier`.
    **options
        Its parameters, and fields of `GrowthRules` and `StabilityRules` by their own names.

    Returns
    -------
    estimator
        Not fitted.

    Examples
    --------
    >>> from holdfast import TreeClassifier
    >>> build_estimator(TreeClassifier, max_depth=3, excluded_features=["ward"])
    TreeClassifier(growth_rules=GrowthRules(excluded_features=('ward',)),
                   max_depth=3)
    """
    parameters = {name: value for name, value in options.items() if name in _parameter_names(kind)}
    others = {name: value for name, value in options.items() if name not in parameters}
    for group, usual in GROUPS.items():
        inner = {each.name: others.pop(each.name) for each in fields(usual) if each.name in others}
        if inner and group in _parameter_names(kind):
            if group == "growth_rules" and "criterion" in parameters:  # which other rules may depend on
                inner["criterion"] = parameters.pop("criterion")
            parameters[group] = replace(parameters.get(group) or usual, **inner)
    if others:
        raise ParameterError(f"{kind.__name__} has no parameter {next(iter(others))!r}.")
    return kind(**parameters)


def all_or_nothing(fit: Method) -> Method:
    """Decorate a method so that a failure, Ctrl-C included, leaves the estimator as it was before."""

    @wraps(fit)
    def fit_or_restore(self: Any, *args: Any, **options: Any) -> Any:
        if not self.takes_tables and isinstance(args[0] if args else options.get("X"), Table):
            raise DataError(_NO_TABLES.format(type(self).__name__))
        before = dict(vars(self))
        vars(self).pop("_left_out", None)
        try:
            return fit(self, *args, **options)
        except BaseException:
            self.__dict__ = before
            raise

    return cast(Method, fit_or_restore)


class TableEstimator(BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """An estimator that grows its model, one tree or many, on a table.

    A subclass is a dataclass whose fields are its parameters: those with the name of a growth rule are that
    rule.
    """

    takes_tables: ClassVar[bool] = False  # whether X may be a Table, on disk perhaps
    _task: ClassVar[Task] = "regression"

    # The parameters that the methods here read.
    custom_features: Any
    categorical_features: Any
    handle_unknown: str
    handle_missing: str
    random_state: Any

    # Fitted attributes.
    schema_: Schema
    n_features_in_: int
    feature_names_in_: NDArray[Any]
    n_outputs_: int

    # -- parameters -----------------------------------------------------------------------------------

    def _rules(self, **changes: Any) -> GrowthRules:
        """Collect the growth rules; a ParameterError names one that is out of range.

        What the parameters leave at their defaults is taken from `growth_rules`, where it is explicit there.
        """
        self._check_policies()
        own: Any = type(self)  # scikit-learn has no types, and a class without one cannot be hashed
        parameters = {**{name: getattr(self, name) for name in _parameter_names(own)}, **changes}
        rules = {each.name: parameters[each.name] for each in fields(GrowthRules) if each.name in parameters}
        defaults = _defaults(own)
        explicit = self._explicit("growth_rules")
        given = [
            name
            for name in explicit
            if name in defaults and not _is_default(parameters[name], defaults[name])
        ]
        return GrowthRules(**{**rules, **explicit, **{name: parameters[name] for name in given}})

    def _explicit(self, group: str) -> dict[str, Any]:
        """The values of a group of parameters that are not the usual ones."""
        given, usual = getattr(self, group, None), GROUPS[group]
        if given is None:
            return {}
        if not isinstance(given, type(usual)):
            example = "GrowthRules(...), CART or C45" if group == "growth_rules" else "StabilityRules(...)"
            raise ParameterError(f"{group} must be {example}, got {given!r}.")
        values = {each.name: getattr(given, each.name) for each in fields(given)}
        return {name: value for name, value in values.items() if value != getattr(usual, name)}

    def _rule(self, name: str) -> Any:
        """The value of a growth rule: that of the parameter, or of `growth_rules`."""
        value = getattr(self, name, None)
        return self._explicit("growth_rules").get(name) if value is None else value

    def _check_policies(self) -> None:
        for name, choices in POLICIES.items():
            if (choice := getattr(self, name)) not in choices:
                raise ParameterError(f"{name}={choice!r} is unknown: choose one of {list(choices)}.")

    # -- fitting --------------------------------------------------------------------------------------

    def _table(self, X: Frame | Table, y: Any, sample_weight: Any, task: Task | None = None) -> Table:
        """Read the rows with the parameters of the estimator; a table is used as it is."""
        task = self._task if task is None else task
        check_jobs(getattr(self, "n_jobs", None))
        if isinstance(X, Table):
            self._check_table(X, y, sample_weight, task)
            return X
        return Table.from_arrays(
            X,
            y,
            sample_weight,
            task=task,
            categorical_features=self.categorical_features,
            custom_features=() if self.custom_features is None else self.custom_features,
            target=get_target_name(y),
            positive=getattr(self, "positive", None),
            hazard=getattr(self, "hazard", HAZARDS[0]),
            horizon=getattr(self, "horizon", None),
            time_unit=getattr(self, "time_unit", None),
        )

    def _read_y(self, y: Any) -> Any:
        """Read the target into one entry per row, where it has several columns."""
        return y

    def _check_table(self, table: Table, y: Any, sample_weight: Any, task: Task) -> None:
        """Raise an error if a table was read with other options than those of the estimator."""
        if y is not None or sample_weight is not None:
            raise ParameterError(
                "X is a table, which has a target and weights of its own: leave y and sample_weight out."
            )
        own: Any = type(self)
        defaults = _defaults(own)
        for name in ("categorical_features", "custom_features", "positive"):
            if not _is_default(getattr(self, name, None), defaults.get(name)):
                raise ParameterError(
                    f"X is a table, which was read before {name}={getattr(self, name)!r} could count: give "
                    f"it to store_table or Table.from_frame, and leave it out here."
                )
        if table.schema.target.task != task:
            kind = TASK_OUTCOMES[table.schema.target.task]
            raise DataError(
                f"{type(self).__name__} is for {task}, and the target {table.schema.target.name!r} of the "
                f"table has {kind}: take the other estimator, or make the table with task={task!r}."
            )

    def _set_columns(self, is_named: bool, schema: Schema) -> None:
        """Set the schema of the model, and the names of its columns if the data have names."""
        self.schema_ = schema
        self.n_outputs_ = 1
        self.n_features_in_ = len(schema.columns)
        if hasattr(self, "feature_names_in_"):  # of an earlier fit
            del self.feature_names_in_
        if is_named:
            self.feature_names_in_ = np.array([column.name for column in schema.columns], object)

    def _set_classes(self, y: Any, table: Table) -> None:
        """Set the classes of a classifier; a regressor has none."""

    def _choose_threshold(self, table: Table, groups: Any) -> None:
        """Set the decision threshold of a classifier; a regressor has none."""

    def _with_threshold(self, model: Any) -> Any:
        """The tree or ensemble that predicts by the fitted threshold, if there is one."""
        return model

    # -- new rows -------------------------------------------------------------------------------------

    def _matched(self, X: Any) -> Frame | Table:
        """The columns of X under the names of the schema; a warning where they are matched by position."""
        if isinstance(X, Table):
            return X
        frame, name = make_frame(X), type(self).__name__
        is_array, has_names = frame.matrix is not None, hasattr(self, "feature_names_in_")
        if is_array and has_names:
            _warn(f"X does not have valid feature names, but {name} was fitted with feature names")
        if is_array:
            return frame
        columns = tuple(column.name for column in self.schema_.columns)
        if not has_names and set(columns) != set(frame.names) and len(columns) == len(frame.names):
            _warn(f"X has feature names, but {name} was fitted without feature names")
            return replace(frame, names=columns)
        # By scikit-learn's conventions all columns are needed, even those that the model does not use.
        SchemaDifferences.compare_names(columns, frame.names).raise_if_any()
        return frame

    def _column_importances(self, fractions: FloatArray) -> FloatArray:
        """One number per column of X: that of a custom feature is divided evenly among its columns."""
        columns = self.schema_.columns
        importances = fractions[: len(columns)].copy()
        for text, fraction in zip(self.schema_.custom_features, fractions[len(columns) :], strict=True):
            read = list(parse_custom_feature(text, columns).columns)
            importances[read] += fraction / len(read)
        return importances

    # -- scikit-learn ---------------------------------------------------------------------------------

    if not TYPE_CHECKING:  # which would take any name for an attribute

        def __getattr__(self, name: str) -> Any:
            """Raise the error of an absent attribute, and mention those that model files omit."""
            if name in vars(self).get("_left_out", ()):
                why = "was loaded from a model file, which does not hold"
                if "update_" in vars(self):
                    why = "was updated since it was fitted, and its tree has no"
                elif "stages_" in vars(self):
                    why = "was fitted by stages, and its tree has no"
                raise NotFittedError(f"This {type(self).__name__} {why} {name}. Fit the model to have it.")
            return super().__getattribute__(name)  # which raises, and knows why

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # Text and categories are read as well, but those tags promise that nothing else is.
        tags.input_tags.allow_nan = True
        return tags


class ClassifierBase(ClassifierMixin, TableEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """Mixin of the estimators that predict classes: their classes, and a decision threshold."""

    _task: ClassVar[Task] = "classification"

    # The parameters that the methods here read; estimators without a threshold have the defaults.
    threshold: Any = None
    loss_matrix: Any = None

    # Fitted attributes; the last two where there is a threshold.
    classes_: NDArray[Any]
    n_classes_: int
    decision_threshold_: float
    positive_class_: int

    def _set_classes(self, y: Any, table: Table) -> None:
        self.classes_ = classes_of(y, table)
        self.n_classes_ = len(self.classes_)

    def _table(self, X: Frame | Table, y: Any, sample_weight: Any, task: Task | None = None) -> Table:
        table = super()._table(X, y, sample_weight, task)
        classes = table.schema.target.classes
        read_loss_matrix(parse_loss_matrix(self._rule("loss_matrix")), classes)  # before any work
        if self.threshold is not None:
            check_threshold(self.threshold, len(classes))
        return table

    def _choose_threshold(self, table: Table, groups: Any) -> None:
        for name in ("decision_threshold_", "positive_class_"):  # of an earlier fit
            self.__dict__.pop(name, None)
        if self.threshold is None:
            return
        seed = 0 if self.random_state is None else make_seed(self.random_state)
        rule = DecisionRule(
            self.threshold,
            self._rule("loss_matrix"),
            self._rule("priors"),
            getattr(self, "cv", N_FOLDS),
            seed,
        )
        other: Any = clone(self).set_params(threshold=None)
        decision = rule.decision(table, groups, other._fit_model)
        self.decision_threshold_, self.positive_class_ = decision.threshold, decision.positive

    def _with_threshold(self, model: Any) -> Any:
        if "decision_threshold_" not in vars(self) or len(model.schema.target.classes) != 2:
            return model
        return Decision(self.decision_threshold_, self.positive_class_).of(model)

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the class of every row.

        Parameters
        ----------
        X : array or frame
            Rows to predict, with the columns of `fit`. A frame is matched by name.

        Returns
        -------
        array of shape (n_rows,)
            The most probable class, or the one of least expected loss (`loss_matrix`) or by the `threshold`.
        """
        index = self._predict_class_index(X)
        predicted: NDArray[Any] = self.classes_[index]
        return predicted

    def predict_proba(self, X: Any) -> FloatArray:
        """Predict the probability of every class.

        Parameters
        ----------
        X : array or frame
            Rows to predict, with the columns of `fit`.

        Returns
        -------
        array of shape (n_rows, n_classes)
            In the order of `classes_`.
        """
        values: FloatArray = self._values(X)
        return values

    def predict_log_proba(self, X: Any) -> FloatArray:
        """Predict the logarithm of the probability of every class.

        Parameters
        ----------
        X : array or frame
            Rows to predict, with the columns of `fit`.

        Returns
        -------
        array of shape (n_rows, n_classes)
            Minus infinity where the probability is 0.
        """
        values: FloatArray = self.predict_proba(X)
        with np.errstate(divide="ignore"):
            logarithms: FloatArray = np.log(values)
        return logarithms


class RegressorBase(RegressorMixin, TableEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """Mixin of the estimators that predict numbers."""

    _task: ClassVar[Task] = "regression"

    def predict(self, X: Any) -> FloatArray:
        """Predict a number for every row.

        Parameters
        ----------
        X : array or frame
            Rows to predict, with the columns of `fit`. A frame is matched by name.

        Returns
        -------
        array of shape (n_rows,)
            The expected value, or the quantile of the criterion.
        """
        values: FloatArray = self._values(X)
        return values[:, 0]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.positive_only = getattr(self, "criterion", None) == "poisson"
        return tags


# -- one tree -------------------------------------------------------------------------------------------


class TreeEstimator(TableEstimator):
    """An estimator whose model is one tree."""

    tree_: Tree

    def _set_fitted(self, X: Frame | Table, tree: Tree) -> Self:
        """Set the fitted tree, and the names of the columns of X."""
        self.tree_ = tree
        self._set_columns(isinstance(X, Table) or X.is_named, tree.schema)
        return self

    def apply(self, X: Any) -> IntArray:
        """Find the leaf that each row reaches.

        Parameters
        ----------
        X : array or frame
            Rows, with the columns of `fit`.

        Returns
        -------
        array of shape (n_rows,)
            Indices of nodes of `tree_`.
        """
        check_is_fitted(self)
        return self.tree_.apply(
            self._matched(X), handle_unknown=self.handle_unknown, handle_missing=self.handle_missing
        )

    def decision_path(self, X: Any) -> Any:
        """Find the nodes that each row passes.

        Parameters
        ----------
        X : array or frame
            Rows, with the columns of `fit`.

        Returns
        -------
        sparse matrix of shape (n_rows, n_nodes)
            1 for every node on the path of the row.
        """
        from holdfast.tree.predict import find_passed_nodes

        leaves = self.apply(X)
        return find_passed_nodes(self.tree_, leaves)

    def _values(self, X: Any) -> FloatArray:
        """The prediction for every row: the probabilities of the classes, or a number in one column."""
        leaves = self.apply(X)
        values: FloatArray = self.tree_.value[leaves]
        return values

    def _predict_class_index(self, X: Any) -> IntArray:
        leaves = self.apply(X)
        outcome: IntArray = self.tree_.outcome[leaves]
        return outcome

    def predict_interval(
        self, X: Any, *, level: float = 0.95, method: str | None = None, rows: Any = None
    ) -> tuple[FloatArray, FloatArray]:
        """Compute the confidence interval of the rate, or mean, in the leaf of every row.

        The interval is that of the training rows of the leaf: of the fraction of each class among them, or of
        their mean; it is no prediction interval for a single row. With `leaf_values="posterior"` it is about
        the prediction and contains it; with "teacher" or "shrunk" the prediction may lie outside. Rows of
        unequal weight count by their effective number, and rows of one group by their intraclass correlation,
        if groups were given to `fit`.

        Parameters
        ----------
        X : array or frame
            Rows to predict, with the columns of `fit`.
        level : float
            Coverage of the interval, if the rows did not choose the splits.
        method : str, optional
            "wilson" (default) or "jeffreys" for classes; "t" (default) or "bootstrap" for means. The
            bootstrap follows the skew of the numbers.
        rows : tuple, optional
            For "bootstrap": the rows to draw from, (X, y) or (X, y, sample_weight), such as those of `fit`.

        Returns
        -------
        tuple of two arrays
            Lower and upper ends, in the shape of `predict_proba`, or of `predict` for numbers.

        Examples
        --------
        >>> from holdfast import TreeRegressor
        >>> model = TreeRegressor(max_depth=1).fit([[1.0], [2.0], [8.0], [9.0]], [1.0, 3.0, 7.0, 9.0])
        >>> low, high = model.predict_interval([[1.0]], level=0.5)
        >>> print(low.round(2), high.round(2))
        [1.] [3.]
        """
        check_is_fitted(self)
        if parse_quantile(self.tree_.criterion) is not None:
            raise ParameterError(
                f"predict_interval is for probabilities and means, and the leaves predict the "
                f"{format_statistic(self.tree_.criterion)}: trees of a low and a high quantile bound rows."
            )
        checked = check_method(method, self.schema_.target.is_classes)
        if checked != "bootstrap":
            ends = node_intervals(self.tree_, level, checked)
        elif not isinstance(rows, tuple) or len(rows) not in (2, 3):
            raise ParameterError(
                "method='bootstrap' draws rows again, and the model keeps none: give rows=(X, y), such as "
                "those of fit, or (X, y, sample_weight)."
            )
        else:
            X_drawn, y, *weight = rows
            table = Table.from_arrays(make_frame(X_drawn), y, *weight, task="regression", schema=self.schema_)
            ends = bootstrap_leaf_intervals(self.tree_, table, level)
        leaves = self.apply(X)
        low, high = (end[leaves] for end in ends)
        return (low, high) if self.schema_.target.is_classes else (low[:, 0], high[:, 0])

    def get_depth(self) -> int:
        """Return the greatest number of splits on a path."""
        check_is_fitted(self)
        return self.tree_.depth

    def get_n_leaves(self) -> int:
        """Return the number of leaves of the tree."""
        check_is_fitted(self)
        return self.tree_.n_leaves

    @property
    def expected_cost_(self) -> float:
        """Cost of the features on the path of a row by `feature_costs`, averaged over the training weight."""
        from holdfast.growth.constraints import expected_cost

        check_is_fitted(self)
        if (costs := self._rule("feature_costs")) is None:
            raise AttributeError("expected_cost_ needs feature_costs, which are None.")
        return expected_cost(self.tree_, costs)

    def rules(
        self, *, missing: bool = False, positive: Any = None, order: str = "tree", intervals: bool = False
    ) -> str:
        """Format the tree as one IF ... THEN rule per leaf.

        Parameters
        ----------
        missing : bool
            Show at each condition whether a missing value meets it.
        positive : label, optional
            The class whose probability is shown.
        order : str
            "tree", or another order of `Tree.rules`.
        intervals : bool
            Show the confidence interval of every prediction.

        Returns
        -------
        str
            The text, as of `Tree.rules`.
        """
        check_is_fitted(self)
        return self.tree_.rules(missing=missing, positive=positive, order=order, intervals=intervals)

    def explain_row(self, x: Any, **options: Any) -> RowExplanation:
        """Explain the prediction for one row: its path, and the smallest changes that lead to another one.

        Parameters
        ----------
        x : mapping, sequence or frame of one row
            The row.
        **options
            Those of the function `explain_row`.

        Returns
        -------
        RowExplanation
            Prints itself.
        """
        check_is_fitted(self)
        return explain_row(self, x, **options)

    @property
    def feature_importances_(self) -> FloatArray:
        """Fraction of the decrease of impurity that each column of X brought.

        What a custom feature brought is divided evenly among the columns it reads; `tree_.importances` has it
        undivided, custom features last.
        """
        check_is_fitted(self)
        return self._column_importances(self.tree_.importances)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "tree_")


# -- the decision threshold -----------------------------------------------------------------------------


@dataclass(frozen=True)
class Decision:
    """The probability from which on one of two classes is predicted."""

    threshold: float
    positive: int

    def of(self, model: Any) -> Any:
        """The tree or ensemble that predicts by the threshold."""
        total = 1.0 if model.loss_matrix is None else float(model.loss_matrix.sum())
        losses = make_threshold_losses(self.threshold, self.positive, total)
        return set_losses(model, losses) if isinstance(model, Tree) else model.replace(loss_matrix=losses)


@dataclass(frozen=True)
class DecisionRule:
    """A given threshold, or "cost" and what is needed to choose it on held-out rows."""

    threshold: float | str
    loss_matrix: LossMatrix = None
    priors: Priors = None
    cv: Any = N_FOLDS
    seed: int = 0

    def decision(self, table: Table, groups: Any, fit: Callable[[Table, Any], Any]) -> Decision:
        """The decision; "cost" takes the threshold of least cost on rows held out from models of `fit`."""
        target = table.schema.target
        positive = target.class_index(target.positive)
        if not isinstance(self.threshold, str):
            return Decision(float(self.threshold), positive)
        losses = read_loss_matrix(parse_loss_matrix(self.loss_matrix), target.classes)
        losses = 1.0 - np.eye(2) if losses is None else losses
        probabilities, rows = self._held_out(table, groups, fit, positive)
        # The weight of every row, the classes having their priors.
        repeats, importance, _ = scale_weights(rows, GrowthRules(priors=parse_priors(self.priors)))
        weight = np.asarray(repeats * importance, np.float64)
        found = threshold_costs(probabilities, rows.target == positive, weight, losses, positive)
        return Decision(cheapest_threshold(*found, losses, positive), positive)

    def _held_out(
        self, table: Table, groups: Any, fit: Callable[[Table, Any], Any], positive: int
    ) -> tuple[FloatArray, Table]:
        """Predict the class for held-out rows by models fitted without them; return these rows as well."""
        marks = None if groups is None else read_groups(groups, table.n_rows)
        folds = divide_rows(table, marks, self.cv, self.seed)
        predicted, rows = [], []
        for held_out, times in zip(folds.held_out, folds.times, strict=True):
            learned = np.repeat(np.arange(folds.table.n_rows), times)
            model = fit(
                folds.table.subset(learned), None if groups is None else subset_groups(folds.groups, learned)
            )
            predicted.append(model.values(folds.table.subset(held_out))[:, positive])
            rows.append(np.flatnonzero(held_out))
        return np.concatenate(predicted), folds.table.subset(np.concatenate(rows))


def check_threshold(threshold: Any, n_classes: int) -> None:
    """Raise a ParameterError unless it is a threshold, and there are two classes."""
    is_number = isinstance(threshold, Real) and not isinstance(threshold, bool)
    if not (is_number and 0.0 < float(threshold) < 1.0) and not (
        isinstance(threshold, str) and threshold == "cost"
    ):
        raise ParameterError(
            f"threshold={threshold!r} is out of range: it must lie between 0 and 1, or be 'cost' or None."
        )
    if n_classes != 2:
        raise ParameterError(
            f"threshold={threshold!r} is for two classes, and the target has {n_classes}: give a loss_matrix."
        )


# -- parameters, seeds and classes ----------------------------------------------------------------------


@cache
def _parameter_names(estimator: Any) -> tuple[str, ...]:
    """The parameters of a class of estimators: scikit-learn reads its signature at every call."""
    return tuple(estimator._get_param_names())


@cache
def _defaults(estimator: Any) -> dict[str, Any]:
    """The default of every parameter of a class of estimators."""
    defaults: dict[str, Any] = estimator().get_params(deep=False)
    return defaults


def _is_default(value: Any, default: Any) -> bool:
    return not isinstance(value, np.ndarray) and bool(value == default)


def make_seed(random_state: Any, is_needed: bool = True) -> int:
    """Draw a seed of 32 bits from a seed, a generator of either kind, or None.

    If none is needed it is 0, and the generator of the caller is left alone.
    """
    is_new = isinstance(random_state, np.random.Generator)
    generator = random_state if is_new else check_random_state(random_state)
    if not is_needed:
        return 0
    if is_new:
        return int(generator.integers(2**32, dtype=np.uint32))
    return int(generator.randint(2**32, dtype=np.uint32))


def classes_of(y: Any, table: Table) -> NDArray[Any]:
    """The classes in the order of the table, each as y first writes it, so that the dtype of y is kept.

    y is None where the table was not made here: then they are as it has them.
    """
    if y is None:
        return label_array(table.schema.target.classes)
    counted = np.arange(table.n_rows) if table.weight is None else np.flatnonzero(table.weight > 0)
    rows = np.full(len(table.schema.target.classes), table.n_rows)
    np.minimum.at(rows, table.target[counted], counted)  # the first row of each class that counts
    if isinstance(y, list | tuple):
        # As one array, numbers next to text would turn into text.
        return label_array(tuple(np.asarray(y, object).ravel()[rows].tolist()))
    if hasattr(y, "iloc"):  # of pandas, whose text takes a while to become objects
        return np.asarray(y.iloc[rows]).ravel()
    classes: NDArray[Any] = np.asarray(y).ravel()[rows]
    return classes


def _warn(start: str) -> None:
    warnings.warn(
        f"{start}: its columns are taken in the order that they had then.", DataWarning, stacklevel=5
    )
