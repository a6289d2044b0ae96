"""What a model is for and who answers for it: the lines of about.toml, which no data can tell."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from holdfast.errors import AboutError
from holdfast.stability.policy.forms import Name, Names, Number, People, Texts
from holdfast.stability.policy.lines import KEY, Line, line
from holdfast.stability.policy.nearest import nearest
from holdfast.stability.policy.toml_file import lines_template
from holdfast.toml_file import read_toml, toml_text

TEXT = Name("a text")
_HEAD = (
    "About a model: what it is for, and who answers for it. `holdfast fit` and `holdfast update` put it on "
    "the page that they write (--about about.toml). Every line is optional; take out what you do not need."
)


def about_line(name: str) -> Line:
    """What is known of the line of this name."""
    known: Line = About.__dataclass_fields__[name].metadata[KEY]
    return known


@dataclass(frozen=True, kw_only=True)
class About:
    """What is said about a model by those who answer for it. Every line is optional.

    >>> print(About(outcome="diabetes, as told by a doctor", limits="adults only").to_toml(), end="")
    outcome = "diabetes, as told by a doctor"
    limits = ["adults only"]
    """

    name: str | None = line(None, TEXT, "Diabetes risk, primary care", "What the model is called.")
    case: str | None = line(None, TEXT, "patient", "What one row of the data is.")
    intended_use: str | None = line(
        None, TEXT, "Whom to invite to a blood test first.", "What its answers are used for, and by whom."
    )
    not_for: tuple[str, ...] = line((), Texts(), ("Diagnosis.", "Children."), "What it must not be used for.")
    population: str | None = line(
        None, TEXT, "Adults from 20 years on, at home, not pregnant.", "Whom it is for."
    )
    outcome: str | None = line(
        None, TEXT, "Told of diabetes by a doctor.", "What it predicts, and how that is found out."
    )
    positive: str | None = line(
        None,
        TEXT,
        "yes",
        "The class that matters, where there are two. Without this line, that of the model.",
        in_force=False,
    )
    decision: str | None = line(
        None, TEXT, "Invited if the risk is 20 % or more.", "What is done with its answers."
    )
    decision_threshold: float | None = line(
        None,
        Number(None),
        0.2,
        "The probability, or the predicted number, from which on this is done. Pages count who crosses it. "
        "Without this line it is done for those whom the tree puts into the class that matters.",
        in_force=False,
    )
    subgroups: tuple[str, ...] = line(
        (),
        Names(),
        ("sex", "age"),
        "Columns by whose values pages divide the rows: how good and how well calibrated the model is in "
        "each part, and who is touched by a change. They need not be features of the model.",
        in_force=False,
    )
    min_subgroup_rows: int = line(
        100, Number(1.0, is_whole=True), 100, "A subgroup of fewer rows is marked as small."
    )
    owner: str | None = line(None, TEXT, "Clinic for Metabolism", "Who answers for it.")
    contacts: tuple[str, ...] = line(
        (), Texts(), ("models@clinic.example",), "Whom to ask, and whom to tell of a fault."
    )
    limits: tuple[str, ...] = line(
        (), Texts(), ("Answers of a survey, not of a laboratory.",), "What it cannot do."
    )
    monitoring: tuple[str, ...] = line(
        (),
        Texts(),
        ("Monthly: population stability index of every column.",),
        "What is watched while it is in use, how often, and by whom.",
    )
    triggers: tuple[str, ...] = line(
        (),
        Texts(),
        ("An index above 0.25.", "Observed over expected outside 0.8 to 1.25."),
        "What leads to the next review or update.",
    )
    next_review: str | None = line(None, TEXT, "2027-03-01", "When it is looked at next, at the latest.")
    sign_off: Mapping[str, str] = line(
        dict,
        People(),
        {"Model owner": "", "Independent validation": "", "Clinical safety": ""},
        "Who signs a change: a role and a name, or an empty one to be filled in by hand.",
    )

    def __post_init__(self) -> None:
        for each in fields(self):
            given = getattr(self, each.name)
            if given is not None or each.default is not None:
                object.__setattr__(self, each.name, _read(each.name, given))

    @classmethod
    def from_dict(cls, lines: Mapping[str, Any]) -> "About":
        """What these lines say, by name; an AboutError for one that there is not, or that cannot be.

        >>> About.from_dict({"ouner": "A. Kim"})
        Traceback (most recent call last):
        holdfast.errors.AboutError: There is no line 'ouner' (= 'A. Kim'): did you mean 'owner'?
        """
        known = [each.name for each in fields(cls)]
        for name, given in lines.items():
            if name not in known:
                raise AboutError(f"There is no line {name!r} (= {given!r}): {nearest(str(name), known)}")
            if given is None:
                raise AboutError(f"The line {name} is None: leave it out, or give {about_line(name).form}.")
        return cls(**lines)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "About":
        """What a TOML file says; an AboutError names the line that is wrong."""
        try:
            return cls.from_dict(read_toml(path, "what is said about a model", AboutError))
        except AboutError as error:
            raise AboutError(f"Cannot use '{os.fspath(path)}': {error}") from error

    def to_dict(self) -> dict[str, Any]:
        """The lines that are stated, as `from_dict` reads them, and as JSON and TOML have them."""
        stated: dict[str, Any] = {}
        for each in fields(self):
            value = getattr(self, each.name)
            if value not in (None, (), {}) and value != each.default:
                stated[each.name] = list(value) if isinstance(value, tuple) else value
        return stated

    def to_toml(self) -> str:
        """The lines that are stated, as a file that `load` reads."""
        return toml_text(self.to_dict())


def about_of(given: Any) -> About:
    """What is given of a model: an About, the path of its file, its lines, or nothing."""
    if given is None:
        return About()
    if isinstance(given, About):
        return given
    if isinstance(given, Mapping):
        return About.from_dict(given)
    if isinstance(given, str | os.PathLike):
        return About.load(given)
    raise AboutError(f"about={given!r} has to be an About, the path of its file, or its lines by name.")


def about_template() -> str:
    """The template: every line, with what it asks for above it."""
    return lines_template(_HEAD, {each.name: about_line(each.name) for each in fields(About)})


def _read(name: str, given: Any) -> Any:
    form = about_line(name).form
    try:
        return form.read(given)
    except (ValueError, TypeError):
        raise AboutError(f"The line {name} is {given!r}: it has to be {form}.") from None
