"""The ROC curve of the class that matters, by scikit-learn's own display, in the style of the house."""

from dataclasses import dataclass
from typing import Any, Self

from matplotlib.axes import Axes

from holdfast.arrays import FloatArray
from holdfast.data.schema import Label
from holdfast.show.palette import BLUE, GREY
from holdfast.show.plots.display import Display, label
from holdfast.show.plots.models import classes_of, is_class, leaves_of_rows, positive_index, probabilities
from holdfast.text.lines import label_text


@dataclass(eq=False)
class RocDisplay(Display):
    """True against false positives at every threshold of the probability of one class."""

    fpr: FloatArray
    tpr: FloatArray
    roc_auc: float
    positive: str  # the class whose probability it is
    by_leaf: bool = True  # a tree: each point adds a leaf, the likeliest first

    @classmethod
    def from_estimator(
        cls, model: Any, X: Any, y: Any, *, positive: Label | None = None, ax: Any = None
    ) -> Self:
        """The curve of a fitted model or a tree on rows X, of classes y, that it has not seen.

        `positive` is by default that of the model, where there are two classes; of more it must be said.
        """
        from sklearn.metrics import auc, roc_curve

        place = positive_index(model, y, positive)
        name = classes_of(model)[place]
        is_tree = leaves_of_rows(model, X) is not None
        fpr, tpr, _ = roc_curve(
            is_class(y, name), probabilities(model, X, place), drop_intermediate=not is_tree
        )
        return cls(fpr, tpr, float(auc(fpr, tpr)), label_text(name), is_tree)._drawn_on(ax)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw the curve, with a mark for each leaf of a tree."""
        from sklearn.metrics import RocCurveDisplay

        with self._drawing(ax, (5.4, 5.4)) as ax:
            drawn = RocCurveDisplay(fpr=self.fpr, tpr=self.tpr, roc_auc=self.roc_auc)
            drawn.plot(ax=ax, plot_chance_level=True)
            drawn.line_.set(color=BLUE, linewidth=1.6, label=f"AUC {self.roc_auc:.3f}")
            if self.by_leaf:
                drawn.line_.set(marker="o", markersize=4.5)
            drawn.chance_level_.set(color=GREY, linewidth=1.0, label="chance")
            ax.legend(loc="lower right")
            ax.set_title(f"ROC curve: probability of {label(self.positive, 20)}", parse_math=False)
            ax.set_xlabel("false positive rate")
            ax.set_ylabel("true positive rate")
            ax.grid()
        return self
