"""The size of a consensus tree: twelve leaves, or more where rows held out clearly support it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from holdfast._arrays import BoolArray, FloatArray, LongArray, freeze
from holdfast._choices import MOST_LEAVES
from holdfast._text import estimate_text, number_text
from holdfast._view import TextTable, View, ViewMixin
from holdfast.data.folds import subset_groups
from holdfast.growth.shrinkage import loss_of
from holdfast.scoring.metric import TrueValues, make_metric, score_difference
from holdfast.stable.rows import TrainingSet
from holdfast.tree.tree import Tree

SIZES = (MOST_LEAVES, 24, 48)
ENOUGH = 0.97  # of what the best size explains: the rest does not justify the distance of more leaves
CLEAR = 4.0  # standard errors by which a larger size must be better than twelve leaves


@dataclass(frozen=True, eq=False, repr=False)
class SizeChoice(ViewMixin):
    """The R² of trees of each size on held-out rows, and the chosen size.

    It is the smallest size that reaches 97 % of the best R², if that is better than twelve leaves by more
    than four standard errors, and else twelve. Sizes below twelve are never chosen: they would change
    from sample to sample, and a fixed smaller size is more stable.

    Examples
    --------
    >>> sizes, nothing = np.array([12, 24, 48]), np.zeros(3)
    >>> choice = SizeChoice(sizes, np.array([0.5, 0.5, 0.49]), nothing, nothing)
    >>> choice.max_leaf_nodes, choice.reason
    (12, '12 leaves: more leaves do not fit held-out rows better (R² 0.5).')
    """

    sizes: LongArray  # the most leaves, the least first
    explained: FloatArray  # fraction of the variance of the target
    difference: FloatArray  # to the fraction that the smallest size explains
    difference_error: FloatArray  # its standard error
    measure: str | None = None  # what `explained` is, unless R²

    def __post_init__(self) -> None:
        for name in ("sizes", "explained", "difference", "difference_error"):
            object.__setattr__(self, name, freeze(getattr(self, name)))

    def __len__(self) -> int:
        return len(self.sizes)

    @property
    def chosen(self) -> int:
        """The place of the chosen size."""
        place = int(np.argmax(self.explained >= ENOUGH * self.explained.max()))
        is_clear = self.difference[place] > CLEAR * self.difference_error[place]
        return place if is_clear else 0

    @property
    def max_leaf_nodes(self) -> int:
        """The chosen size."""
        return int(self.sizes[self.chosen])

    @property
    def reason(self) -> str:
        """The reason of the choice, in words."""
        texts = [number_text(max(float(each), 0.0), 3) for each in self.explained]
        measure = self.measure or "R²"
        place, usual = self.chosen, f"{self.sizes[0]} leaves"
        if place == 0:
            best = int(self.explained.argmax())
            if best == 0 or self.difference[best] <= 0:
                return f"{usual}: more leaves do not fit held-out rows better ({measure} {texts[0]})."
            return (
                f"{usual}: {self.sizes[best]} leaves fit held-out rows little better, or not clearly better "
                f"({measure} {texts[best]} instead of {texts[0]})."
            )
        reason = (
            f"{self.sizes[place]} leaves instead of {self.sizes[0]}: {measure} on held-out rows "
            f"{texts[0]} -> {texts[place]}"
        )
        if place + 1 == len(self):
            return f"{reason}."
        more = number_text(float(self.explained[place + 1] - self.explained[place]), 2)
        return f"{reason}; {self.sizes[place + 1]} leaves would add {more}."

    def columns(self) -> dict[str, list[Any]]:
        """Return the figures as columns: a list for every name, with one entry per size."""
        return {
            "max_leaf_nodes": self.sizes.tolist(),
            "explained": self.explained.tolist(),
            "difference": self.difference.tolist(),
            "difference_error": self.difference_error.tolist(),
            "chosen": [place == self.chosen for place in range(len(self))],
        }

    def to_frame(self, backend: str | None = None) -> Any:
        """Return one row per size.

        Parameters
        ----------
        backend : str, optional
            "pandas", "polars" or "pyarrow"; by default the first that is installed.

        Returns
        -------
        DataFrame
        """
        import narwhals as nw

        from holdfast.tree.frame import frame_from

        columns = self.columns()
        types: dict[str, Any] = dict.fromkeys(columns, nw.Float64)
        return frame_from(columns, types | {"max_leaf_nodes": nw.Int64, "chosen": nw.Boolean}, backend)

    def _view(self) -> View:
        return View(size_choice_table(self, self.reason))


def choose_size(rows: TrainingSet, held_out: Sequence[tuple[BoolArray, Sequence[Tree]]]) -> SizeChoice:
    """Choose among SIZES by trees of each size on the rows held out from them.

    The trees are students: searching for the consensus trees of every size would take far longer, and the
    differences between sizes are about the same.
    """
    explained, differences, errors = [], [], []
    for flags, trees in held_out:
        part = rows.table.subset(flags)
        target = part.schema.target
        metric = make_metric("brier", target) if target.is_classes else loss_of(part)
        true_values = TrueValues.of(part, subset_groups(rows.groups, flags))
        predictions = [tree.value[tree.apply(part)] for tree in trees]
        constant = metric.value(_predict_constant(rows, flags), true_values)
        scale = -constant if constant < 0 else 1.0
        explained.append([1.0 + metric.value(each, true_values) / scale for each in predictions])
        gains = [score_difference(metric, predictions[0], each, true_values) for each in predictions]
        differences.append([each.value / scale for each in gains])
        errors.append([each.error / scale for each in gains])
    return SizeChoice(
        sizes=np.array(SIZES),
        explained=np.mean(explained, axis=0),
        difference=np.mean(differences, axis=0),
        # Rows held out several times count once: the mean error is that of one division.
        difference_error=np.mean(errors, axis=0) / np.sqrt(_n_times(rows, held_out)),
        measure="explained deviance" if rows.table.survival is not None else None,
    )


def _predict_constant(rows: TrainingSet, held_out: BoolArray) -> FloatArray:
    """Predict the rows held out by the base rate or the mean of the others."""
    table, target = rows.table, rows.table.schema.target
    weight = np.ones(table.n_rows) if table.weight is None else table.weight
    if table.survival is not None:
        weight = weight * table.survival.exposure
    training = ~held_out if weight[~held_out].sum() > 0 else held_out
    if target.is_classes:
        sums = np.bincount(table.target[training], weight[training], len(target.classes))
        mean = sums / sums.sum()
    else:
        mean = np.array([np.average(table.target[training], weights=weight[training])])
    return np.tile(mean, (int(held_out.sum()), 1))


def _n_times(rows: TrainingSet, held_out: Sequence[tuple[BoolArray, Sequence[Tree]]]) -> float:
    """The ratio of all rows held out to those of one division."""
    flags = np.array([each for each, _ in held_out])
    return float(flags.any(axis=0).sum() / flags.sum(axis=1).mean())


# -- The choice as text --------------------------------------------------------------------------------------


def size_choice_table(choice: SizeChoice, note: str = "") -> TextTable:
    """Make the table of sizes."""
    headings = ["leaves", f"held-out {choice.measure or 'R²'}", f"more than {choice.sizes[0]} leaves", ""]
    rows = []
    for place, size in enumerate(choice.sizes):
        gain, error = float(choice.difference[place]), float(choice.difference_error[place])
        rows.append(
            [
                str(size),
                number_text(float(choice.explained[place]), 3),
                estimate_text(gain, error, room=7) if place else "",
                "chosen" if place == choice.chosen else "",
            ]
        )
    return TextTable(headings, rows, note=note, sides=">>><", widths=(6, 19, 19, 0), marked=[choice.chosen])
