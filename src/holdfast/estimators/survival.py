"""Trees and forests for times to an event."""

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np
from sklearn.utils.validation import check_is_fitted

from holdfast._arrays import FloatArray
from holdfast._check import check_number
from holdfast.data.schema import Hazard
from holdfast.data.survival import (
    cumulative_hazard,
    lost_fraction,
    median_times,
    read_survival,
)
from holdfast.data.table import Table
from holdfast.data.target import Task
from holdfast.errors import ParameterError
from holdfast.estimators.base import TableEstimator
from holdfast.estimators.forest import BaggedEstimator
from holdfast.estimators.stable import StableTreeEstimator
from holdfast.estimators.tree import SizedTreeEstimator
from holdfast.growth.rules import MaxFeatures
from holdfast.scoring.metric import TrueValues, make_metric


class SurvivalBase(TableEstimator):
    """Mixin of the estimators that predict times to an event."""

    _task: ClassVar[Task] = "survival"
    _estimator_type: ClassVar[str] = "survival"

    # The parameters that the methods here read.
    hazard: str
    horizon: float | None

    def _rules(self, **changes: Any) -> Any:
        if (criterion := getattr(self, "criterion", "poisson")) != "poisson":
            raise ParameterError(
                f"criterion={criterion!r} is not for times to an event: survival trees have 'poisson', the "
                "deviance of the events."
            )
        return super()._rules(**changes)

    def _read_y(self, y: Any) -> Any:
        return None if y is None else read_survival(y)

    @property
    def event_times_(self) -> FloatArray:
        """The times at which the cumulative hazard of all rows is known."""
        return np.array(self._hazard().times)

    @property
    def horizon_(self) -> float:
        """The time up to which survival is compared and shown."""
        return self._hazard().horizon

    def _hazard(self) -> Hazard:
        check_is_fitted(self)
        hazard = self.schema_.target.hazard
        assert hazard is not None
        return hazard

    def predict(self, X: Any) -> FloatArray:
        """Predict the relative risk of every row.

        Parameters
        ----------
        X : array or frame
            Rows to predict, with the columns of `fit`. A frame is matched by name.

        Returns
        -------
        array of shape (n_rows,)
            Events by those expected from the hazard of all training rows: 2 is twice their hazard.
        """
        values: FloatArray = self._values(X)
        return values[:, 0]

    def predict_survival_function(self, X: Any, times: Any = None) -> FloatArray:
        """Predict the probability of every row to survive each time without the event.

        Parameters
        ----------
        X : array or frame
            Rows to predict, with the columns of `fit`.
        times : array, optional
            Default: `event_times_`.

        Returns
        -------
        array of shape (n_rows, n_times)
        """
        return np.exp(-self.predict_cumulative_hazard_function(X, times))

    def predict_cumulative_hazard_function(self, X: Any, times: Any = None) -> FloatArray:
        """Predict the cumulative hazard of every row up to each time.

        Parameters
        ----------
        X : array or frame
            Rows to predict, with the columns of `fit`.
        times : array, optional
            Default: `event_times_`.

        Returns
        -------
        array of shape (n_rows, n_times)
        """
        risks = self.predict(X)
        read = self.event_times_ if times is None else np.asarray(times, np.float64)
        if np.isnan(read).any():
            raise ParameterError("times must be numbers, and they have missing values: leave these out.")
        return np.asarray(np.multiply.outer(risks, cumulative_hazard(self._hazard(), read)), np.float64)

    def predict_median(self, X: Any) -> FloatArray:
        """Predict the median survival time of every row.

        Parameters
        ----------
        X : array or frame
            Rows to predict, with the columns of `fit`.

        Returns
        -------
        array of shape (n_rows,)
            Infinite where more than half survive the last known time.
        """
        return median_times(self._hazard(), self.predict(X))

    def predict_restricted_mean(self, X: Any, horizon: float | None = None) -> FloatArray:
        """Predict the mean survival time up to the horizon.

        Parameters
        ----------
        X : array or frame
            Rows to predict, with the columns of `fit`.
        horizon : float, optional
            Default: `horizon_`.

        Returns
        -------
        array of shape (n_rows,)
        """
        hazard = self._hazard()
        check_number("horizon", horizon, is_open="low", none_ok=True)
        if horizon is not None:
            hazard = replace(hazard, horizon=float(horizon))
        return hazard.horizon * (1.0 - lost_fraction(hazard, self.predict(X)))

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Compute the concordance of predicted risks and times (Harrell's C).

        Parameters
        ----------
        X : array or frame
            Rows, with the columns of `fit`.
        y : structured array, frame or tuple
            Times and events, as in `fit`.
        sample_weight : array, optional
            Weight of every row.

        Returns
        -------
        float
            0.5 is chance, 1 a perfect ranking.
        """
        check_is_fitted(self)
        table = Table.from_arrays(X, y, sample_weight, schema=self.schema_, handle_unknown="missing")
        metric = make_metric("concordance", table.schema.target)
        return metric.score(self.predict(X)[:, None], TrueValues.of(table)).value


@dataclass(eq=False, repr=False, kw_only=True)
class SurvivalTree(SurvivalBase, SizedTreeEstimator):
    """A decision tree that predicts survival.

    The tree grows by the deviance of the events, as in rpart with method="exp" (LeBlanc and Crowley, 1992). A
    leaf predicts the risk relative to all training rows, and with it a survival function.

    Parameters
    ----------
    hazard : {"nelson-aalen", "piecewise"}
        Estimate of the hazard of all rows: with a step at each event, or constant between two events, as in
        rpart.
    horizon : float, optional
        Time up to which survival is shown and compared, in the unit of the times. Default: until when a tenth
        of the rows is observed, rounded down, to whole years if `time_unit` is known.
    time_unit : str, optional
        Unit of the times, such as "days", for display: "5-year survival".
    leaf_values : str
        "shrunk" shrinks the risk of each leaf towards the nodes above, the more the fewer events are expected
        in these; "labels" takes the events of its rows alone.
    max_depth, max_leaf_nodes, min_samples_leaf, ccp_alpha, monotonic_cst and others
        As in `TreeClassifier`, without those about classes. Sizes are chosen by the deviance.

    Attributes
    ----------
    tree_ : Tree
        The fitted tree.
    event_times_, horizon_
        Times of events, and the horizon.
    others
        As in `TreeClassifier`, without those about classes.

    Examples
    --------
    >>> X = [[float(age)] for age in range(20, 80)]
    >>> time, event = [100.0 - row[0] for row in X], [row[0] % 3 > 0 for row in X]
    >>> model = SurvivalTree(max_depth=1).fit(X, (time, event))
    >>> model.predict_survival_function([[30.0], [70.0]], times=[40.0]).round(2).ravel()
    array([0.82, 0.46])
    """

    criterion: str = "poisson"
    min_samples_leaf: int | float = 10
    leaf_values: str = "shrunk"
    hazard: str = "nelson-aalen"
    horizon: float | None = None
    time_unit: str | None = None


@dataclass(eq=False, repr=False, kw_only=True)
class StableSurvivalTree(SurvivalBase, StableTreeEstimator):
    """A decision tree that predicts survival and stays recognisable when the data change.

    Parameters
    ----------
    hazard, horizon, time_unit
        As in `SurvivalTree`.
    others
        As in `StableTreeClassifier`, without those about classes.

    Examples
    --------
    >>> X = [[float(age)] for age in range(20, 80)]
    >>> time, event = [100.0 - row[0] for row in X], [row[0] % 3 > 0 for row in X]
    >>> model = StableSurvivalTree(max_leaf_nodes=2).fit(X, (time, event))
    >>> model.predict([[30.0], [70.0]]).round(1)
    array([0.7, 3.6])
    """

    criterion: str = "poisson"
    hazard: str = "nelson-aalen"
    horizon: float | None = None
    time_unit: str | None = None


@dataclass(eq=False, repr=False, kw_only=True)
class SurvivalForest(SurvivalBase, BaggedEstimator):
    """A random forest that predicts survival: the mean relative risk of its trees.

    Parameters
    ----------
    hazard, horizon, time_unit
        As in `SurvivalTree`.
    others
        As in `ForestRegressor`.

    Examples
    --------
    >>> X = [[float(age)] for age in range(20, 80)]
    >>> time, event = [100.0 - row[0] for row in X], [row[0] % 3 > 0 for row in X]
    >>> model = SurvivalForest(n_estimators=20, random_state=0).fit(X, (time, event))
    >>> bool(model.predict([[30.0]]) < model.predict([[70.0]]))
    True
    """

    criterion: str = "poisson"
    min_samples_leaf: int | float = 5
    max_features: MaxFeatures | Literal["oob", "cv"] = "third"
    cv: Any = 5
    hazard: str = "nelson-aalen"
    horizon: float | None = None
    time_unit: str | None = None
