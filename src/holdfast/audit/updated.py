"""A centred tree that is not trained again but updated: what a deployed tree does when new rows come."""

from typing import Any, Self

from holdfast.estimators.stable import StableTreeClassifier, StableTreeEstimator, StableTreeRegressor


class _Updated(StableTreeEstimator):
    """A stable tree that is updated where others are trained again."""

    def fit_again(
        self, previous: "_Updated", X: Any, y: Any, sample_weight: Any = None, *, groups: Any = None
    ) -> Self:
        """Take the tree before, and move it as little as the rows ask."""
        parameters = self.get_params(deep=False)
        self.__dict__ |= vars(previous)
        self.set_params(**parameters)
        self.update(X, y, sample_weight, groups=groups, allow_new_values=True, validation=None)
        return self


class UpdatedTreeClassifier(_Updated, StableTreeClassifier):
    """A centred tree of classes that is updated where others are trained again."""


class UpdatedTreeRegressor(_Updated, StableTreeRegressor):
    """The same for numbers."""
