"""What people know of the columns, checked against a schema: directions, groups, depths and costs.

The rules hold it as the user wrote it, by name or position. Here it becomes one entry per feature.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from holdfast._check import is_integer
from holdfast.arrays import BoolArray, FloatArray, LongArray
from holdfast.data.expressions.question import parse_question
from holdfast.data.schema import Feature, Schema, Target
from holdfast.errors import ParameterError
from holdfast.growth.rules import GrowthRules
from holdfast.text.lists import columns_text, listed
from holdfast.tree.monotone import Monotone

NEVER_ASKED = 2**40  # questions that come first


def make_monotone(schema: Schema, rules: GrowthRules) -> Monotone | None:
    """Which way values must go along which features; None where the rules say nothing of it."""
    given = rules.monotonic_cst
    if given is None:
        if rules.monotonic_class is not None:
            raise ParameterError(
                f"monotonic_class={rules.monotonic_class!r} names the class of monotonic_cst, which is not "
                "given: write monotonic_cst={'age': 1}, or leave the class out."
            )
        return None
    signs = _signs(schema, given)
    for feature, sign in signs.items():
        if sign and feature.kind == "nominal":
            raise ParameterError(
                f"monotonic_cst has a direction for {feature.name!r}, whose categories have no order: make "
                "it a number or an ordered categorical, or leave it out."
            )
    named = {feature.name for feature, sign in signs.items() if sign}
    for text in schema.questions:
        read = [name for name in list_columns_read(schema, text) if name in named]
        if read:
            raise ParameterError(
                f"monotonic_cst has a direction for {read[0]!r}, and the question {text!r} reads it, which "
                "could break the direction: leave out one of the two."
            )
    directions = tuple((feature.name, sign) for feature, sign in signs.items() if sign)
    return Monotone(directions, _class_of(schema.target, rules)) if directions else None


def _signs(schema: Schema, given: Mapping[Any, int] | Sequence[int]) -> dict[Feature, int]:
    if isinstance(given, Mapping):
        return {find_feature(schema, key, "monotonic_cst"): sign for key, sign in given.items()}
    if len(given) != len(schema.columns):
        raise ParameterError(
            f"monotonic_cst has {len(given)} numbers and the data {len(schema.columns)} columns: give one "
            "per column, or name the columns: {'age': 1}."
        )
    return dict(zip(schema.columns, given, strict=True))


def _class_of(target: Target, rules: GrowthRules) -> Any:
    """The class whose fraction has the directions; None for a number."""
    named, classes = rules.monotonic_class, target.classes
    if not classes:
        if named is not None:
            raise ParameterError(
                f"monotonic_class={named!r} names a class, and the target {target.name!r} is a number: leave "
                "it out."
            )
        return None
    if named is not None and named not in classes:
        raise ParameterError(
            f"monotonic_class={named!r} is no class of {target.name!r}: these are {listed(classes)}."
        )
    if named is None and len(classes) > 2:
        raise ParameterError(
            f"monotonic_cst needs a class to speak of, and {target.name!r} has {len(classes)}: "
            f"{listed(classes)}. Name one: monotonic_class={classes[-1]!r}."
        )
    return classes[-1] if named is None else classes[classes.index(named)]


def score_rules(schema: Schema, rules: GrowthRules, output: int, n_outputs: int) -> GrowthRules:
    """The rules of trees for one score of an ensemble that has one, or one for each class.

    The fraction of a class rises if its score rises and all other scores fall.
    """
    promise = make_monotone(schema, rules)
    if promise is None or n_outputs == 1 or schema.target.classes[output] == promise.outcome:
        return rules
    return rules.replace(monotonic_cst={name: -direction for name, direction in promise.directions})


def promise_of_score(schema: Schema, rules: GrowthRules) -> Monotone | None:
    """Which way a score goes along features: of a number, of the second of two classes, or of a class."""
    promise = make_monotone(schema, rules)
    classes = schema.target.classes
    if promise is None:
        return None
    factor = -1 if len(classes) == 2 and promise.outcome == classes[0] else 1
    return Monotone(tuple((name, factor * direction) for name, direction in promise.directions))


def number_rules(schema: Schema, rules: GrowthRules) -> GrowthRules:
    """The rules of trees that predict a number in place of the fraction of the second of two classes."""
    promise = promise_of_score(schema, rules)
    return (
        rules
        if promise is None
        else rules.replace(monotonic_cst=dict(promise.directions), monotonic_class=None)
    )


def list_columns_read(schema: Schema, question: str) -> list[str]:
    """The names of the columns that a question of the schema reads."""
    return [schema.columns[position].name for position in parse_question(question, schema.columns).columns]


# -- what may be asked ----------------------------------------------------------------------------------


def read_first_depths(schema: Schema, rules: GrowthRules) -> LongArray | None:
    """How many questions must come before each feature's; None where the rules forbid nothing.

    A question of the user waits for the last of the columns that it reads.
    """
    forbidden = rules.excluded_features
    if forbidden is None:
        return None
    items = forbidden.items() if isinstance(forbidden, Mapping) else ((key, None) for key in forbidden)
    depth = dict.fromkeys(schema.names, 0)
    for key, least in items:
        depth[find_feature(schema, key, "excluded_features").name] = (
            NEVER_ASKED if least is None else int(least)
        )
    for text in schema.questions:
        depth[text] = max(depth[text], *(depth[name] for name in list_columns_read(schema, text)))
    if min(depth.values()) >= NEVER_ASKED:
        raise ParameterError(
            f"excluded_features={forbidden!r} leaves nothing to split on: all of {listed(schema.names)} are "
            "excluded."
        )
    return np.array([depth[name] for name in schema.names], np.int64)


def read_interaction_groups(schema: Schema, rules: GrowthRules) -> tuple[BoolArray | None, int]:
    """Which features may stand on a path together, a row for each group, and how many at most.

    What is in no group makes one more, as in scikit-learn.
    """
    given = rules.interaction_cst
    if given is None or isinstance(given, str):
        return None, {"no_interactions": 1, "pairwise": 2}.get(str(given), NEVER_ASKED)
    positions = {name: position for position, name in enumerate(schema.names)}
    groups = np.zeros((len(given) + 1, len(schema.names)), np.bool_)
    for number, members in enumerate(given):
        for key in members:
            groups[number, positions[find_feature(schema, key, "interaction_cst").name]] = True
    groups[-1] = ~groups.any(axis=0)
    return groups if groups[-1].any() else groups[:-1], NEVER_ASKED


def read_feature_costs(schema: Schema, rules: GrowthRules) -> FloatArray | None:
    """What asking each feature costs; None where the rules say nothing of it.

    A column that is not named costs 1, and a question what the columns that it reads cost together.
    """
    if rules.feature_costs is None:
        return None
    named = {
        find_feature(schema, key, "feature_costs").name: float(c) for key, c in rules.feature_costs.items()
    }
    cost = {name: named.get(name, 1.0) for name in schema.names}
    for text in schema.questions:
        if text not in named:
            cost[text] = sum(cost[name] for name in list_columns_read(schema, text))
    return np.array([cost[name] for name in schema.names])


def find_feature(schema: Schema, key: object, parameter: str) -> Feature:
    """The feature of that name, or the column at that position."""
    if is_integer(key):
        if not 0 <= int(key) < len(schema.columns):
            raise ParameterError(
                f"{parameter} speaks of column {key}, and there are {len(schema.columns)}, the first being 0."
            )
        return schema.columns[int(key)]
    for feature in schema.features:
        if feature.name == key:
            return feature
    raise ParameterError(
        f"{parameter} names {key!r}, which is no column. {columns_text([str(key)], schema.names)}"
    )
