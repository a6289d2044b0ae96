"""A change policy: what an update of a deployed tree may change, stated beforehand."""

from typing import TYPE_CHECKING, Annotated, Any

from holdfast.errors import PolicyError
from holdfast.governance.toml_form import (
    Amount,
    ColumnNames,
    ColumnRanges,
    Confidence,
    Count,
    Fraction,
    Permission,
    PositiveCount,
    Range,
    Text,
    TomlForm,
    line,
)

if TYPE_CHECKING:
    from holdfast.data.table import Table
    from holdfast.distance.diff import TreeDiff
    from holdfast.explain.firmness import ReferenceTrees
    from holdfast.governance.verdict import PolicyVerdict


class ChangePolicy(TomlForm, frozen=True, kw_only=True):
    """What an update may change. Every line is optional, and lines that are left out are not judged.

    `ChangePolicy.template_text()` describes every line. A policy is made from keywords, from a dictionary by
    `from_dict`, or from a TOML file by `load`.

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
        "afterwards `holdfast policy check` reports for every line whether it passes. Every line is "
        "optional: lines that begin with a number sign are not judged."
    )

    leaf_values: Annotated[
        Permission | None,
        line("Whether rules that stay may change their probabilities or their class.", "allowed"),
    ] = None
    thresholds: Annotated[Permission | None, line("Whether thresholds may move.", "allowed")] = None
    categories: Annotated[
        Permission | None, line("Whether categories may go to the other side of a split.", "allowed")
    ] = None
    missing_sides: Annotated[
        Permission | None, line("Whether missing values may go to the other side of a split.", "allowed")
    ] = None
    new_splits: Annotated[
        Permission | None, line("Whether the tree may get a split that was not there before.", "allowed")
    ] = None
    gone_splits: Annotated[
        Permission | None, line("Whether a split may be removed, so that a branch becomes a leaf.", "allowed")
    ] = None
    new_root: Annotated[
        Permission | None, line("Whether the first split may be on another column.", "never")
    ] = None
    max_changed_rules: Annotated[
        Count | None,
        line(
            "The greatest number of rules that change: rules with other conditions or another class, new "
            "rules, and removed ones. Other probabilities alone do not count. A first split that moves "
            "changes every rule.",
            4,
            in_template=False,
        ),
    ] = None
    max_threshold_shift: Annotated[
        Fraction | None,
        line("How far a threshold may move, as a fraction of the range of its column.", 0.1),
    ] = None
    max_distance: Annotated[
        Amount | None,
        line(
            "The greatest distance between the two trees, as tree_distance(old, new) measures it.",
            5.0,
            in_template=False,
        ),
    ] = None
    max_churn: Annotated[
        Amount | None,
        line(
            "The greatest churn: the mean change of the probabilities, of the predicted numbers in"
            " standard deviations of the target, or of the predicted survival to the horizon.",
            0.05,
        ),
    ] = None
    max_flips: Annotated[
        Fraction | None, line("The greatest fraction of rows whose predicted class changes.", 0.05)
    ] = None
    max_negative_flips: Annotated[
        Fraction | None, line("The greatest fraction of rows that were right and become wrong.", 0.02)
    ] = None
    max_flips_of_firm: Annotated[
        Fraction | None,
        line(
            "The greatest fraction whose predicted class changes, of the rows with a firm answer: at least"
            " 95 % of the trees trained on resampled data agree with the deployed tree.",
            0.01,
            in_template=False,
        ),
    ] = None
    scoring: Annotated[
        Text | None,
        line(
            "The score: auc, accuracy, log_loss, brier, ...; r2, absolute_error, ... Default: auc for "
            "classes, r2 for numbers.",
            "auc",
            in_template=False,
        ),
    ] = None
    score_margin: Annotated[
        Amount | None,
        line(
            "How much worse the score may be. The line passes if the loss of score is at most this, with the"
            " confidence below.",
            0.02,
        ),
    ] = None
    confidence: Annotated[Confidence, line("The one-sided confidence level for scores.", 0.95)] = 0.95
    subgroups: Annotated[
        ColumnNames,
        line(
            "Columns that divide the rows into subgroups: the score is judged in each of them. Numbers"
            " are divided into bands with about the same number of rows.",
            ("sex", "age"),
            in_template=False,
        ),
    ] = ()
    subgroup_margin: Annotated[
        Amount | None,
        line("How much worse the score may be in a subgroup. Default: the margin above.", 0.05),
    ] = None
    subgroup_bands: Annotated[PositiveCount, line("The number of bands for a column of numbers.", 4)] = 4
    min_subgroup_rows: Annotated[
        PositiveCount, line("A subgroup with fewer rows is reported but not judged.", 200)
    ] = 200
    observed_expected: Annotated[
        Range | None,
        line(
            "Observed over expected, such as the rate of a class over its mean predicted probability: 1 is "
            "right, and 2 means that the tree predicts half of the observed events.",
            (0.8, 1.25),
        ),
    ] = None
    calibration_intercept: Annotated[
        Range | None,
        line(
            "Calibration in the large: the shift of the log odds that makes the mean prediction of the new "
            "tree equal the observed rate; 0 is right. For numbers: the shift in standard deviations of "
            "the target. For times to an event: observed less predicted events up to the horizon.",
            (-0.5, 0.5),
        ),
    ] = None
    calibration_slope: Annotated[
        Range | None,
        line(
            "The calibration slope of the log odds of the new tree; 1 is right, and less means that "
            "predictions are too extreme.",
            (0.7, 2.0),
        ),
    ] = None
    min_leaf_rows: Annotated[
        Count | None, line("The least number of judged rows in each leaf of the new tree.", 5)
    ] = None
    threshold_intervals: Annotated[
        ColumnRanges,
        line(
            "The interval that new thresholds on a column must lie in.",
            {"age": (40.0, 55.0)},
            in_template=False,
        ),
    ] = {}  # noqa: RUF012 (msgspec copies it)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.subgroups and self.subgroup_margin is None and self.score_margin is None:
            raise PolicyError(
                f"The line subgroups is {list(self.subgroups)!r}, and no line states how much worse the "
                "score may be there: add subgroup_margin, or score_margin."
            )

    def check(
        self,
        old: Any,
        new: Any,
        table: "Table",
        *,
        subgroups: Any = None,
        diff: "TreeDiff | None" = None,
        references: "ReferenceTrees | None" = None,
    ) -> "PolicyVerdict":
        """Judge the change from one tree to another, line by line.

        Parameters
        ----------
        old, new : Tree or fitted estimator
            The deployed tree and its update.
        table : Table
            The rows to judge by, best rows that the new tree was not grown on.
        subgroups : frame or mapping, optional
            Columns that the table does not have: a frame, or one value per row by name.
        diff : TreeDiff, optional
            The differences between the trees, if they are known already.
        references : ReferenceTrees, optional
            The reference trees of the deployed tree, for the line max_flips_of_firm. Default: those of `old`,
            if it is a stable estimator.

        Returns
        -------
        PolicyVerdict
            Every line with its figure, its limit and its status.

        Examples
        --------
        >>> from holdfast import Table, grow
        >>> table = Table.from_arrays([[20.0], [30.0], [50.0], [60.0]], ["no", "no", "yes", "yes"])
        >>> old = grow(table)
        >>> ChangePolicy(max_churn=0.1).check(old, old.with_threshold(0, 45), table).passed
        True
        """
        from holdfast.governance.judge import judge_change

        references = getattr(old, "references_", None) if references is None else references
        return judge_change(self, old, new, table, subgroups=subgroups, diff=diff, references=references)
