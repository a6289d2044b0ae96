"""The light list of names is that of the things themselves."""

from typing import get_args

from holdfast.growth import criteria, names, rules
from holdfast.tree import quantile


def test_names_are_those_of_the_criteria_and_of_the_ways_to_judge_categories() -> None:
    assert tuple(criteria.CRITERIA) == names.CRITERIA
    assert get_args(rules.Categories) == names.CATEGORIES
    assert {quantile.ABSOLUTE_ERROR, quantile.QUANTILE} <= set(names.CRITERIA)
