"""The harness of compare and audit: read the rows, fit a model on some of them, and predict others."""

import inspect
import sys
import time
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from holdfast._arrays import FloatArray, IntArray, LongArray
from holdfast._text import quoted
from holdfast.adapters import as_tree, needs_integer_classes
from holdfast.data.columns import to_label
from holdfast.data.folds import read_groups, read_stage, renumber_groups, subset_groups
from holdfast.data.frame import Frame, make_frame
from holdfast.data.row_order import find_fixed_order
from holdfast.data.schema import Schema, Target
from holdfast.data.survival import is_survival, read_survival, split_survival
from holdfast.data.table import Table
from holdfast.data.target import Task, get_target_name, read_vector
from holdfast.errors import DataError, DataWarning, ParameterError
from holdfast.scoring.metric import TrueValues
from holdfast.tree.tree import Tree


@dataclass(frozen=True, eq=False)
class EvaluationData:
    """The rows of an evaluation, as the models get them and as a table."""

    X: Any
    y: Any
    table: Table  # the same rows, for folds, true values and tree distances
    groups: LongArray | None  # the key of each group
    stage: LongArray | None

    @classmethod
    def read(
        cls,
        X: Any,
        y: Any,
        weight: Any,
        task: Task | None,
        *,
        groups: Any = None,
        stage: Any = None,
        horizon: float | None = None,
        models: Iterable[Any] = (),
    ) -> "EvaluationData":
        """Read the rows; X stays in its type.

        Without a horizon, that of the models holds if they agree.
        """
        models = tuple(models)
        if horizon is None:
            horizon = _find_common(models, "horizon")
        X = _collect(X)
        n_rows = make_frame(X).n_rows
        task = "survival" if task is None and is_survival(y) else task
        if horizon is not None and task != "survival":
            raise ParameterError("horizon is for times to an event, which y does not hold: leave it out.")
        line = read_survival(y, n_rows) if task == "survival" else read_vector(y, n_rows)
        if horizon is not None and horizon >= (last := float(split_survival(line)[0].max())):
            raise ParameterError(
                f"horizon={horizon!r} must be before the last time of y, {last:g}: nobody is observed later."
            )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DataWarning)  # every model reads the columns itself
            table = Table.from_arrays(
                X,
                line,
                weight,
                task=task,
                target=get_target_name(y),
                horizon=horizon,
                time_unit=_find_common(models, "time_unit"),
            )
        return cls(
            X=X,
            y=line if isinstance(line, np.ndarray) else line.to_native(),
            table=table,
            groups=None if groups is None else read_groups(groups, n_rows),
            stage=None if stage is None else read_stage(stage, n_rows),
        )

    @property
    def target(self) -> Target:
        """What is predicted."""
        return self.table.schema.target

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.table.n_rows

    def in_fixed_order(self) -> tuple["EvaluationData", LongArray]:
        """Return the rows of positive weight in an order independent of the input, and this order."""
        marks = [mark for mark in (self.stage, self.groups) if mark is not None]
        order = find_fixed_order(self.table, marks)
        if self.table.weight is not None:
            order = order[self.table.weight[order] > 0]
        ordered = EvaluationData(
            X=subset_rows(self.X, order),
            y=subset_rows(self.y, order),
            table=self.table.subset(order),
            groups=subset_groups(self.groups, order),
            stage=renumber_groups(self.stage, order),
        )
        return ordered, order

    def true_values(self, rows: LongArray) -> TrueValues:
        """Return targets, weights and groups of some rows."""
        weight, groups = self.table.weight, renumber_groups(self.groups, rows)
        return TrueValues(
            self.target,
            self.table.target[rows],
            None if weight is None else weight[rows],
            None if groups is None else groups.astype(np.int32),
            None if self.table.survival is None else self.table.survival.subset(rows),
        )


def _collect(X: Any) -> Any:
    """Collect a lazy frame or a batch of Arrow, and make an array of a list of rows."""
    if isinstance(X, list | tuple):
        matrix = make_frame(X).matrix
        return X if matrix is None else matrix
    if isinstance(X, np.ndarray | Sequence | Frame):
        return X
    import narwhals as nw

    pyarrow = sys.modules.get("pyarrow")
    if pyarrow is not None and isinstance(X, pyarrow.RecordBatch):
        return pyarrow.Table.from_batches([X])
    frame = nw.from_native(X, allow_series=True, pass_through=True)
    return frame.collect().to_native() if isinstance(frame, nw.LazyFrame) else X


def subset_rows(X: Any, rows: LongArray) -> Any:
    """Select rows, or entries, in the type of X."""
    if isinstance(X, Frame):
        return X.subset(rows)
    if isinstance(X, np.ndarray):
        return X[rows]
    if isinstance(X, Sequence):
        return [X[row] for row in rows.tolist()]
    import narwhals as nw

    if isinstance(X, nw.DataFrame | nw.Series):
        return X[rows]
    frame = nw.from_native(X, allow_series=True, pass_through=True)
    return frame[rows].to_native() if isinstance(frame, nw.DataFrame | nw.Series) else np.asarray(X)[rows]


# -- the models -------------------------------------------------------------------------------------------

TASKS: dict[str, Task] = {
    "classifier": "classification",
    "regressor": "regression",
    "survival": "survival",
}


def _find_common(models: Iterable[Any], parameter: str) -> Any:
    """Return the value of a parameter that all models which have it share; None if there is no such value."""
    values = {getattr(model, parameter) for model in models if hasattr(model, parameter)}
    return values.pop() if len(values) == 1 else None


def find_task(models: dict[str, Any]) -> Task | None:
    """Find the task of the estimators; None if it is unknown."""
    kinds = {name: _estimator_type(model) for name, model in models.items()}
    for name, kind in kinds.items():
        if kind is not None and kind not in TASKS:
            raise ParameterError(
                f"The model {name!r} is a {kind}: give classifiers, regressors or models of survival."
            )
    known = {kind for kind in kinds.values() if kind is not None}
    if len(known) > 1:
        one, other = ([name for name, kind in kinds.items() if kind == each] for each in sorted(known))
        raise ParameterError(
            f"No metric compares {_KINDS[min(known)]}, {quoted(one)}, with {_KINDS[max(known)]}, "
            f"{quoted(other)}: leave one kind out."
        )
    return TASKS[known.pop()] if known else None


_KINDS = {"classifier": "classifiers", "regressor": "regressors", "survival": "models of survival"}


def _estimator_type(model: Any) -> str | None:
    from sklearn.utils import get_tags

    kind: str | None = getattr(_last_step(model)[1], "_estimator_type", None)
    try:
        return str(get_tags(model).estimator_type or "") or kind
    except Exception:  # such as an estimator for scikit-learn before 1.6
        return kind


def has_fit_argument(model: Any, name: str) -> bool:
    """Return True if the fit of the model, the last step of a pipeline or a searched model, takes `name`."""
    from sklearn.utils.validation import has_fit_parameter

    own = _last_step(model)[1]
    is_search = hasattr(model, "refit") and hasattr(model, "estimator")
    if name == "sample_weight" and is_search:
        own = model.estimator
    if name == "groups" and is_search and "Group" in type(getattr(model, "cv", None)).__name__:
        return True
    return bool(has_fit_parameter(own, name))


def check_weights(name: str, model: Any, data: EvaluationData, noun: str) -> None:
    """Raise a ParameterError if rows have weights and the fit of the model does not take them."""
    if data.table.weight is not None and not has_fit_argument(model, "sample_weight"):
        raise ParameterError(
            f"The {noun} {name!r} cannot take weights: the fit of {type(model).__name__} has no "
            f"sample_weight. Leave the {noun} or the weights out."
        )


def _last_step(model: Any) -> tuple[str, Any]:
    """Return name and model of the last step of a pipeline; of another model, no name and itself."""
    step: tuple[str, Any] = getattr(model, "steps", [("", model)])[-1]
    return step


class FittedModel(NamedTuple):
    """A model fitted on some rows, and its predictions for others."""

    values: FloatArray  # (rows, classes) probabilities, or (rows, 1) numbers
    classes: IntArray | None = None  # index of the predicted class, if wanted; None for numbers
    tree: Tree | None = None  # None if the model is not a single tree
    fit_seconds: float = np.nan
    predict_seconds: float = np.nan  # of one call
    leaves: float = np.nan  # of a single tree
    trees: float = np.nan  # of an ensemble
    model: Any = None
    survival: FloatArray | None = None  # (rows, times) probabilities to survive, if wanted and known
    firmness: FloatArray | None = None  # of each prediction: the share of agreement, or the width for numbers

    def one_hot(self) -> FloatArray:
        """Return the predicted classes as (rows, classes) zeros and ones."""
        assert self.classes is not None
        return np.asarray(self.classes[:, np.newaxis] == np.arange(self.values.shape[1]), np.float64)


def fit_and_predict(
    model: Any,
    data: EvaluationData,
    rows: LongArray,
    test: LongArray,
    *,
    X: Any = None,
    X_test: Any = None,
    previous: Any = None,
    with_classes: bool = False,
    times: FloatArray | None = None,
) -> FittedModel:
    """Fit the model on some rows, and predict the test rows; of models of survival also at some times.

    Weights, groups and stages go to models whose fit takes them. `X` and `X_test` have other columns in place
    of those of the data. With a `previous` model, the model is trained by `model.fit_again(previous, ...)`.
    Of a search, the best estimator is returned.
    """
    y = data.table.target if data.target.is_classes and needs_integer_classes(model) else data.y
    marks = {"sample_weight": data.table.weight, "groups": data.groups, "stage": data.stage}
    prefix = f"{name}__" if (name := _last_step(model)[0]) else ""
    options = {
        prefix + name: mark[rows]
        for name, mark in marks.items()
        if mark is not None and has_fit_argument(model, name)
    }
    if data.stage is not None and len(np.unique(data.stage[rows])) < 2:
        options.pop(f"{prefix}stage", None)  # a single stage has no early rows
    own_X, own_y = subset_rows(data.X if X is None else X, rows), subset_rows(y, rows)
    start = time.perf_counter()
    if previous is None:
        model.fit(own_X, own_y, **options)
    else:
        model.fit_again(previous, own_X, own_y, **options)
    seconds = time.perf_counter() - start
    leaves, trees = count_leaves_and_trees(model)
    model = getattr(model, "best_estimator_", model)
    own_test = subset_rows(data.X if X_test is None else X_test, test)
    values, classes, predict_seconds = predict(
        model, own_test, len(test), data.target, with_classes=with_classes
    )
    survival = None if times is None else predict_survival(model, own_test, times)
    return FittedModel(values, classes, None, seconds, predict_seconds, leaves, trees, model, survival)


def find_firmness(model: Any, X: Any) -> FloatArray | None:
    """Find how firm the predictions of a stable tree are: shares, or widths for numbers; else None."""
    if getattr(model, "references_", None) is None or not hasattr(model, "predict_firmness"):
        return None
    found = model.predict_firmness(X)
    return np.asarray(found.spread if found.share is None else found.share, np.float64)


def describe_error(error: Exception) -> str:
    """Describe an error of a model: its kind and its message."""
    return f"{type(error).__name__}: {error}".rstrip(": ")


# -- predictions ------------------------------------------------------------------------------------------


def predict(
    model: Any, X: Any, n_rows: int, target: Target, *, with_classes: bool = False
) -> tuple[FloatArray, IntArray | None, float]:
    """Return the probabilities or numbers that the model predicts, the classes if wanted, and the seconds.

    The class is that of `model.predict`: it need not be the one of the greatest probability.
    """
    if target.is_classes and needs_integer_classes(model):
        target = replace(target, classes=tuple(range(len(target.classes))))
    if not target.is_classes:
        numbers, seconds = _timed(model.predict, X)
        array = np.asarray(numbers, np.float64)
        array = array[:, np.newaxis] if array.ndim == 1 else array
        return _check_predictions(array, (n_rows, 1)), None, seconds
    values, classes, seconds = None, None, 0.0
    if hasattr(model, "predict_proba"):
        own, seconds = _timed(model.predict_proba, X)
        values = _order_classes(np.asarray(own, np.float64), model, target)
    if values is None or with_classes:
        labels, label_seconds = _timed(model.predict, X)
        plain = np.asarray(labels).ravel().tolist()
        index = {label: _class_index(label, target) for label in set(plain)}
        classes = np.array([index[label] for label in plain], np.int32)
        if len(classes) != n_rows:
            raise DataError(f"It predicts {len(classes)} classes, and {n_rows} were expected.")
        seconds = seconds or label_seconds
    if values is None:
        assert classes is not None
        values = np.eye(len(target.classes))[classes]
    return _check_predictions(values, (n_rows, len(target.classes))), classes, seconds


def predict_survival(model: Any, X: Any, times: FloatArray) -> FloatArray | None:
    """Predict the probability of every row to survive each time; None if the model cannot.

    Beyond the last time that it knows, a step function of scikit-survival keeps its last value.
    """
    function = getattr(model, "predict_survival_function", None)
    if function is None:
        return None
    if "times" in inspect.signature(function).parameters:
        return np.asarray(function(X, times), np.float64)
    steps = function(X)
    low, high = getattr(steps[0], "domain", (0.0, np.inf))
    within = np.clip(times, low, high)
    return np.array([np.reshape(step(within), len(times)) for step in steps], np.float64)


def _timed(function: Any, X: Any) -> tuple[Any, float]:
    start = time.perf_counter()
    return function(X), time.perf_counter() - start


def _order_classes(fractions: FloatArray, model: Any, target: Target) -> FloatArray:
    """Order the probabilities by the classes of the target, with 0 for a class that the model lacks."""
    if not hasattr(model, "classes_"):
        raise DataError("It has no classes_, which name the columns of predict_proba.")
    own = list(model.classes_)
    if fractions.ndim != 2 or fractions.shape[1] != len(own):
        raise DataError(
            f"Its predict_proba has the shape {fractions.shape}, and its classes_ are {quoted(own)}."
        )
    ordered = np.zeros((len(fractions), len(target.classes)))
    ordered[:, [_class_index(label, target) for label in own]] = fractions
    return ordered


def _class_index(label: Any, target: Target) -> int:
    plain = to_label(label)
    if plain not in target.classes:
        raise DataError(f"It predicts the class {plain!r}, and the target's are {quoted(target.classes)}.")
    return target.classes.index(plain)


def _check_predictions(values: FloatArray, shape: tuple[int, int]) -> FloatArray:
    if values.shape != shape:
        raise DataError(f"Its predictions have the shape {values.shape}, and {shape} was expected.")
    if not np.isfinite(values).all():
        raise DataError("It predicts numbers that are missing or infinite.")
    return values


# -- size and tree ----------------------------------------------------------------------------------------


def count_leaves_and_trees(model: Any) -> tuple[float, float]:
    """Count the leaves of a single tree, or the trees of an ensemble; NaN for the other."""
    if hasattr(model, "get_n_leaves"):
        return float(model.get_n_leaves()), np.nan
    if (ensemble := getattr(model, "ensemble_", None)) is not None:
        return np.nan, float(len(ensemble))
    # Boosting of several classes has an array of rounds by classes; a vote of other models has no trees.
    members = np.ravel(np.asarray(getattr(model, "estimators_", []), object))
    is_of_trees = len(members) and all(hasattr(member, "tree_") for member in members)
    return np.nan, float(len(members)) if is_of_trees else np.nan


def extract_tree(model: Any, data: EvaluationData, schema: Schema, X: Any, pool: LongArray) -> Tree | None:
    """Return the single tree of a model on the schema of the rows in `pool`, or None.

    Of a pipeline it is the tree at its end, on the schema of the transformed pool. `X` has the columns that
    the model was fitted on, and the schema is theirs.
    """
    last = _last_step(model)[1]
    try:
        own = as_tree(last)
    except TypeError:  # a forest, a linear model
        return None
    if last is not model and len(model.steps) > 1:
        schema = _transformed_schema(model[:-1], data, schema, X, pool)
    if not isinstance(getattr(last, "tree_", None), Tree):
        n_classes = len(schema.target.classes) if needs_integer_classes(last) else 0
        return as_tree(last, schema, classes=schema.target.classes if n_classes else None)
    if not hasattr(last, "feature_names_in_"):  # columns of an array are known by their places
        names = [feature.name for feature in schema.columns]
        columns = [
            replace(feature, name=name) for feature, name in zip(own.schema.columns, names, strict=True)
        ]
        custom = own.schema.features[len(columns) :]
        own = own.replace(schema=Schema((*columns, *custom), own.schema.target))
    return _on_schema(own, schema)


def _on_schema(tree: Tree, schema: Schema) -> Tree:
    """Put the tree on the schema, with custom features and columns of another kind from the tree."""
    own = {feature.name: feature for feature in tree.schema.features}
    features = [
        feature if own.get(feature.name, feature).kind == feature.kind else own[feature.name]
        for feature in schema.features
    ]
    extra = [feature for feature in tree.schema.features if feature.name not in schema.names]
    return tree.with_schema(Schema((*features, *extra), schema.target))


def _transformed_schema(steps: Any, data: EvaluationData, schema: Schema, X: Any, pool: LongArray) -> Schema:
    """Make the schema of the columns that reach the last step of a pipeline."""
    seen = steps.transform(subset_rows(X, pool))
    if hasattr(seen, "toarray"):
        seen = seen.toarray()
    task: Task = schema.target.task
    features = Table.from_arrays(seen, subset_rows(data.y, pool), task=task).schema.features
    if isinstance(seen, np.ndarray):
        try:
            names = [str(name) for name in steps.get_feature_names_out()]
        except (AttributeError, ValueError):
            names = [f"x{place}" for place in range(len(features))]
        features = tuple(replace(feature, name=name) for feature, name in zip(features, names, strict=True))
    return Schema(features, schema.target)
