"""A model card: what a model is for and who answers for it, which no data can tell."""

import os
from collections.abc import Mapping
from typing import Annotated, Any

import msgspec

from holdfast.errors import ModelCardError
from holdfast.governance.policy import Form, Names, Number, People, PositiveCount, Text, Texts, asks


class ModelCard(Form, frozen=True, kw_only=True):
    """What those who answer for a model state about it. Every line is optional.

    Examples
    --------
    >>> print(ModelCard(outcome="diabetes, as told by a doctor", limits="adults only").to_toml(), end="")
    outcome = "diabetes, as told by a doctor"
    limits = ["adults only"]
    >>> ModelCard.from_dict({"ouner": "A. Kim"})
    Traceback (most recent call last):
    holdfast.errors.ModelCardError: There is no line 'ouner' (= 'A. Kim'): did you mean 'owner'?
    """

    error_type = ModelCardError
    noun = "model card"
    head = (
        "A model card: what the model is for, and who answers for it. `holdfast fit` and `holdfast update` "
        "put it on the page that they write (--model-card model-card.toml). Every line is optional; take out "
        "what you do not need."
    )

    name: Annotated[Text | None, asks("What the model is called.", "Diabetes risk, primary care")] = None
    case: Annotated[Text | None, asks("What one row of the data is.", "patient")] = None
    intended_use: Annotated[
        Text | None,
        asks("What its answers are used for, and by whom.", "Whom to invite to a blood test first."),
    ] = None
    not_for: Annotated[Texts, asks("What it must not be used for.", ("Diagnosis.", "Children."))] = ()
    population: Annotated[
        Text | None, asks("Whom it is for.", "Adults from 20 years on, at home, not pregnant.")
    ] = None
    outcome: Annotated[
        Text | None, asks("What it predicts, and how that is found out.", "Told of diabetes by a doctor.")
    ] = None
    positive: Annotated[
        Text | None,
        asks(
            "The class that matters, where there are two. Without this line, that of the model.",
            "yes",
            in_template=False,
        ),
    ] = None
    decision: Annotated[
        Text | None, asks("What is done with its answers.", "Invited if the risk is 20 % or more.")
    ] = None
    decision_threshold: Annotated[
        Number | None,
        asks(
            "The probability, or the predicted number, from which on this is done. Pages count who "
            "crosses it. Without this line it is done for those whom the tree puts into the class "
            "that matters.",
            0.2,
            in_template=False,
        ),
    ] = None
    subgroups: Annotated[
        Names,
        asks(
            "Columns by whose values pages divide the rows: how good and how well calibrated the "
            "model is in each part, and who is touched by a change. They need not be features of the "
            "model.",
            ("sex", "age"),
            in_template=False,
        ),
    ] = ()
    min_subgroup_rows: Annotated[PositiveCount, asks("A subgroup of fewer rows is marked as small.", 100)] = (
        100
    )
    owner: Annotated[Text | None, asks("Who answers for it.", "Clinic for Metabolism")] = None
    contacts: Annotated[
        Texts, asks("Whom to ask, and whom to tell of a fault.", ("models@clinic.example",))
    ] = ()
    limits: Annotated[Texts, asks("What it cannot do.", ("Answers of a survey, not of a laboratory.",))] = ()
    monitoring: Annotated[
        Texts,
        asks(
            "What is watched while it is in use, how often, and by whom.",
            ("Monthly: population stability index of every column.",),
        ),
    ] = ()
    triggers: Annotated[
        Texts,
        asks(
            "What leads to the next review or update.",
            ("An index above 0.25.", "Observed over expected outside 0.8 to 1.25."),
        ),
    ] = ()
    next_review: Annotated[Text | None, asks("When it is looked at next, at the latest.", "2027-03-01")] = (
        None
    )
    sign_off: Annotated[
        People,
        asks(
            "Who signs a change: a role and a name, or an empty one to be filled in by hand.",
            {"Model owner": "", "Independent validation": "", "Clinical safety": ""},
        ),
    ] = {}  # noqa: RUF012 (msgspec copies it)

    def to_dict(self) -> dict[str, Any]:
        """Return the lines that differ from their defaults, as `from_dict` reads them."""
        return {name: value for name, value in super().to_dict().items() if value != _DEFAULTS.get(name)}


_DEFAULTS = {each.name: each.default for each in msgspec.structs.fields(ModelCard)}


def model_card_of(given: Any) -> ModelCard:
    """Return the model card that is given as one, by the path of its file, by its lines, or not at all."""
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
