"""Trees that ask nothing but what the user asks."""

import numpy as np
import pandas as pd
import pytest

from holdfast import ForestClassifier, GrowthRules, Table, TreeClassifier, TreeRegressor, grow
from holdfast.errors import ParameterError

RANDOM = np.random.default_rng(0)
FRAME = pd.DataFrame(
    {
        "age": RANDOM.integers(20, 90, 200),
        "bmi": RANDOM.normal(27, 4, 200),
        "ward": RANDOM.choice(list("ABC"), 200),
    }
)
ILL = ((FRAME.age > 60) & (FRAME.bmi > 28) | (FRAME.ward == "C") & (RANDOM.random(200) < 0.7)).to_numpy()
QUESTIONS = ["bmi > 30", "age > 60", "ward == 'C'", "age > 60 and bmi > 28"]
ONLY = GrowthRules(custom_features_only=True)


def test_the_tree_is_the_one_of_the_answers_as_columns() -> None:
    tree = grow(Table.from_arrays(FRAME, ILL, custom_features=QUESTIONS), ONLY)
    assert _asked(tree) <= set(QUESTIONS)
    answers = pd.DataFrame({text: FRAME.eval(text).astype(float) for text in QUESTIONS})
    by_answer = grow(Table.from_arrays(answers, ILL))
    assert tree.n_leaves == by_answer.n_leaves > 3
    assert np.allclose(tree.predict_proba(FRAME), by_answer.predict_proba(answers))


def test_estimators_grow_from_questions_alone() -> None:
    model = TreeClassifier(
        custom_features=QUESTIONS, growth_rules=GrowthRules(custom_features_only=True), max_depth=2
    ).fit(FRAME, ILL)
    assert model.n_features_in_ == 3  # the columns are still what it reads
    assert all(text in QUESTIONS for text in _asked(model.tree_))
    number = TreeRegressor(
        custom_features=QUESTIONS, growth_rules=GrowthRules(custom_features_only=True), max_depth=2
    ).fit(FRAME, FRAME.bmi)
    assert number.tree_.schema.names[number.tree_.feature[0]] == "bmi > 30"
    assert _asked(number.tree_) <= set(QUESTIONS)
    forest = ForestClassifier(n_estimators=5, growth_rules=ONLY, custom_features=QUESTIONS, random_state=0)
    assert all(_asked(tree) <= set(QUESTIONS) for tree in forest.fit(FRAME, ILL).ensemble_)


def test_without_questions_there_is_nothing_to_ask() -> None:
    with pytest.raises(ParameterError, match="splits by custom features alone, and the table has none"):
        grow(Table.from_arrays(FRAME, ILL), ONLY)
    with pytest.raises(ParameterError, match="custom_features_only='yes' is not a bool"):
        GrowthRules(custom_features_only="yes")  # type: ignore[arg-type]


def _asked(tree: object) -> set[str]:
    return {tree.schema.names[feature] for feature in tree.feature.tolist() if feature >= 0}  # type: ignore[attr-defined]
