"""The light list of names is that of the things themselves."""

from typing import get_args

from holdfast.growth import rules
from holdfast.growth import rules as criteria
from holdfast.growth import rules as names
from holdfast.tree import stats as quantile


def test_names_are_those_of_the_criteria_and_of_the_ways_to_judge_categories() -> None:
    assert tuple(criteria.CRITERIA) == names.CRITERION_NAMES
    assert get_args(rules.Categories) == names.CATEGORIES
    assert {quantile.ABSOLUTE_ERROR, quantile.QUANTILE} <= set(names.CRITERION_NAMES)
