"""What an XGBoost model says about its columns: their names, and the categories behind the codes."""

from collections.abc import Mapping, Sequence
from itertools import accumulate, pairwise
from typing import Any, NamedTuple

from holdfast.adapters.reading import read_column_names
from holdfast.data.input.columns import to_label
from holdfast.data.schema import Feature, Label, Schema
from holdfast.errors import SchemaMismatch


class ColumnLabels(NamedTuple):
    """Names of the columns, and labels of the categorical ones in the order of their codes."""

    names: list[str]
    categories: Mapping[int, tuple[Label, ...]]


def read_columns(learner: Mapping[str, Any], schema: Schema | None) -> ColumnLabels:
    """Read the columns of the model; a schema supplies what XGBoost loses."""
    n_columns = int(learner["learner_model_param"]["num_feature"])
    names = read_column_names(learner["feature_names"] or None, n_columns, schema)
    encodings = learner["gradient_booster"]["model"].get("cats", {}).get("enc", [])
    ours = {feature.name: feature for feature in schema.columns} if schema else {}
    categories = {
        index: _categories(names[index], encodings[index] if encodings else {}, ours.get(names[index]))
        for index, kind in enumerate(learner["feature_types"])
        if kind == "c"
    }
    return ColumnLabels(names, categories)


def _categories(name: str, encoding: Mapping[str, Any], ours: Feature | None) -> tuple[Label, ...]:
    values, ends = encoding.get("values"), encoding.get("offsets")
    if not values:
        labels = ours.categories if ours else ()
        if not labels or not all(isinstance(label, int) and label >= 0 for label in labels):
            raise SchemaMismatch(
                f"The model was fitted on codes of column {name!r}, and does not list them. Give "
                f"the schema of a table read from the same codes, categorical_features=[{name!r}], or fit "
                "the model on a frame with a categorical column."
            )
        return tuple(range(max(map(int, labels)) + 1))
    if ends is None:
        return tuple(map(to_label, values))
    text = bytes(number % 256 for number in values)
    return _ascii(text, ends) if text.isascii() else _other_text(name, text, ends, ours)


def _ascii(text: bytes, ends: Sequence[int]) -> tuple[Label, ...]:
    """Cut the text into labels."""
    return tuple(text[start:end].decode() for start, end in pairwise(ends))


def _other_text(name: str, text: bytes, ends: Sequence[int], ours: Feature | None) -> tuple[Label, ...]:
    """Return the schema's labels if they agree with the text.

    XGBoost counts the characters of a pandas label and then keeps as many bytes, which cuts off what is not
    ASCII. The schema's labels must give the same bytes, either whole or cut in that way.
    """
    labels = tuple(str(label) for label in ours.categories) if ours else ()
    if [0, *accumulate(map(len, labels))] == list(ends) and _is_cut_from(text, labels):
        return labels
    parts = [text[start:end] for start, end in pairwise(ends)]
    whole = {label.encode(): label for label in labels}
    if all(part in whole for part in parts):
        return tuple(whole[part] for part in parts)
    raise SchemaMismatch(
        f"XGBoost keeps categories of column {name!r} that are not ASCII cut to pieces. Give the schema of a "
        "table with the same categories, all of them and in the same order, or rename them."
    )


def _is_cut_from(text: bytes, labels: Sequence[str]) -> bool:
    """True if the text is the beginning of the labels, and too short for the last of them at most.

    If two were cut off, nothing would tell which of them comes first.
    """
    return "".join(labels).encode().startswith(text) and len("".join(labels[:-1]).encode()) <= len(text)
