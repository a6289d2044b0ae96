"""A change policy: what an update of a deployed tree may change, written down before it is made."""

from typing import TYPE_CHECKING, Annotated, Any

from holdfast.errors import PolicyError
from holdfast.governance.form import (
    Amount,
    Between,
    Confidence,
    Count,
    Form,
    Fraction,
    Intervals,
    Name,
    Names,
    Permission,
    PositiveCount,
    asks,
)

if TYPE_CHECKING:
    from holdfast.data.table import Table
    from holdfast.distance.diff.tree_diff import TreeDiff
    from holdfast.governance.verdict import PolicyVerdict


class ChangePolicy(Form, frozen=True, kw_only=True):
    """What an update may change. Every line is optional, and what is left out is not judged.

    Examples
    --------
    >>> policy = ChangePolicy(new_root="never", max_churn=0.05)
    >>> print(policy.to_toml(), end="")
    new_root = "never"
    max_churn = 0.05
    confidence = 0.95
    subgroup_bands = 4
    min_subgroup_rows = 200
    >>> ChangePolicy.from_dict({"max_chrun": 0.05})
    Traceback (most recent call last):
    holdfast.errors.PolicyError: There is no line 'max_chrun' (= 0.05): did you mean 'max_churn'?
    """

    error_type = PolicyError
    noun = "change policy"
    head = (
        "A change policy: what an update of a deployed tree may change. Write it before the update; "
        "afterwards `holdfast policy check` says of every line whether it passes. Every line is optional: "
        "what stands behind a number sign is not judged."
    )

    leaf_values: Annotated[
        Permission | None,
        asks("May a rule that stays give other probabilities, or another class?", "allowed"),
    ] = None
    thresholds: Annotated[Permission | None, asks("May a threshold move?", "allowed")] = None
    categories: Annotated[
        Permission | None, asks("May a category go to the other side of a split?", "allowed")
    ] = None
    missing_sides: Annotated[
        Permission | None, asks("May missing values go to the other side of a split?", "allowed")
    ] = None
    new_splits: Annotated[
        Permission | None, asks("May the tree ask something that it did not ask there before?", "allowed")
    ] = None
    gone_splits: Annotated[
        Permission | None, asks("May the tree stop asking, so that a branch becomes a leaf?", "allowed")
    ] = None
    new_root: Annotated[Permission | None, asks("May the tree ask about another column first?", "never")] = (
        None
    )
    max_changed_rules: Annotated[
        Count | None,
        asks(
            "How many rules may change: in their conditions, in their class, new ones and those that "
            "are gone. Other probabilities alone do not count. A first split that moves changes every"
            " rule.",
            4,
            in_template=False,
        ),
    ] = None
    max_threshold_shift: Annotated[
        Fraction | None, asks("How far a threshold may move, as a fraction of the range of its column.", 0.1)
    ] = None
    max_distance: Annotated[
        Amount | None,
        asks(
            "The greatest distance between the two trees, as tree_distance(old, new) measures it.",
            5.0,
            in_template=False,
        ),
    ] = None
    max_churn: Annotated[
        Amount | None,
        asks(
            "The greatest churn: the mean change of the probabilities, or of the predicted numbers in"
            " standard deviations of the target.",
            0.05,
        ),
    ] = None
    max_flips: Annotated[Fraction | None, asks("Which fraction of the rows may get another class.", 0.05)] = (
        None
    )
    max_negative_flips: Annotated[
        Fraction | None, asks("Which fraction of the rows may have been right before and be wrong now.", 0.02)
    ] = None
    scoring: Annotated[
        Name | None,
        asks(
            "What the score is: auc, accuracy, log_loss, brier, ...; r2, absolute_error, ... Without "
            "this line auc for classes, and r2 for numbers.",
            "auc",
            in_template=False,
        ),
    ] = None
    score_margin: Annotated[
        Amount | None,
        asks(
            "How much worse the score may be. The line passes if, with the confidence below, the loss"
            " is no more than this.",
            0.02,
        ),
    ] = None
    confidence: Annotated[Confidence, asks("The confidence, one-sided, of what is said of scores.", 0.95)] = (
        0.95
    )
    subgroups: Annotated[
        Names,
        asks(
            "Columns by whose values the rows are divided: the score must hold in every part. Numbers"
            " are divided into bands of about equally many rows.",
            ("sex", "age"),
            in_template=False,
        ),
    ] = ()
    subgroup_margin: Annotated[
        Amount | None,
        asks(
            "How much worse the score may be in a subgroup. Without this line it is the margin above.", 0.05
        ),
    ] = None
    subgroup_bands: Annotated[
        PositiveCount, asks("Into how many bands the rows are divided by a number.", 4)
    ] = 4
    min_subgroup_rows: Annotated[
        PositiveCount, asks("A subgroup of fewer rows is reported, and not judged.", 200)
    ] = 200
    observed_expected: Annotated[
        Between | None,
        asks(
            "What came true over what the new tree expects, such as the rate of a class over its mean"
            " probability; 1 is right, and 2 means that the tree predicts half of what happens.",
            (0.8, 1.25),
        ),
    ] = None
    calibration_intercept: Annotated[
        Between | None,
        asks(
            "What the log odds of the new tree may lack on the whole; 0 is right. Of predicted "
            "numbers: what they lack, in standard deviations of the target.",
            (-0.5, 0.5),
        ),
    ] = None
    calibration_slope: Annotated[
        Between | None,
        asks(
            "What the log odds of the new tree should be multiplied by; 1 is right, and less means "
            "that they are too extreme.",
            (0.7, 2.0),
        ),
    ] = None
    min_leaf_rows: Annotated[
        Count | None, asks("How many of the rows at hand each leaf of the new tree must have.", 5)
    ] = None
    threshold_intervals: Annotated[
        Intervals,
        asks("Where new thresholds on a column have to be.", {"age": (40.0, 55.0)}, in_template=False),
    ] = {}  # noqa: RUF012 (msgspec copies it)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.subgroups and self.subgroup_margin is None and self.score_margin is None:
            raise PolicyError(
                f"The line subgroups is {list(self.subgroups)!r}, and no line says how much worse the score "
                "may be there: add subgroup_margin, or score_margin."
            )

    def check(
        self, old: Any, new: Any, table: "Table", *, subgroups: Any = None, diff: "TreeDiff | None" = None
    ) -> "PolicyVerdict":
        """How the change from the old tree to the new one stands to the policy, line by line.

        The rows of the table should be such that the new tree has not learnt from them. `subgroups` has
        columns that the table has not: a frame, or a mapping from names to one value per row. `diff` is what
        changed between the trees, if that is known already.
        """
        from holdfast.governance.judge import judge_change

        return judge_change(self, old, new, table, subgroups=subgroups, diff=diff)
