"""Which columns the user wants read as categories."""

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from holdfast.data.input.columns import Reading
from holdfast.errors import DataError
from holdfast.text.lists import listed


def choose_readings(categorical_features: Any, names: Sequence[str]) -> list[Reading]:
    """Choose how each column is read.

    `categorical_features` is "from_dtype"; None for nothing that could be a number; or a list of names,
    a list of indices, or one flag per column.

    >>> choose_readings(["ward"], ["age", "ward"])
    ['by dtype', 'categories']
    """
    if categorical_features is None:
        return ["numbers"] * len(names)
    if isinstance(categorical_features, str) and categorical_features == "from_dtype":
        return ["by dtype"] * len(names)
    chosen = _indices(_choices(categorical_features), names)
    return ["categories" if index in chosen else "by dtype" for index in range(len(names))]


def _choices(categorical_features: Any) -> list[Any]:
    if not isinstance(categorical_features, str):  # which would be listed letter by letter
        with suppress(TypeError):
            return list(categorical_features)
    raise DataError(
        f"categorical_features is {categorical_features!r}, not 'from_dtype', None or a list. "
        f"For one column, write [{categorical_features!r}]."
    )


def _indices(choices: list[Any], names: Sequence[str]) -> set[int]:
    if choices and all(isinstance(choice, bool | np.bool_) for choice in choices):
        if len(choices) != len(names):
            raise DataError(f"categorical_features has {len(choices)} flags for {len(names)} columns.")
        return {index for index, choice in enumerate(choices) if choice}
    absent = [choice for choice in choices if not _exists(choice, names)]
    if absent:
        raise DataError(
            f"categorical_features names {listed(absent)}, which is not in the data. "
            f"Its {len(names)} columns are {listed(names, 30)}."
        )
    return {names.index(choice) if isinstance(choice, str) else int(choice) for choice in choices}


def _exists(choice: Any, names: Sequence[str]) -> bool:
    if isinstance(choice, int | np.integer):
        return int(choice) in range(len(names))
    return isinstance(choice, str) and choice in names
