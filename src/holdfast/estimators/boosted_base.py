"""What the boosted estimators share: their parameters as boosting settings, and what fit leaves behind."""

from typing import Any

from holdfast.arrays import FloatArray
from holdfast.data.table import Table
from holdfast.ensembles.boosting import Boosting, boost
from holdfast.ensembles.boosting_settings import BoostingSettings
from holdfast.estimators.base import seed_if
from holdfast.estimators.ensemble_base import EnsembleEstimator

# Parameters that say how rows are read, where the work is done and how to decide, not how to boost.
_OTHERS = (
    "custom_features",
    "categorical_features",
    "handle_unknown",
    "handle_missing",
    "n_jobs",
    "random_state",
    "verbose",
    "threshold",
)


class BoostedEstimator(EnsembleEstimator):
    """An estimator whose trees are boosted."""

    verbose: int

    # What fit leaves behind.
    n_estimators_: int
    train_loss_: FloatArray
    validation_loss_: FloatArray
    oob_scores_: FloatArray
    oob_improvement_: FloatArray

    def _boosting_settings(self) -> BoostingSettings:
        """The settings that the parameters spell out; a ParameterError names one that is out of range."""
        self._check_policies()
        parameters = self.get_params(deep=False)
        return BoostingSettings(**{name: parameters[name] for name in parameters if name not in _OTHERS})

    def _boosted(self, table: Table, groups: Any) -> Boosting:
        settings = self._boosting_settings()
        is_drawn = (
            settings.max_features is not None
            or settings.subsample < 1.0
            or bool(settings.early_stopping)
            or settings.leaf_values == "honest"
        )
        return boost(
            table,
            settings,
            groups=groups,
            seed=seed_if(is_drawn, self.random_state),
            n_jobs=self.n_jobs,
            progress="boosting" if self.verbose else "",
        )

    def _remember_losses(self, boosted: Boosting) -> None:
        self.n_estimators_ = boosted.n_estimators
        self.train_loss_ = boosted.train_loss
        self.validation_loss_ = boosted.validation_loss
        self.oob_scores_ = boosted.oob_scores
        self.oob_improvement_ = boosted.oob_improvement
