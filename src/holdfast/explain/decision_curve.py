"""Decision curves: the net benefit of acting on a model, by the threshold probability.

The net benefit is that of Vickers and Elkin, "Decision curve analysis", Medical Decision Making 26 (2006).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from holdfast._arrays import FloatArray, freeze
from holdfast.data.schema import Label, Target
from holdfast.data.target import read_weight
from holdfast.errors import DataError, ModelError, ParameterError
from holdfast.scoring.metric import Metric, TrueValues
from holdfast.scoring.thresholds import NetBenefit

THRESHOLDS = tuple(np.arange(1, 100) / 100)


@dataclass(frozen=True, eq=False, repr=False)
class DecisionCurve:
    """Net benefit per row of every model at every threshold probability, with its standard error.

    Acting on no row has a net benefit of 0.

    Attributes
    ----------
    thresholds : array of shape (n_thresholds,)
    names : tuple of str
        The models.
    benefit, error : array of shape (n_models, n_thresholds)
        Net benefit and its standard error.
    act_on_all : array of shape (n_thresholds,)
        Net benefit of acting on every row.
    positive : label
        The class to act on.
    prevalence : float
        Its fraction of the rows.
    n_rows : int
    """

    thresholds: FloatArray
    names: tuple[str, ...]
    benefit: FloatArray
    error: FloatArray
    act_on_all: FloatArray
    positive: Label
    prevalence: float
    n_rows: int

    def __post_init__(self) -> None:
        for name in ("thresholds", "benefit", "error", "act_on_all"):
            object.__setattr__(self, name, freeze(getattr(self, name)))

    @property
    def gain(self) -> FloatArray:
        """Net benefit beyond the better of acting on all rows and on none, (n_models, n_thresholds)."""
        return np.asarray(self.benefit - np.maximum(self.act_on_all, 0.0), np.float64)

    def columns(self) -> dict[str, list[Any]]:
        """Return the curves by column, one entry per model and threshold."""
        n = len(self.thresholds)
        return {
            "model": [name for name in self.names for _ in range(n)],
            "threshold": self.thresholds.tolist() * len(self.names),
            "net_benefit": self.benefit.ravel().tolist(),
            "error": self.error.ravel().tolist(),
            "act_on_all": self.act_on_all.tolist() * len(self.names),
        }

    def to_frame(self, backend: str | None = None) -> Any:
        """Return one row per model and threshold, as a pandas, polars or pyarrow frame."""
        import narwhals as nw

        from holdfast.tree.frame import frame_from

        columns = self.columns()
        types: dict[str, Any] = dict.fromkeys(columns, nw.Float64) | {"model": nw.String}
        return frame_from(columns, types, backend)

    def plot(self, ax: Any = None) -> Any:
        """Draw the net benefit by the threshold probability, and return the `DecisionCurveDisplay`."""
        from holdfast.plots.performance import DecisionCurveDisplay

        return DecisionCurveDisplay.from_result(self, ax=ax)

    def _repr_html_(self) -> str:
        from holdfast.plots.display import LATER
        from holdfast.plots.performance import DecisionCurveDisplay

        return DecisionCurveDisplay.from_result(self, ax=LATER).to_svg()

    def __repr__(self) -> str:
        models = ", ".join(self.names)
        return f"<DecisionCurve: {models}, of {self.positive!r}, {self.n_rows:,} rows>"


def decision_curve(
    models: Any,
    X: Any,
    y: Any,
    sample_weight: Any = None,
    *,
    positive: Label | None = None,
    thresholds: Any = THRESHOLDS,
    groups: Any = None,
) -> DecisionCurve:
    """What models are worth on rows X, of classes y, that they have not seen.

    `models` is a fitted model with `predict_proba`, a tree, or a mapping of names to several. `positive` is
    the class that one acts on: by default that of the model or, of another library's, the rarer in y. Rows of
    one of the `groups` (a patient) are not independent, which the standard errors know.

    >>> from holdfast import TreeClassifier
    >>> X, y = [[1.0], [2.0], [3.0], [4.0], [5.0]], ["well", "well", "well", "ill", "ill"]
    >>> curve = decision_curve(TreeClassifier().fit(X, y), X, y, thresholds=[0.25, 0.5])
    >>> print(curve.benefit, curve.act_on_all.round(3))
    [[0.4 0.4]] [ 0.2 -0.2]
    """
    named = dict(models) if isinstance(models, Mapping) else {type(models).__name__: models}
    if not named:
        raise ParameterError("models is empty: give at least one.")
    points = _checked(thresholds)
    truth = np.asarray(y, object).ravel()
    first = next(iter(named.values()))
    classes = _classes(first)
    place = _place(classes, truth, _remembered(first) if positive is None else positive)
    weight = read_weight(sample_weight, len(truth))
    rows = TrueValues(
        Target(classes=("other", "positive")),
        (truth == classes[place]).astype(np.int32),
        weight,
        _marks(groups),
    )
    found = [
        [Metric("", "", False, NetBenefit(point, 1)).score(predicted, rows) for point in points.tolist()]
        for predicted in (
            _probabilities(name, model, X, classes[place], len(truth)) for name, model in named.items()
        )
    ]
    prevalence = float(np.average(rows.values, weights=weight))
    return DecisionCurve(
        thresholds=points,
        names=tuple(map(str, named)),
        benefit=np.array([[score.value for score in line] for line in found]),
        error=np.array([[score.error for score in line] for line in found]),
        act_on_all=prevalence - (1.0 - prevalence) * points / (1.0 - points),
        positive=classes[place],
        prevalence=prevalence,
        n_rows=len(truth),
    )


def _checked(thresholds: Any) -> FloatArray:
    points = np.atleast_1d(np.asarray(thresholds, np.float64))
    if points.ndim != 1 or not len(points) or not ((points > 0) & (points < 1)).all():
        raise ParameterError(f"thresholds={thresholds!r} are out of range: give numbers between 0 and 1.")
    return points


def _classes(model: Any) -> tuple[Label, ...]:
    """The classes of a model, in the order of its probabilities."""
    schema = getattr(model, "schema", None)
    classes = getattr(model, "classes_", ()) if schema is None else schema.target.classes
    if not len(classes) or not hasattr(model, "predict_proba"):
        raise ModelError(f"{type(model).__name__} has no class probabilities: give a fitted classifier.")
    return tuple(getattr(label, "item", lambda own=label: own)() for label in classes)


def _remembered(model: Any) -> Label | None:
    """Return the positive class of a model of holdfast."""
    schema = getattr(model, "schema", getattr(model, "schema_", None))
    return None if schema is None else schema.target.positive


def _place(classes: tuple[Label, ...], truth: Any, positive: Label | None) -> int:
    if positive is not None:
        if positive not in classes:
            raise ParameterError(
                f"positive={positive!r} is not a class of the model: choose one of {list(classes)}."
            )
        return classes.index(positive)
    if len(classes) != 2:
        raise ParameterError(
            f"The model has {len(classes)} classes: choose the one to act on with positive=."
        )
    return int(2 * np.count_nonzero(truth == classes[1]) <= len(truth))


def _probabilities(name: str, model: Any, X: Any, label: Label, n_rows: int) -> FloatArray:
    """Predict the probabilities of any other class, and of this one."""
    classes = _classes(model)
    if label not in classes:
        raise ParameterError(f"The model {name!r} has no class {label!r}: its classes are {list(classes)}.")
    predicted = np.asarray(model.predict_proba(X), np.float64)[:, classes.index(label)]
    if len(predicted) != n_rows:
        raise DataError(f"X has {len(predicted)} rows and y has {n_rows}: give a class for each row.")
    return np.stack([1.0 - predicted, predicted], axis=1)


def _marks(groups: Any) -> Any:
    return (
        None if groups is None else np.unique(np.asarray(groups, object).astype(str), return_inverse=True)[1]
    )
