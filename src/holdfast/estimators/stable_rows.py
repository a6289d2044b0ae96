"""The rows that a stable tree is trained on: early ones kept apart, the others, and the user's holdout."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from holdfast.arrays import BoolArray, FloatArray, LongArray
from holdfast.data.input.frame import Frame, frame_of, stacked, stacked_vectors, taken_vector
from holdfast.data.input.target import read_vector
from holdfast.data.input.weight import read_weight, weighted_rows
from holdfast.data.split.groups import numbered, of_rows, read_groups
from holdfast.data.split.stages import read_stage
from holdfast.errors import DataError, ParameterError

Pair = tuple[Any, Any]  # rows and their target as the user hands them over; None and None if there are none
NO_ROWS: Pair = (None, None)


@dataclass(frozen=True, eq=False)
class TrainingRows:
    """Rows to learn from and to score on, all of which count, and what is known of each besides."""

    X: Frame
    y: Any
    weight: FloatArray | None
    stage: LongArray | None
    groups: LongArray | None
    holdout: BoolArray | None  # True for the rows that the user holds out; None if there are none

    def taken(self, rows: BoolArray) -> "TrainingRows":
        """The rows with a flag."""
        return TrainingRows(
            self.X.taken(rows),
            taken_vector(read_vector(self.y, self.X.n_rows), rows),
            None if self.weight is None else self.weight[rows],
            numbered(self.stage, rows),
            of_rows(self.groups, rows),
            None if self.holdout is None else self.holdout[rows],
        )


def training_rows(
    rows: Pair,
    sample_weight: Any,
    *,
    stage: Any,
    groups: Any,
    early: Pair = NO_ROWS,
    holdout: Pair = NO_ROWS,
    early_names: tuple[str, str] = ("X_early", "y_early"),
) -> TrainingRows:
    """All rows whose weight is above 0: those of `early`, then those of `rows`, then those of `holdout`.

    Weights, stages and groups run over all of them in this order.
    """
    whole = _Part(frame_of(rows[0]), rows[1], ("X", "y"))
    n_early = n_held_out = 0
    if (first := _part(early, early_names)) is not None:
        if stage is not None:
            raise ParameterError("stage and X_early both say which rows are early: give one of them.")
        n_early, whole = first.X.n_rows, _joined(first, whole)
    if (last := _part(holdout, ("X_holdout", "y_holdout"))) is not None:
        n_held_out, whole = last.X.n_rows, _joined(whole, last)
    n_rows = whole.X.n_rows
    if first is not None:
        stage = np.arange(n_rows) >= n_early
    found = TrainingRows(
        whole.X,
        whole.y,
        read_weight(sample_weight, n_rows),
        None if stage is None else read_stage(stage, n_rows),
        None if groups is None else read_groups(groups, n_rows),
        None if last is None else np.arange(n_rows) >= n_rows - n_held_out,
    )
    counted = weighted_rows(found.weight)
    return found if counted is None else found.taken(counted)


class _Part(NamedTuple):
    """Rows and their target, and what messages call them."""

    X: Frame
    y: Any
    names: tuple[str, str]


def _part(pair: Pair, names: tuple[str, str]) -> _Part | None:
    X, y = pair
    if (X is None) != (y is None):
        raise ParameterError(
            f"{' and '.join(names)} go together: give the rows and their target, or neither."
        )
    return None if X is None else _Part(frame_of(X), y, names)


def _joined(first: _Part, second: _Part) -> _Part:
    """The rows of one part followed by those of another, under the names of X and y."""
    lines = [read_vector(part.y, part.X.n_rows, part.names) for part in (first, second)]
    if len({_is_text(line) for line in lines}) > 1:
        names = f"{first.names[1]} and {second.names[1]}"
        raise DataError(f"{names} must be of one kind, and one of them is text: write labels alike.")
    line = stacked_vectors(*lines)
    if not isinstance(line, np.ndarray):
        line = line.rename(lines[0].name or "y")  # the target keeps its name
    return _Part(stacked(first.X, second.X, (first.names[0], second.names[0])), line, ("X", "y"))


def _is_text(line: Any) -> bool:
    entries = line.tolist() if isinstance(line, np.ndarray) else line.to_list()
    return any(isinstance(entry, str) for entry in entries)
