"""What the estimators share: parameters as growth rules, columns under their names, one fitted tree."""

import warnings
from collections.abc import Callable
from dataclasses import fields, replace
from functools import cache, wraps
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from holdfast.arrays import FloatArray, IntArray, LongArray
from holdfast.backends.tasks import check_jobs
from holdfast.data.expressions.question import parse_question
from holdfast.data.input.frame import Frame, frame_of
from holdfast.data.input.target import Task, name_of
from holdfast.data.schema import Schema
from holdfast.data.schema_differences import SchemaDifferences
from holdfast.data.table import Table
from holdfast.errors import DataError, DataWarning, ParameterError
from holdfast.evidence.row_explanation import RowExplanation, explain_row
from holdfast.growth.rules import CART, GrowthRules
from holdfast.tree.tree import Tree, label_array

_NO_TABLES = (
    "{} takes arrays and frames, and X is a table. TreeClassifier and TreeRegressor grow one tree of a "
    "table, on disk too; grow_bagging(table, GrowthRules(max_features='sqrt')) grows a forest of it, and "
    "grow_subsamples and grow_parts trees on few rows each."
)
POLICIES = {"handle_unknown": ("missing", "error"), "handle_missing": ("learned", "error")}


def all_or_nothing(fit: Callable[..., Any]) -> Callable[..., Any]:
    """The method, after whose failure, Ctrl-C included, the estimator is what it was before."""

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

    return fit_or_restore


class TableEstimator(BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """An estimator that grows its model, one tree or many, on a table.

    A subclass names its parameters in `__init__`: those that bear the name of a growth rule are taken for it.
    """

    takes_tables: ClassVar[bool] = False  # whether X may be a Table, on disk perhaps

    # The parameters that the methods here read.
    custom_features: Any
    categorical_features: Any
    handle_unknown: str
    handle_missing: str
    random_state: Any

    # What fit leaves behind.
    schema_: Schema
    n_features_in_: int
    feature_names_in_: NDArray[Any]
    n_outputs_: int

    # -- fitting --------------------------------------------------------------------------------------

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "fit" in vars(cls):
            cls.fit = all_or_nothing(vars(cls)["fit"])

    def _rules(self, **changes: Any) -> GrowthRules:
        """The growth rules that the parameters spell out; a ParameterError names one that is out of range.

        What the parameters leave at their defaults is taken from `growth_rules`, as far as these say it.
        """
        self._check_policies()
        own: Any = type(self)  # scikit-learn has no types, and a class without one cannot be hashed
        parameters = {**{name: getattr(self, name) for name in _parameter_names(own)}, **changes}
        names = [rule.name for rule in fields(GrowthRules)]
        spelt_out = {name: parameters[name] for name in names if name in parameters}
        if (ready := parameters.get("growth_rules")) is not None:
            if not isinstance(ready, GrowthRules):
                raise ParameterError(f"growth_rules={ready!r} are none: give CART, C45 or GrowthRules(...).")
            defaults = type(self)().get_params(deep=False)
            for name in names:
                is_said = getattr(ready, name) != getattr(CART, name)
                if is_said and (name not in defaults or _is_default(parameters[name], defaults[name])):
                    spelt_out[name] = getattr(ready, name)
        return GrowthRules(**spelt_out)

    def _check_policies(self) -> None:
        for name, choices in POLICIES.items():
            if (choice := getattr(self, name)) not in choices:
                raise ParameterError(f"{name}={choice!r} is unknown: choose one of {list(choices)}.")

    def _table(self, X: Frame | Table, y: Any, sample_weight: Any, task: Task) -> Table:
        """The rows to learn from, read as the parameters say; a table is taken as it was read."""
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
            target=name_of(y),
            positive=getattr(self, "positive", None),
        )

    def _check_table(self, table: Table, y: Any, sample_weight: Any, task: Task) -> None:
        """Raise an error where a table was read otherwise than is asked for here."""
        if y is not None or sample_weight is not None:
            raise ParameterError(
                "X is a table, which has a target and weights of its own: leave y and sample_weight out."
            )
        defaults = type(self)().get_params(deep=False)
        for name in ("categorical_features", "custom_features", "positive"):
            if not _is_default(getattr(self, name, None), defaults.get(name)):
                raise ParameterError(
                    f"X is a table, which was read before {name}={getattr(self, name)!r} could count: give "
                    f"it to store_table or Table.from_frame, and leave it out here."
                )
        if table.schema.target.is_classes != (task == "classification"):
            kind = "classes" if table.schema.target.is_classes else "numbers"
            raise DataError(
                f"{type(self).__name__} is for {task}, and the target {table.schema.target.name!r} of the "
                f"table has {kind}: take the other estimator, or make the table with task={task!r}."
            )

    def _remember_columns(self, is_named: bool, schema: Schema) -> None:
        """Take the schema for that of the model, along with the names of its columns if the data has some."""
        self.schema_ = schema
        self.n_outputs_ = 1
        self.n_features_in_ = len(schema.columns)
        if hasattr(self, "feature_names_in_"):  # of an earlier fit
            del self.feature_names_in_
        if is_named:
            self.feature_names_in_ = np.array([column.name for column in schema.columns], object)

    def _choose_threshold(self, table: Table, groups: Any) -> None:
        """Take a decision threshold for the fitted one, if the model is one of classes."""

    def _with_threshold(self, model: Any) -> Any:
        """The tree or ensemble that predicts by the fitted threshold, if there is one."""
        return model

    # -- new rows -------------------------------------------------------------------------------------

    def _values(self, X: Any) -> FloatArray:
        """What the model says of every row: the probabilities of the classes, or a number in one column."""
        raise NotImplementedError

    def _matched(self, X: Any) -> Frame | Table:
        """The columns of X under names by which the tree finds them; a warning where it goes by position."""
        if isinstance(X, Table):
            return X
        frame, name = frame_of(X), type(self).__name__
        is_array, has_names = frame.matrix is not None, hasattr(self, "feature_names_in_")
        if is_array and has_names:
            _warn(f"X does not have valid feature names, but {name} was fitted with feature names")
        if is_array:
            return frame
        columns = tuple(column.name for column in self.schema_.columns)
        if not has_names and set(columns) != set(frame.names) and len(columns) == len(frame.names):
            _warn(f"X has feature names, but {name} was fitted without feature names")
            return replace(frame, names=columns)
        # By scikit-learn's conventions all columns are needed, even if the model does not ask about them.
        SchemaDifferences.of_names(columns, frame.names).raise_if_any()
        return frame

    def _column_importances(self, fractions: FloatArray) -> FloatArray:
        """One number per column of X: that of a question is divided evenly among the columns it reads."""
        columns = self.schema_.columns
        importances = fractions[: len(columns)].copy()
        for text, fraction in zip(self.schema_.questions, fractions[len(columns) :], strict=True):
            read = list(parse_question(text, columns).columns)
            importances[read] += fraction / len(read)
        return importances

    # -- scikit-learn ---------------------------------------------------------------------------------

    if not TYPE_CHECKING:  # which would take any name for an attribute

        def __getattr__(self, name: str) -> Any:
            """The error of an attribute that is not there; it says so where a model file did not hold it."""
            if name in vars(self).get("_left_out", ()):
                why = "was loaded from a model file, which does not hold"
                if "update_" in vars(self):
                    why = "was updated since it was fitted, and its tree has no"
                elif "stages_" in vars(self):
                    why = "was carried through stages, and its tree has no"
                raise NotFittedError(f"This {type(self).__name__} {why} {name}. Fit the model to have it.")
            return super().__getattribute__(name)  # which raises, and knows why

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # Text and categories are read as well, but those tags promise that nothing else is.
        tags.input_tags.allow_nan = True
        return tags


class TreeEstimator(TableEstimator):
    """An estimator whose model is one tree."""

    max_features: Any
    tree_: Tree

    def _seed(self, rules: GrowthRules) -> int:
        """A seed of 32 bits, drawn only if features or splits are."""
        return seed_if(rules.draws, self.random_state)

    def _remember(self, X: Frame | Table, tree: Tree) -> Self:
        """Take the tree for the fitted one, along with the names of the columns of X."""
        self.tree_ = tree
        self._remember_columns(isinstance(X, Table) or X.is_named, tree.schema)
        return self

    # -- new rows -------------------------------------------------------------------------------------

    def apply(self, X: Any) -> IntArray:
        """The leaf that each row reaches, as an index of a node of `tree_`."""
        check_is_fitted(self)
        return self.tree_.apply(
            self._matched(X), handle_unknown=self.handle_unknown, handle_missing=self.handle_missing
        )

    def decision_path(self, X: Any) -> Any:
        """A sparse matrix, rows by nodes, with a 1 for every node that each row passes."""
        from holdfast.tree.route import passed_nodes

        leaves = self.apply(X)
        return passed_nodes(self.tree_, leaves)

    def _values(self, X: Any) -> FloatArray:
        leaves = self.apply(X)
        values: FloatArray = self.tree_.value[leaves]
        return values

    def _likeliest(self, X: Any) -> IntArray:
        """Index of the class that the leaf of every row predicts."""
        leaves = self.apply(X)
        outcome: IntArray = self.tree_.outcome[leaves]
        return outcome

    def get_depth(self) -> int:
        """Greatest number of questions that any row is asked."""
        check_is_fitted(self)
        return self.tree_.depth

    def get_n_leaves(self) -> int:
        """Number of leaves of the tree."""
        check_is_fitted(self)
        return self.tree_.n_leaves

    @property
    def expected_cost_(self) -> float:
        """What asking a row costs by `feature_costs`, averaged over the training weight."""
        from holdfast.growth.costs import expected_cost

        check_is_fitted(self)
        if (costs := getattr(self, "feature_costs", None)) is None:
            raise AttributeError("expected_cost_ needs feature_costs, which are None.")
        return expected_cost(self.tree_, costs)

    def rules(
        self, *, missing: bool = False, positive: Any = None, order: str = "tree", intervals: bool = False
    ) -> str:
        """One IF ... THEN rule per leaf, as text, with the options of `Tree.rules`."""
        check_is_fitted(self)
        return self.tree_.rules(missing=missing, positive=positive, order=order, intervals=intervals)

    def explain_row(self, x: Any, **options: Any) -> RowExplanation:
        """The path of one row, and the smallest changes of it that lead elsewhere.

        `x` and the options are those of the function `explain_row`.
        """
        check_is_fitted(self)
        return explain_row(self, x, **options)

    @property
    def feature_importances_(self) -> FloatArray:
        """Fraction of the decrease of impurity that each column brought.

        One number per column of X, as scikit-learn's tools expect. What a question of the user brought is
        divided evenly among the columns it reads; `tree_.importances` has it undivided, questions last.
        """
        check_is_fitted(self)
        return self._column_importances(self.tree_.importances)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "tree_")


@cache
def _parameter_names(estimator: Any) -> tuple[str, ...]:
    """The parameters of a class of estimators: scikit-learn reads its signature anew whenever it is asked."""
    return tuple(estimator._get_param_names())


def _is_default(value: Any, default: Any) -> bool:
    return not isinstance(value, np.ndarray) and bool(value == default)


def seed_if(is_needed: bool, random_state: Any) -> int:
    """A seed of 32 bits; 0 if none is needed, and then the caller's generator is left alone."""
    if is_needed:
        return drawn_seed(random_state)
    _checked_generator(random_state)
    return 0


def drawn_seed(random_state: Any) -> int:
    """A seed of 32 bits, drawn from a seed, a generator of either kind, or None."""
    generator = _checked_generator(random_state)
    if isinstance(generator, np.random.Generator):
        return int(generator.integers(2**32, dtype=np.uint32))
    return int(generator.randint(2**32, dtype=np.uint32))


def _checked_generator(random_state: Any) -> Any:
    return random_state if isinstance(random_state, np.random.Generator) else check_random_state(random_state)


def classes_of(y: Any, table: Table) -> NDArray[Any]:
    """The classes in the order of the table, each as y first writes it, so that the dtype of y is kept.

    y is None where the table was not made here: then they are as it has them.
    """
    if y is None:
        return label_array(table.schema.target.classes)
    rows = _first_of_classes(table)
    if isinstance(y, list | tuple):
        # As one array, numbers next to text would turn into text.
        return label_array(tuple(np.asarray(y, object).ravel()[rows].tolist()))
    if hasattr(y, "iloc"):  # of pandas, whose text takes a while to become objects
        return np.asarray(y.iloc[rows]).ravel()
    classes: NDArray[Any] = np.asarray(y).ravel()[rows]
    return classes


def _first_of_classes(table: Table) -> LongArray:
    """The first row of each class that counts."""
    counted = np.arange(table.n_rows) if table.weight is None else np.flatnonzero(table.weight > 0)
    first = np.full(len(table.schema.target.classes), table.n_rows)
    np.minimum.at(first, table.target[counted], counted)
    return first


def _warn(start: str) -> None:
    warnings.warn(
        f"{start}: its columns are taken in the order that they had then.", DataWarning, stacklevel=5
    )
