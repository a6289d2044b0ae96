"""One row as a tree reads it: the codes of its columns, what is missing or unseen, and the way it goes."""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from holdfast.data.expressions.question import Question, parse_question
from holdfast.data.input.frame import Frame, make_frame
from holdfast.data.input.matching import match_column, name_columns
from holdfast.data.input.rows import encode_rows
from holdfast.data.schema import Label
from holdfast.errors import DataError, DataWarning
from holdfast.tree.tree import LEAF, Tree

Value = Label | None  # of a cell: a number or a category; None if it is missing


def row_frame(x: Any) -> Frame:
    """The row as a frame: of a mapping or a series by its names, of a flat list by position, or as it is.

    >>> row_frame({"age": 70, "ward": "B"}).names
    ('age', 'ward')
    """
    if getattr(x, "ndim", None) == 1 and hasattr(x, "to_dict"):  # a series of pandas: a row of a frame
        x = x.to_dict()
    if isinstance(x, Mapping):
        return Frame(tuple(map(str, x)), [_cell(value) for value in x.values()], 1)
    frame = make_frame([x] if _is_flat(x) else x)
    if frame.n_rows != 1:
        raise DataError(
            f"explain_row explains one row, and x has {frame.n_rows}. Take one of them, such as X.iloc[[0]] "
            "or X[0], or call it once for each."
        )
    return frame


def _is_flat(x: Any) -> bool:
    if isinstance(x, np.ndarray):
        return x.ndim == 1
    return isinstance(x, list | tuple) and not any(
        isinstance(each, Sequence | np.ndarray) for each in x if not isinstance(each, str)
    )


def _cell(value: Any) -> Any:
    if isinstance(value, bool | int | float | np.number | np.bool_):
        return np.array([value])
    if isinstance(value, Mapping | Sequence | np.ndarray) and not isinstance(value, str):
        raise DataError(
            f"explain_row explains one row: each column has one value, and here one has {value!r}."
        )
    column = np.empty(1, object)
    column[0] = value
    return column


@dataclass(frozen=True, eq=False)
class RowValues:
    """The columns of a row that a tree asks about, or that its questions read, as the schema encodes them."""

    tree: Tree
    codes: Mapping[int, float]  # by the place of the feature; NaN if it is missing, or unseen
    unseen: Mapping[int, Label]  # categories that the schema does not hold
    questions: Mapping[int, Question]  # that the tree asks, by the place of the feature

    @classmethod
    def of(
        cls, tree: Tree, frame: Frame, *, handle_unknown: str = "missing", handle_missing: str = "learned"
    ) -> "RowValues":
        """The row of the frame, which has columns for all that the tree asks about."""
        schema = tree.schema
        asked = [each for each in np.unique(tree.feature).tolist() if each != LEAF]
        questions = {
            each: parse_question(schema.features[each].name, schema.columns)
            for each in asked
            if schema.features[each].kind == "question"
        }
        read = {column for question in questions.values() for column in question.columns}
        columns = sorted(read.union(each for each in asked if each not in questions))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DataWarning)  # the explanation says what is unseen
            row = encode_rows(
                frame, schema, columns, handle_unknown=handle_unknown, handle_missing=handle_missing
            )[0].tolist()
        codes = dict(zip(columns, row, strict=True))
        unseen = {each: label for each in columns if (label := _unseen(tree, each, frame)) is not None}
        return cls(tree, codes, unseen, questions)

    def with_codes(self, changes: Mapping[int, float]) -> "RowValues":
        """The row with these columns changed."""
        unseen = {each: label for each, label in self.unseen.items() if each not in changes}
        return replace(self, codes={**self.codes, **changes}, unseen=unseen)

    def code(self, feature: int) -> float:
        """What the row says of the feature; of a question, its answer."""
        question = self.questions.get(feature)
        if question is None:
            return self.codes[feature]
        return float(question.answers([np.array([self.codes[each]]) for each in question.columns])[0])

    def value(self, feature: int) -> Value:
        """The same as its owner would write it; None if it is missing."""
        return decoded(self.tree, feature, self.code(feature), self.unseen.get(feature))

    @property
    def path(self) -> list[tuple[int, bool]]:
        """The inner nodes that the row passes, each with its answer, True for yes."""
        tree, node, passed = self.tree, 0, []
        while tree.feature[node] != LEAF:
            is_left = self._goes_left(node)
            passed.append((node, is_left))
            node = int(tree.left[node] if is_left else tree.right[node])
        return passed

    @property
    def leaf(self) -> int:
        """The leaf that the row reaches."""
        if not (path := self.path):
            return 0
        node, is_left = path[-1]
        return int(self.tree.left[node] if is_left else self.tree.right[node])

    def _goes_left(self, node: int) -> bool:
        feature = int(self.tree.feature[node])
        code = self.code(feature)
        if code != code:
            return bool(self.tree.missing_left[node])
        if self.tree.schema.features[feature].is_subset:
            return bool(self.tree.left_categories(node)[int(code)])
        return code <= float(self.tree.threshold[node])


def decoded(tree: Tree, feature: int, code: float, unseen: Label | None = None) -> Value:
    """The number, or the category, that a code stands for; None if it is missing."""
    if code != code:
        return unseen
    categories = tree.schema.features[feature].categories
    return categories[int(code)] if categories else code


def _unseen(tree: Tree, column: int, frame: Frame) -> Label | None:
    """The category of the row in this column that the schema does not hold."""
    feature = tree.schema.features[column]
    if feature.kind == "numeric":
        return None
    match = match_column(
        name_columns(tree.schema, frame).column(feature.name), feature, f"column {feature.name!r}"
    )
    return next(iter(match.unknown), None)
