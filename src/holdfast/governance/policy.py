"""A change policy: what an update of a deployed tree may change, written down before it is made."""

import json
import os
import re
import sys
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Self, get_args, get_type_hints

import msgspec
import numpy as np
from msgspec import Meta

from holdfast._files import check_is_file
from holdfast._text import closest_name, quoted, wrap_lines
from holdfast.errors import DataError, HoldfastError, PolicyError

if TYPE_CHECKING:
    from holdfast.data.table import Table
    from holdfast.distance.diff import TreeDiff
    from holdfast.governance.verdict import PolicyVerdict

MOST_BYTES = 2**20
WIDTH = 100
GREATEST = sys.float_info.max  # infinity is no number of a file
_BARE = re.compile(r"[A-Za-z0-9_-]+")


def _ordered(ends: tuple[float, float]) -> tuple[float, float]:
    if ends[0] > ends[1]:
        raise ValueError
    return ends


def _ordered_all(intervals: dict[str, tuple[float, float]]) -> dict[str, tuple[float, float]]:
    return {name: _ordered(ends) for name, ends in intervals.items()}


def _distinct(names: tuple[str, ...]) -> tuple[str, ...]:
    if len(set(names)) < len(names):
        raise ValueError
    return names


def _as_list(texts: str | tuple[str, ...]) -> tuple[str, ...]:
    return (texts,) if isinstance(texts, str) else texts


# What may stand in a line: the title says it, and `read` checks or changes what was decoded.
_Number = Annotated[float, Meta(ge=-GREATEST, le=GREATEST)]
_Text = Annotated[str, Meta(min_length=1)]
Permission = Annotated[Literal["allowed", "never"], Meta(title='"allowed" or "never"')]
Name = Annotated[str, Meta(min_length=1, title="a name in quotes")]
Text = Annotated[str, Meta(min_length=1, title="a text in quotes")]
Number = Annotated[float, Meta(ge=-GREATEST, le=GREATEST, title="a number")]
Amount = Annotated[float, Meta(ge=0, le=GREATEST, title="a number of at least 0")]
Fraction = Annotated[float, Meta(ge=0, le=1, title="a number between 0 and 1")]
Confidence = Annotated[float, Meta(gt=0.5, lt=1, title="a number above 0.5 and below 1")]
Count = Annotated[int, Meta(ge=0, title="an integer of at least 0")]
PositiveCount = Annotated[int, Meta(ge=1, title="an integer of at least 1")]
Interval = tuple[float, float]
Between = Annotated[
    tuple[_Number, _Number],
    Meta(title="two numbers, the lower one first, such as [-0.2, 0.2]", extra={"read": _ordered}),
]
Intervals = Annotated[
    dict[str, tuple[_Number, _Number]],
    Meta(
        title="two numbers for each column, the lower one first, such as age = [40, 55]",
        extra={"read": _ordered_all},
    ),
]
Names = Annotated[
    tuple[_Text, ...],
    Meta(title='a list of columns, none of them twice, such as ["sex", "age"]', extra={"read": _distinct}),
]
Texts = Annotated[
    _Text | tuple[_Text, ...],
    Meta(title="a text in quotes, or a list of texts", extra={"read": _as_list}),
]
People = Annotated[
    dict[str, str],
    Meta(title='a name for each role, such as owner = "A. Kim", or "" to be filled in by hand'),
]


def asks(says: str, example: Any, *, in_template: bool = True) -> Meta:
    """What a line asks for in a sentence or two, and its example; else it is a comment of the template."""
    return Meta(description=says, examples=[example], extra={"in_template": in_template})


class Form(msgspec.Struct, frozen=True, kw_only=True):
    """Named lines, each optional: `Meta` says what may stand there, what it asks for, and an example."""

    error_type: ClassVar[type[HoldfastError]]
    noun: ClassVar[str]  # what the file holds, for messages
    head: ClassVar[str]  # of the template

    def __post_init__(self) -> None:
        hints = get_type_hints(type(self), include_extras=True)
        defaults = {each.name: each.default for each in msgspec.structs.fields(self)}
        for name in self.__struct_fields__:
            value = getattr(self, name)
            if value is not None or defaults[name] is not None:
                msgspec.structs.force_setattr(self, name, self._read(name, value, hints[name]))

    def _read(self, name: str, value: Any, hint: Any) -> Any:
        known = _metas(hint)
        try:
            decoded = msgspec.convert(_plain(value), hint)
            for meta in known:
                if meta.extra and "read" in meta.extra:
                    decoded = meta.extra["read"](decoded)
        except (msgspec.ValidationError, ValueError, TypeError):
            raise self.error_type(f"The line {name} must be {_title(known)}, got {value!r}.") from None
        return decoded

    @classmethod
    def from_dict(cls, lines: Mapping[str, Any]) -> Self:
        """Read lines by name; an error names a line that is unknown or malformed."""
        for name, value in lines.items():
            if name not in cls.__struct_fields__:
                suggestion = nearest(str(name), cls.__struct_fields__)
                raise cls.error_type(f"There is no line {name!r} (= {value!r}): {suggestion}")
            if value is None:
                title = _title(_metas(get_type_hints(cls, include_extras=True)[name]))
                raise cls.error_type(f"The line {name} must be {title}, got None: leave it out.")
        return cls(**lines)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a TOML file; an error names the line that is wrong."""
        try:
            return cls.from_dict(read_toml(path, cls.noun, cls.error_type))
        except cls.error_type as error:
            raise cls.error_type(f"Cannot use the {cls.noun} '{os.fspath(path)}': {error}") from error

    @classmethod
    def template(cls) -> Self:
        """Return the lines of the template, to be edited before use."""
        metas = cls._line_metas().items()
        return cls(**{name: _example(meta) for name, meta in metas if _in_template(meta)})

    @classmethod
    def template_text(cls) -> str:
        """Return the template as TOML: every line with its example, and what it asks for above it."""
        parts = [_commented(cls.head)]
        for name, meta in cls._line_metas().items():
            text = toml_text({name: _example(meta)}).rstrip()
            if not _in_template(meta):
                text = "\n".join(f"# {row}" for row in text.splitlines())
            parts.append([*_commented(meta.description or ""), text])
        return "\n\n".join("\n".join(part) for part in parts) + "\n"

    @classmethod
    def _line_metas(cls) -> dict[str, Meta]:
        """What each line asks for, with its example."""
        hints = get_type_hints(cls, include_extras=True)
        return {name: hints[name].__metadata__[-1] for name in cls.__struct_fields__}

    def to_dict(self) -> dict[str, Any]:
        """Return the lines that are stated, as `from_dict` reads them, with lists for tuples."""
        lines = {name: msgspec.to_builtins(getattr(self, name)) for name in self.__struct_fields__}
        return {name: _plain(value) for name, value in lines.items() if value not in (None, (), [], {})}

    def to_toml(self) -> str:
        """Return the lines that are stated, as a file that `load` reads."""
        return toml_text(self.to_dict())


def _metas(hint: Any) -> list[Meta]:
    """What is known of a type, the outermost first."""
    own = [each for each in getattr(hint, "__metadata__", ()) if isinstance(each, Meta)]
    return own + [meta for part in get_args(hint) if get_args(part) for meta in _metas(part)]


def _title(metas: Iterable[Meta]) -> str:
    return next(meta.title for meta in metas if meta.title)


def _in_template(meta: Meta) -> bool:
    return bool(meta.extra and meta.extra["in_template"])


def _example(meta: Meta) -> Any:
    return (meta.examples or [None])[0]


def _plain(value: Any) -> Any:
    """The value with lists for tuples and Python's numbers for those of numpy; a ValueError for a set."""
    if isinstance(value, Mapping):
        return {name: _plain(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    if isinstance(value, set | frozenset):
        raise ValueError
    return value.item() if isinstance(value, np.generic) else value


def nearest(name: str, known: Iterable[str]) -> str:
    """Ask whether the nearest name was meant, or list all.

    >>> nearest("max_chrun", ["max_churn", "max_flips"]), nearest("hue", ["age"])
    ("did you mean 'max_churn'?", "choose of 'age'.")
    """
    names = list(known)
    near = closest_name(name, names)
    return f"choose of {quoted(names, 30)}." if near is None else f"did you mean {near!r}?"


# -- TOML -------------------------------------------------------------------------------------------------


def read_toml(path: str | os.PathLike[str], noun: str, error_type: type[HoldfastError]) -> dict[str, Any]:
    """Read the lines of a TOML file by name; an error of that type if it is no TOML."""
    file = Path(path)
    try:
        check_is_file(file)
    except DataError as error:
        raise error_type(str(error)) from None
    with file.open("rb") as opened:
        data = opened.read(MOST_BYTES + 1)
    if len(data) > MOST_BYTES:
        raise error_type(f"it has more than {MOST_BYTES} bytes: a {noun} is a page of text.")
    try:
        return tomllib.loads(data.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise error_type(f"it is not UTF-8 at byte {error.start}: store it as UTF-8.") from error
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise error_type(f"it is not TOML: {str(error)[:1].lower()}{str(error)[1:]}.") from error


def toml_text(lines: Mapping[str, Any]) -> str:
    """Write the lines as TOML; tables come last, as TOML wants it.

    >>> print(toml_text({"limits": {"age": [40, 55]}, "name": "risk"}), end="")
    name = "risk"
    [limits]
    age = [40, 55]
    """
    plain = {name: value for name, value in lines.items() if not isinstance(value, Mapping)}
    tables = {name: value for name, value in lines.items() if isinstance(value, Mapping)}
    parts = ["\n".join(_assignments(plain))] if plain else []
    parts += ["\n".join([f"[{_key(name)}]", *_assignments(table)]) for name, table in tables.items()]
    return "".join(f"{part}\n" for part in parts)


def _commented(text: str) -> list[str]:
    return wrap_lines(text, WIDTH, "# ", "# ")


def _assignments(lines: Mapping[str, Any]) -> list[str]:
    return [f"{_key(name)} = {_value(value)}" for name, value in lines.items()]


def _key(name: str) -> str:
    return name if _BARE.fullmatch(name) else _value(name)


def _value(value: Any) -> str:
    if isinstance(value, str):
        # The escapes of JSON are TOML's, too; but for one letter that TOML wants escaped.
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, Iterable):
        return f"[{', '.join(_value(part) for part in value)}]"
    return repr(value)


# -- A change policy -----------------------------------------------------------------------------------------


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
    ] = {}

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
