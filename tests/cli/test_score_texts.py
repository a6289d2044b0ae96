import pytest

from holdfast.cli.fit_output import low_score_hint
from holdfast.data.schema import Target
from holdfast.scoring.metric import Score, make_metric

AUC = make_metric("auc", Target(classes=("no", "yes")))
LOSS = make_metric("log_loss", Target(classes=("no", "yes")))


@pytest.mark.parametrize("expected", [0.5, 0.5 + 1e-9, 0.50004])
def test_two_scores_that_print_alike_are_not_called_different(expected: float) -> None:
    """A tree of one leaf has the AUC 0.5 with the standard error 0."""
    assert low_score_hint(AUC, Score(0.5, 0.0), expected) == ""


def test_test_rows_that_give_clearly_less_are_to_be_believed() -> None:
    assert low_score_hint(AUC, Score(0.8, 0.01), 0.9) == (
        "The test score is lower than expected: AUC 0.8 instead of 0.9. Believe the test rows."
    )
    assert "AUC 0.8111 instead of 0.8113" in low_score_hint(AUC, Score(0.8111, 0.00001), 0.8113)
    assert "log loss 0.5 instead of 0.3" in low_score_hint(LOSS, Score(-0.5, 0.01), -0.3)
    assert "is higher than expected" in low_score_hint(LOSS, Score(-0.5, 0.01), -0.3)


def test_what_chance_may_have_done_is_no_low_score_hint() -> None:
    assert low_score_hint(AUC, Score(0.8, 0.06), 0.9) == ""
    assert low_score_hint(AUC, Score(0.95, 0.0), 0.9) == ""
    assert low_score_hint(AUC, None, 0.9) == ""
