"""Among the rows called firm, how many change: by hand, and in an audit."""

import numpy as np
import pandas as pd
import pytest

from holdfast import retrain_audit
from holdfast.evaluate.reliability import FirmnessPair, firmness_reliability


def pair(firmness: list[float], changed: list[float], weight: list[float] | None = None) -> FirmnessPair:
    return FirmnessPair(*(np.array(each) for each in (firmness, changed, weight or [1.0] * len(changed))))


def test_the_rate_of_a_level_is_that_of_all_pairs_with_the_error_of_a_ratio() -> None:
    one = pair([1.0, 0.96, 0.8, 0.3], [0, 0, 1, 1])
    other = pair([1.0, 0.95, 0.99, 0.6], [0, 1, 0, 0])
    firm, likely, even, against = firmness_reliability([one, other], True)
    assert [each["rows"] for each in (firm, likely, even, against)] == [0.625, 0.125, 0.125, 0.125]
    # 1 of 5 rows; the residuals of the pairs are 0 - 0.2 * 0.5 and 0.25 - 0.2 * 0.75.
    assert firm["changed"] == pytest.approx(0.2)
    assert firm["changed_error"] == pytest.approx(np.sqrt(2 * 2 * 0.1**2) / 1.25)
    assert (likely["changed"], even["changed"], against["changed"]) == (1.0, 0.0, 1.0)


def test_weights_count_and_one_pair_has_no_error() -> None:
    (firm, *_) = firmness_reliability([pair([1.0, 1.0, 0.5], [1, 0, 0], [3.0, 1.0, 4.0])], True)
    assert (firm["rows"], firm["changed"]) == (0.5, 0.75)
    assert np.isnan(firm["changed_error"])


def test_numbers_have_levels_of_equally_many_rows_by_the_width_of_the_interval() -> None:
    widths = [0.4, 0.1, 0.3, 0.2]
    found = firmness_reliability([pair(widths, [4.0, 1.0, 3.0, 2.0])], False)
    assert [each["level"] for each in found] == ["0.1", "0.2", "0.3", "0.4"]
    assert [each["changed"] for each in found] == pytest.approx([1.0, 2.0, 3.0, 4.0])
    assert len(firmness_reliability([pair([0.2, 0.2], [1.0, 0.0])], False)) == 1


@pytest.mark.parametrize("is_classes", [True, False])
def test_an_audit_has_the_reliability_of_methods_with_reference_trees(is_classes: bool) -> None:
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(150, 3)), columns=list("abc"))
    risk = X["a"] + rng.normal(size=150)
    y = np.where(risk > 0, "yes", "no") if is_classes else risk
    audit = retrain_audit(["pruned-1se", "consensus-8"], X, y, changes="overlap", n_repeats=2)
    assert {each["method"] for each in audit.firmness} == {"consensus-8"}
    assert sum(each["rows"] for each in audit.firmness) == pytest.approx(1.0)
    total = sum(each["rows"] * each["changed"] for each in audit.firmness if each["rows"])
    assert total == pytest.approx(audit.mean("consensus-8", "flips" if is_classes else "churn"))
    assert "Is firmness reliable?" in str(audit)
