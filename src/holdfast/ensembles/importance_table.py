"""The importances of the features as a table."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from holdfast.arrays import FloatArray, LongArray, without_last_digits
from holdfast.scoring.metric import Metric
from holdfast.text.view import View, ViewMixin


class Spread(NamedTuple):
    """A figure of every feature with its variation over the trees."""

    mean: FloatArray
    deviation: FloatArray  # standard deviation over the trees
    error: FloatArray  # standard error of the mean


@dataclass(frozen=True, eq=False, repr=False)
class Importances(ViewMixin):
    """How much each feature does for the trees of an ensemble, in the order of the schema."""

    names: tuple[str, ...]
    n_estimators: int
    n_splits: LongArray  # on each feature, in all trees
    total_decrease: Spread  # of impurity, times the weight of the nodes
    decrease_per_split: Spread
    permutation: Spread | None = None  # of the feature among rows out of the bag: what the score loses
    metric: Metric | None = None  # of that score

    def __len__(self) -> int:
        return len(self.names)

    @property
    def order(self) -> LongArray:
        """Features by importance: by permutation if computed, else by total decrease."""
        leading = self.total_decrease if self.permutation is None else self.permutation
        return np.argsort(-without_last_digits(leading.mean), kind="stable")

    def columns(self) -> dict[str, list[Any]]:
        """Column names and one entry per feature, the most important first."""
        order = self.order.tolist()
        columns: dict[str, list[Any]] = {"feature": [self.names[place] for place in order]}
        for name in ("total_decrease", "decrease_per_split", "permutation"):
            spread: Spread | None = getattr(self, name)
            if spread is not None:
                columns[name] = spread.mean[order].tolist()
                columns[f"{name}_deviation"] = spread.deviation[order].tolist()
                columns[f"{name}_error"] = spread.error[order].tolist()
        return {**columns, "n_splits": self.n_splits[order].tolist()}

    def to_frame(self, backend: str | None = None) -> Any:
        """Return a pandas, polars or pyarrow frame (the first installed) with one row per feature."""
        import narwhals as nw

        from holdfast.tree.frame import frame_from

        columns = self.columns()
        types: dict[str, Any] = dict.fromkeys(columns, nw.Float64)
        return frame_from(columns, types | {"feature": nw.String, "n_splits": nw.Int64}, backend)

    def plot(self, ax: Any = None, *, kind: str | None = None, max_features: int = 20) -> Any:
        """An `ImportanceDisplay`, drawn: bars with their spread over the trees."""
        from holdfast.show.plots.importance import ImportanceDisplay

        return ImportanceDisplay.from_result(self, ax=ax, kind=kind, max_features=max_features)

    def _view(self) -> View:
        from holdfast.show.importances import importances_view

        return importances_view(self)
