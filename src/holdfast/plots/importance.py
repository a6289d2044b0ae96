"""Plot of the importance of features, with its variation from tree to tree."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from matplotlib.axes import Axes

from holdfast._arrays import FloatArray, round_last_digits
from holdfast._text import pluralize
from holdfast.ensembles.importances import Importances, Spread
from holdfast.errors import ModelError, ParameterError
from holdfast.explain.feature_use import FeatureUse, FeatureUses
from holdfast.plots.display import LATER, Display, label_with_note, name_ticks
from holdfast.tree.svg import BLUE, GREY, INK, PAPER, RED, lighten
from holdfast.tree.tree import Tree

MOST_FEATURES = 20
KINDS = ("total_decrease", "decrease_per_split", "permutation")
SHARE = "fraction of the decrease of impurity"


@dataclass(eq=False)
class ImportanceDisplay(Display):
    """Importance of features as bars, the most important first.

    Examples
    --------
    >>> from holdfast import ImportanceDisplay, TreeClassifier
    >>> model = TreeClassifier().fit([[20.0, 1.0], [50.0, 1.5]], ["no", "yes"])
    >>> ImportanceDisplay.from_estimator(model).names
    ('x0', 'x1')
    """

    names: tuple[str, ...]
    importances: FloatArray
    measure: str = SHARE
    spread: FloatArray | None = None  # standard deviation over the trees
    n_trees: int = 1
    chosen: FloatArray | None = None  # importances of the chosen tree, if the bars are of many trees
    max_features: int = MOST_FEATURES  # bars to draw
    is_signed: bool = False  # False: whiskers end at 0

    def __post_init__(self) -> None:
        if self.max_features < 1:
            raise ParameterError(f"max_features={self.max_features!r} is out of range: it is at least 1.")

    @classmethod
    def from_result(
        cls, result: Any, *, kind: str | None = None, max_features: int = MOST_FEATURES, ax: Any = None
    ) -> Self:
        """Show importances, the use of features, or a tree.

        Parameters
        ----------
        result : Importances, FeatureUses or Tree
        kind : {"total_decrease", "decrease_per_split", "permutation"}, optional
            Column of `Importances`. Default: "permutation" if it was measured, else "total_decrease".
        max_features : int
        ax : matplotlib Axes, optional
        """
        if isinstance(result, Importances):
            return cls._from_table(result, kind, max_features)._drawn_on(ax)
        if isinstance(result, Tree):
            return cls(result.schema.names, result.importances, max_features=max_features)._drawn_on(ax)
        uses: list[FeatureUse] = list(result)
        return cls(
            names=tuple(use.name for use in uses),
            importances=np.array([use.importance for use in uses]),
            spread=np.array([use.spread for use in uses]),
            n_trees=0,
            max_features=max_features,
        )._drawn_on(ax)

    @classmethod
    def _from_table(cls, table: Importances, kind: str | None, max_features: int) -> Self:
        kind = kind or ("total_decrease" if table.permutation is None else "permutation")
        spread: Spread | None = getattr(table, kind) if kind in KINDS else None
        if spread is None:
            why = "was not measured: fit with permutation_importance=True" if kind in KINDS else "is unknown"
            raise ParameterError(f"kind={kind!r} {why}; the kinds are {list(KINDS)}.")
        deviation = spread.deviation if table.n_estimators > 1 else None
        measure, is_signed = _measure(table, kind), kind == "permutation"
        return cls(
            table.names, spread.mean, measure, deviation, table.n_estimators, None, max_features, is_signed
        )

    @classmethod
    def from_estimator(cls, model: Any, *, max_features: int = MOST_FEATURES, ax: Any = None) -> Self:
        """Show the importances of a fitted estimator.

        A forest or bagging has `importances_`. For a stable tree the bars are of the reference trees and
        candidates, and a diamond marks the chosen tree. Other estimators have `feature_importances_`.
        """
        if isinstance(found := getattr(model, "importances_", None), Importances):
            return cls.from_result(found, max_features=max_features, ax=ax)
        if hasattr(model, "feature_use") and hasattr(model, "trained_"):
            return cls._from_stable(model, max_features)._drawn_on(ax)
        figures = getattr(model, "feature_importances_", None)
        if figures is None:
            raise ModelError(f"{type(model).__name__} has no importances: fit it, or give another model.")
        names = getattr(model, "feature_names_in_", None)
        if names is None:
            names = [f"x{place}" for place in range(len(figures))]
        return cls(tuple(map(str, names)), np.asarray(figures), max_features=max_features)._drawn_on(ax)

    @classmethod
    def _from_stable(cls, model: Any, max_features: int) -> Self:
        uses: FeatureUses = model.feature_use()
        display = cls.from_result(uses, max_features=max_features, ax=LATER)
        own = dict(zip(model.tree_.schema.names, model.tree_.importances.tolist(), strict=True))
        display.chosen = np.array([own[name] for name in display.names])
        return display

    @property
    def order(self) -> list[int]:
        """Indices of the features that are drawn, the most important first."""
        order = np.argsort(-round_last_digits(self.importances), kind="stable")
        shown: list[int] = order[: self.max_features].tolist()
        return shown

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw the bars, with whiskers if there are several trees."""
        order = self.order
        places = np.arange(len(order))
        with self._drawing(ax, (7.0, min(1.7 + 0.28 * len(order), 40.0))) as ax:
            ax.barh(places, self.importances[order], height=0.7, color=lighten(BLUE, 0.75), label="mean")
            if self.spread is not None:
                ax.errorbar(
                    self.importances[order],
                    places,
                    xerr=self._whiskers(order),
                    fmt="none",
                    ecolor=INK,
                    elinewidth=1.0,
                    capsize=2.5 if len(order) <= 40 else 0.0,
                    label="spread",
                )
            if self.chosen is not None:
                ax.plot(
                    self.chosen[order],
                    places,
                    "D",
                    color=RED,
                    markeredgecolor=PAPER,
                    markersize=6.5,
                    label="chosen tree",
                )
            ax.set_ylim(len(order) - 0.5, -0.5)
            ax.axvline(0.0, color=GREY, linewidth=0.8)
            ax.tick_params(axis="y", length=0)
            name_ticks(ax.yaxis, places.tolist(), [self.names[place] for place in order])
            ax.grid(axis="x")
            ax.set_title("Importance of the features")
            label_with_note(ax, self.measure, self._note(len(order)))
        return self

    def _whiskers(self, order: list[int]) -> FloatArray:
        """Return the lengths of the whiskers to the left and to the right."""
        assert self.spread is not None
        right = self.spread[order]
        return np.stack([right if self.is_signed else np.minimum(right, self.importances[order]), right])

    def _note(self, n_shown: int) -> str:
        parts = []
        if n_shown < len(self.names):
            parts.append(f"{n_shown} of {len(self.names)} shown")
        if self.spread is not None:
            trees = pluralize(self.n_trees, "tree") if self.n_trees else "the trees"
            parts.append(f"bars: mean over {trees}; lines: ± one standard deviation")
        if self.chosen is not None:
            parts.append("diamonds: the chosen tree")
        return "; ".join(parts)


def _measure(table: Importances, kind: str) -> str:
    if kind == "total_decrease":
        return "total decrease of impurity"
    if kind == "decrease_per_split":
        return "decrease of impurity per split"
    metric = table.metric
    if metric is None:
        return "loss of score when the feature is permuted"
    return f"{'rise' if metric.is_loss else 'loss'} of {metric.title} when the feature is permuted"
