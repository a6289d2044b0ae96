"""A change policy: what an update of a deployed tree may change, written down before it is made."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from holdfast.errors import PolicyError
from holdfast.stability.policy.forms import Between, Interval, Intervals, Name, Names, Number, Word
from holdfast.stability.policy.lines import KEY, Line, line
from holdfast.stability.policy.nearest import nearest
from holdfast.toml_file import toml_text

if TYPE_CHECKING:
    from holdfast.data.table import Table
    from holdfast.distance.diff.tree_diff import TreeDiff
    from holdfast.stability.policy.verdict import PolicyVerdict

PERMISSION = Word(("allowed", "never"))
FRACTION = Number(0.0, 1.0)
COUNT = Number(0.0, is_whole=True)
SOME = Number(1.0, is_whole=True)


def line_of(name: str) -> Line:
    """What is known of the line of this name."""
    known: Line = ChangePolicy.__dataclass_fields__[name].metadata[KEY]
    return known


@dataclass(frozen=True, kw_only=True)
class ChangePolicy:
    """What an update may change. Every line is optional, and what is left out is not judged.

    >>> policy = ChangePolicy(new_root="never", max_churn=0.05)
    >>> print(policy.to_toml(), end="")
    new_root = "never"
    max_churn = 0.05
    confidence = 0.95
    subgroup_bands = 4
    min_subgroup_rows = 200
    """

    leaf_values: str | None = line(
        None, PERMISSION, "allowed", "May a rule that stays give other probabilities, or another class?"
    )
    thresholds: str | None = line(None, PERMISSION, "allowed", "May a threshold move?")
    categories: str | None = line(
        None, PERMISSION, "allowed", "May a category go to the other side of a split?"
    )
    missing_sides: str | None = line(
        None, PERMISSION, "allowed", "May missing values go to the other side of a split?"
    )
    new_splits: str | None = line(
        None, PERMISSION, "allowed", "May the tree ask something that it did not ask there before?"
    )
    gone_splits: str | None = line(
        None, PERMISSION, "allowed", "May the tree stop asking, so that a branch becomes a leaf?"
    )
    new_root: str | None = line(None, PERMISSION, "never", "May the tree ask about another column first?")
    max_changed_rules: int | None = line(
        None,
        COUNT,
        4,
        "How many rules may change: in their conditions, in their class, new ones and those that are gone. "
        "Other probabilities alone do not count. A first split that moves changes every rule.",
        in_force=False,
    )
    max_threshold_shift: float | None = line(
        None, FRACTION, 0.1, "How far a threshold may move, as a fraction of the range of its column."
    )
    max_distance: float | None = line(
        None,
        Number(),
        5.0,
        "The greatest distance between the two trees, as tree_distance(old, new) measures it.",
        in_force=False,
    )
    max_churn: float | None = line(
        None,
        Number(),
        0.05,
        "The greatest churn: the mean change of the probabilities, or of the predicted numbers in standard "
        "deviations of the target.",
    )
    max_flips: float | None = line(None, FRACTION, 0.05, "Which fraction of the rows may get another class.")
    max_negative_flips: float | None = line(
        None, FRACTION, 0.02, "Which fraction of the rows may have been right before and be wrong now."
    )
    scoring: str | None = line(
        None,
        Name(),
        "auc",
        "What the score is: auc, accuracy, log_loss, brier, ...; r2, absolute_error, ... Without this line "
        "auc for classes, and r2 for numbers.",
        in_force=False,
    )
    score_margin: float | None = line(
        None,
        Number(),
        0.02,
        "How much worse the score may be. The line passes if, with the confidence below, the loss is no more "
        "than this.",
    )
    confidence: float = line(
        0.95,
        Number(0.5, 1.0, is_open=True),
        0.95,
        "The confidence, one-sided, of what is said of scores.",
    )
    subgroups: tuple[str, ...] = line(
        (),
        Names(),
        ("sex", "age"),
        "Columns by whose values the rows are divided: the score must hold in every part. Numbers are "
        "divided into bands of about equally many rows.",
        in_force=False,
    )
    subgroup_margin: float | None = line(
        None,
        Number(),
        0.05,
        "How much worse the score may be in a subgroup. Without this line it is the margin above.",
    )
    subgroup_bands: int = line(4, SOME, 4, "Into how many bands the rows are divided by a number.")
    min_subgroup_rows: int = line(200, SOME, 200, "A subgroup of fewer rows is reported, and not judged.")
    observed_expected: Interval | None = line(
        None,
        Between(),
        (0.8, 1.25),
        "What came true over what the new tree expects, such as the rate of a class over its mean "
        "probability; 1 is right, and 2 means that the tree predicts half of what happens.",
    )
    calibration_intercept: Interval | None = line(
        None,
        Between(),
        (-0.5, 0.5),
        "What the log odds of the new tree may lack on the whole; 0 is right. Of predicted numbers: what "
        "they lack, in standard deviations of the target.",
    )
    calibration_slope: Interval | None = line(
        None,
        Between(),
        (0.7, 2.0),
        "What the log odds of the new tree should be multiplied by; 1 is right, and less means that they are "
        "too extreme.",
    )
    min_leaf_rows: int | None = line(
        None, COUNT, 5, "How many of the rows at hand each leaf of the new tree must have."
    )
    threshold_intervals: Mapping[str, Interval] = line(
        dict,
        Intervals(),
        {"age": (40.0, 55.0)},
        "Where new thresholds on a column have to be.",
        in_force=False,
    )

    def __post_init__(self) -> None:
        for each in fields(self):
            given = getattr(self, each.name)
            if given is not None or each.default is not None:
                object.__setattr__(self, each.name, _read(each.name, given))
        if self.subgroups and self.subgroup_margin is None and self.score_margin is None:
            raise PolicyError(
                f"The line subgroups is {list(self.subgroups)!r}, and no line says how much worse the score "
                "may be there: add subgroup_margin, or score_margin."
            )

    @classmethod
    def from_dict(cls, lines: Mapping[str, Any]) -> "ChangePolicy":
        """The policy of these lines, by name; a PolicyError for one that there is not, or that cannot be.

        >>> ChangePolicy.from_dict({"max_chrun": 0.05})
        Traceback (most recent call last):
        holdfast.errors.PolicyError: There is no line 'max_chrun' (= 0.05): did you mean 'max_churn'?
        """
        known = [each.name for each in fields(cls)]
        for name, given in lines.items():
            if name not in known:
                raise PolicyError(f"There is no line {name!r} (= {given!r}): {nearest(str(name), known)}")
            if given is None:
                raise PolicyError(f"The line {name} is None: leave it out, or {_may_be(name)}.")
        return cls(**lines)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "ChangePolicy":
        """The policy in a TOML file; a PolicyError names the line that is wrong."""
        from holdfast.stability.policy.toml_file import read_lines

        try:
            return cls.from_dict(read_lines(path))
        except PolicyError as error:
            raise PolicyError(f"Cannot use the change policy '{os.fspath(path)}': {error}") from error

    @classmethod
    def template(cls) -> "ChangePolicy":
        """The policy that `holdfast policy init` writes: a start, to be made your own."""
        examples = {each.name: line_of(each.name) for each in fields(cls)}
        return cls(**{name: known.example for name, known in examples.items() if known.in_force})

    def to_dict(self) -> dict[str, Any]:
        """The lines that are stated, as `from_dict` reads them, and as JSON and TOML have them."""
        lines = {each.name: _plain(getattr(self, each.name)) for each in fields(self)}
        return {name: value for name, value in lines.items() if value not in (None, [], {})}

    def to_toml(self) -> str:
        """The lines that are stated, as a file that `load` reads."""
        return toml_text(self.to_dict())

    def check(
        self,
        old: Any,
        new: Any,
        table: "Table",
        *,
        subgroups: Any = None,
        diff: "TreeDiff | None" = None,
    ) -> "PolicyVerdict":
        """How the change from the old tree to the new one stands to the policy, line by line.

        The rows of the table should be such that the new tree has not learnt from them. `subgroups` has
        columns that the table has not: a frame, or a mapping from names to one value per row. `diff` is what
        changed between the trees, if that is known already.
        """
        from holdfast.stability.policy.check import checked

        return checked(self, old, new, table, subgroups=subgroups, diff=diff)


def _read(name: str, given: Any) -> Any:
    try:
        return line_of(name).form.read(given)
    except (ValueError, TypeError):
        raise PolicyError(f"The line {name} is {given!r}: {_may_be(name)}.") from None


def _may_be(name: str) -> str:
    return f"it has to be {line_of(name).form}"


def _plain(value: Any) -> Any:
    """The value with lists for tuples."""
    if isinstance(value, Mapping):
        return {name: _plain(part) for name, part in value.items()}
    return [_plain(part) for part in value] if isinstance(value, tuple) else value
