"""A box to enter one case and see its path: form fields, and trees as data that the script walks.

The script answers the questions of the trees itself, those that users wrote too: an expression becomes a
nested list of an operation and its operands.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from holdfast.arrays import BoolArray
from holdfast.data.expressions.expression import Column, Constant, Expression, Lookup, Operation
from holdfast.data.expressions.question import Question, parse_question
from holdfast.data.schema import Feature, Schema
from holdfast.data.table import Table
from holdfast.evidence.split_support import SplitSupport
from holdfast.show.conditions import FULL_LIST, answer_text
from holdfast.show.report.fitted import Fitted
from holdfast.show.report.page import Section, json_for_html, replaced_by_note
from holdfast.show.report.sections.rules import rule_facts
from holdfast.text.lines import label_text
from holdfast.text.numbers import number_text
from holdfast.tree.rule import find_known_values
from holdfast.tree.tree import LEAF, Tree
from holdfast.tree.wording import format_class_names

MOST_LETTERS = 300_000  # of the facts of this section, of the 500 kB that a page may have
TOO_MANY = (
    "The columns that the tree asks about have too many categories for a form that a page can carry: "
    "holdfast explain sends a row through the tree in the terminal, and explain_row in Python."
)
TOO_LONG = (
    "The form was left out to keep this page small: holdfast explain sends a row through the tree in the "
    "terminal, and explain_row in Python."
)


def fit_case_section(fitted: Fitted) -> Section:
    """The box for the tree of a fit."""
    assert isinstance(fitted.model, Tree)
    tree = tree_data("The tree", fitted.model, fitted.positive, fitted.noun, fitted.supports, fitted.training)
    return case_section([tree], [fitted.model], fitted.positive, fitted.noun, fitted.training)


def case_section(
    data: Sequence[dict[str, Any]],
    trees: Sequence[Tree],
    positive: int | None,
    noun: str,
    training: Table | None = None,
    in_use: int = 0,
) -> Section:
    """The box for several trees on one schema, each also as `tree_data`: the tree in use is asked for first.

    Their drawings have the ids `drawing-0`, `drawing-1`, ...
    """
    schema = trees[0].schema
    target = schema.target
    asked = {index for tree in trees for index in tree.feature.tolist() if index != LEAF}
    questions = {
        index: parse_question(schema.features[index].name, schema.columns)
        for index in sorted(asked)
        if schema.features[index].kind == "question"
    }
    facts = {
        "noun": noun,
        "target": target.name,
        "classes": list(format_class_names(target)),
        "positive": positive,
        "fields": [
            _field(schema, index, training, is_first)
            for index, is_first in _columns_asked(trees, questions, in_use)
        ],
        "questions": {str(index): _expression(each) for index, each in questions.items()},
        "trees": list(data),
    }
    title = f"Enter one {noun}"
    if len(json_for_html(facts)) > MOST_LETTERS:
        return Section("case", title, "clinician", "note.html", {"note": TOO_MANY})
    section = Section("case", title, "clinician", "case.html", facts, script="case.js")
    return replace(section, shorter=(section, replaced_by_note(section, TOO_LONG)))


def tree_data(
    name: str,
    tree: Tree,
    positive: int | None,
    noun: str,
    supports: Sequence[SplitSupport] = (),
    training: Table | None = None,
) -> dict[str, Any]:
    """A tree as the script walks it, with what it says of every node in words."""
    inner = np.flatnonzero(tree.feature != LEAF).tolist()
    known = find_known_values(tree)
    told = (
        "says",
        "class",
        "decision",
        "sentence",
        "outside",
        "warning",
        "conditions",
    )  # a number has no class
    rules = {
        str(each["leaf"]): {part: each[part] for part in told if part in each}
        for each in rule_facts(tree, positive, noun, training)
    }
    return {
        "name": name,
        "feature": tree.feature.tolist(),
        "threshold": [None if value != value else value for value in tree.threshold.tolist()],
        "left": tree.left.tolist(),
        "right": tree.right.tolist(),
        "missing_left": tree.missing_left.astype(int).tolist(),
        "sets": {
            str(node): packed(tree.left_categories(node)) for node in inner if tree.set_start[node] >= 0
        },
        "value": {
            str(node): tree.value[node].tolist() for node in np.flatnonzero(tree.feature == LEAF).tolist()
        },
        "answers": {
            str(node): [
                answer_text(tree, node, side, counts=True, most=FULL_LIST, known=known)
                for side in (True, False)
            ]
            for node in inner
        },
        "leaves": rules,
        "support": {str(each.node): _support(each) for each in supports},
    }


def packed(flags: BoolArray) -> str:
    """Flags as hexadecimal digits, four to a digit, the first in its lowest bit.

    >>> packed(np.array([True, False, False, True, True]))
    '91'
    """
    fours = np.pad(flags, (0, -len(flags) % 4)).reshape(-1, 4)
    return "".join(f"{digit:x}" for digit in (fours * [1, 2, 4, 8]).sum(axis=1).tolist())


def _support(support: SplitSupport) -> dict[str, Any]:
    """How many other trees ask the same there, and between which thresholds nine of ten of them cut."""
    fact: dict[str, Any] = {"share": support.references}
    if support.thresholds is not None and not support.levels:
        low, _, high = support.thresholds
        fact |= {"low": low, "high": high, "texts": [number_text(low, 4), number_text(high, 4)]}
    return fact


# -- fields -----------------------------------------------------------------------------------------------


def _columns_asked(
    trees: Sequence[Tree], questions: dict[int, Question], in_use: int
) -> list[tuple[int, bool]]:
    """The columns that the trees ask about, those of the tree in use first; does that tree ask?"""
    first: dict[int, bool] = {}
    for place in sorted(range(len(trees)), key=lambda place: place != in_use):
        for index in trees[place].feature.tolist():
            columns = questions[index].columns if index in questions else [index] if index != LEAF else []
            for column in columns:
                first.setdefault(int(column), place == in_use)
    return list(first.items())


def _field(schema: Schema, index: int, training: Table | None, is_first: bool) -> dict[str, Any]:
    feature = schema.features[index]
    field: dict[str, Any] = {
        "index": index,
        "name": feature.name,
        "kind": feature.kind,
        "first": is_first,
        "typical": None if training is None else _typical(feature, training.columns[index]),
    }
    if feature.kind == "numeric":
        ends = [number_text(feature.low, 4), number_text(feature.high, 4)]
        return {**field, "low": feature.low, "high": feature.high, "ends": ends}
    texts = [label_text(label) for label in feature.categories]
    return {
        **field,
        "categories": list(feature.categories),
        # Only where they are others: a category may be a number, or hold what cannot be seen.
        "texts": None if texts == list(feature.categories) else texts,
    }


def _typical(feature: Feature, column: Any) -> float | int | None:
    """The median, or the place of the most frequent category; None if no value is known."""
    known = column[~np.isnan(column)]
    if not len(known):
        return None
    if feature.kind == "numeric":
        return float(f"{float(np.median(known)):.4g}")
    return int(np.bincount(known.astype(np.int64)).argmax())


# -- questions that users wrote ---------------------------------------------------------------------------


def _expression(question: Question) -> list[Any]:
    return _part(question.expression, question.columns)


def _part(expression: Expression, columns: tuple[int, ...]) -> list[Any]:
    match expression:
        case Column(position):
            return ["column", int(columns[position])]
        case Constant(value):
            return ["constant", value]
        case Lookup(position, table):
            return ["lookup", int(columns[position]), list(table)]
        case Operation(name, operands):
            return [name, *(_part(operand, columns) for operand in operands)]
    raise TypeError(f"{expression!r} is no expression that the script knows.")
