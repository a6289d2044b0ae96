"""A model card: what a model is for and who is responsible for it."""

import os
from collections.abc import Mapping
from typing import Annotated, Any

import msgspec

from holdfast.errors import ModelCardError
from holdfast.governance.toml_form import (
    ColumnNames,
    Number,
    PositiveCount,
    Roles,
    Text,
    Texts,
    TomlForm,
    line,
)


class ModelCard(TomlForm, frozen=True, kw_only=True):
    """What a model is for, its limits, and who is responsible for it. Every line is optional.

    `ModelCard.template_text()` describes every line. A card is made from keywords, from a dictionary by
    `from_dict`, or from a TOML file by `load`.

    Examples
    --------
    >>> print(ModelCard(outcome="diabetes, diagnosed by a doctor", limits="adults only").to_toml(), end="")
    outcome = "diabetes, diagnosed by a doctor"
    limits = ["adults only"]
    >>> ModelCard.from_dict({"ouner": "A. Kim"})
    Traceback (most recent call last):
    holdfast.errors.ModelCardError: There is no line 'ouner' (= 'A. Kim'): did you mean 'owner'?
    """

    error_type = ModelCardError
    noun = "model card"
    head = (
        "A model card: what the model is for, and who is responsible for it. `holdfast fit` and `holdfast "
        "update` show it in their reports (--model-card model-card.toml). Every line is optional; remove "
        "what you do not need."
    )

    name: Annotated[Text | None, line("Name of the model.", "Diabetes risk, primary care")] = None
    case: Annotated[Text | None, line("What one row of the data is.", "patient")] = None
    intended_use: Annotated[
        Text | None,
        line("What its predictions are used for, and by whom.", "Whom to invite to a blood test first."),
    ] = None
    not_for: Annotated[Texts, line("What it must not be used for.", ("Diagnosis.", "Children."))] = ()
    population: Annotated[
        Text | None,
        line("The population that it is made for.", "Adults from 20 years on, at home, not pregnant."),
    ] = None
    outcome: Annotated[
        Text | None, line("What it predicts, and how that is established.", "Diabetes diagnosed by a doctor.")
    ] = None
    positive: Annotated[
        Text | None,
        line(
            "The positive class of two. Default: that of the model.",
            "yes",
            in_template=False,
        ),
    ] = None
    decision: Annotated[
        Text | None,
        line("The decision that its predictions lead to.", "Invited if the risk is 20 % or more."),
    ] = None
    decision_threshold: Annotated[
        Number | None,
        line(
            "The probability, or the predicted number, from which on the decision is made. Reports count "
            "the rows that cross it. Default: the decision follows the predicted class.",
            0.2,
            in_template=False,
        ),
    ] = None
    subgroups: Annotated[
        ColumnNames,
        line(
            "Columns that divide the rows into subgroups, for which reports show score, calibration and "
            "changed decisions. They need not be features of the model.",
            ("sex", "age"),
            in_template=False,
        ),
    ] = ()
    min_subgroup_rows: Annotated[PositiveCount, line("A subgroup of fewer rows is marked as small.", 100)] = (
        100
    )
    owner: Annotated[Text | None, line("Who is responsible for it.", "Clinic for Metabolism")] = None
    contacts: Annotated[Texts, line("Contacts for questions and faults.", ("models@clinic.example",))] = ()
    limits: Annotated[
        Texts, line("Known limitations.", ("Answers of a survey, not laboratory values.",))
    ] = ()
    monitoring: Annotated[
        Texts,
        line(
            "What is monitored in use, how often, and by whom.",
            ("Monthly: population stability index of every column.",),
        ),
    ] = ()
    triggers: Annotated[
        Texts,
        line(
            "What leads to the next review or update.",
            ("An index above 0.25.", "Observed over expected outside 0.8 to 1.25."),
        ),
    ] = ()
    next_review: Annotated[Text | None, line("Date of the next review, at the latest.", "2027-03-01")] = None
    sign_off: Annotated[
        Roles,
        line(
            "Who signs off changes: a role and a name, or an empty one to be filled in by hand.",
            {"Model owner": "", "Independent validation": "", "Clinical safety": ""},
        ),
    ] = {}  # noqa: RUF012 (msgspec copies it)

    def to_dict(self) -> dict[str, Any]:
        """Return the lines that differ from their defaults, as `from_dict` reads them."""
        return {name: value for name, value in super().to_dict().items() if value != _DEFAULTS.get(name)}


_DEFAULTS = {each.name: each.default for each in msgspec.structs.fields(ModelCard)}


def make_model_card(given: Any) -> ModelCard:
    """Make a model card from a card, the path of its file, its lines by name, or None."""
    if given is None:
        return ModelCard()
    if isinstance(given, ModelCard):
        return given
    if isinstance(given, Mapping):
        return ModelCard.from_dict(given)
    if isinstance(given, str | os.PathLike):
        return ModelCard.load(given)
    raise ModelCardError(
        f"model_card must be a ModelCard, the path of its file, or its lines by name, got {given!r}."
    )
