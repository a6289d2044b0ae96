"""Orders that a file cannot tell: of the categories of a column, and of stages that are words."""

import re
import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from holdfast.arrays import FloatArray
from holdfast.data.input.frame import Frame
from holdfast.data.input.ordered import OrderedText
from holdfast.errors import DataError, DataWarning
from holdfast.text.lists import joined, listed

# A year, a date or a moment, which read in their order.
_IN_TIME = re.compile(r"\d{4}([-/.]\d\d?)*([-/ ]?[QWqw]\d\d?)?([T ].*)?")


def with_orders(frame: Frame, orders: Mapping[str, tuple[str, ...]]) -> Frame:
    """The frame with these columns of text in the order of their categories."""
    columns = [
        _ordered(name, column, orders[name]) if name in orders else column
        for name, column in zip(frame.names, frame.columns, strict=True)
    ]
    return replace(frame, columns=columns)


def stage_places(texts: Any, order: tuple[str, ...]) -> FloatArray:
    """The place of every row's stage in the order, NaN where it has none."""
    _check_known(texts.tolist(), order, "the stage has", f"stage_order {joined(list(order))}")
    place = {name: float(number) for number, name in enumerate(order)}
    return np.array([np.nan if text is None else place[text] for text in texts], np.float64)


def warn_of_alphabet(stages: Sequence[str]) -> None:
    """Say so where words are taken for stages in the order of the alphabet."""
    if all(map(_is_number, stages)) or all(map(_IN_TIME.fullmatch, stages)):
        return
    warnings.warn(
        f"the stages are taken in the order of the alphabet: {joined(list(stages))}. If they follow each "
        "other otherwise, give stage_order with the earliest first.",
        DataWarning,
        stacklevel=4,
    )


def _ordered(name: str, column: Any, order: tuple[str, ...]) -> OrderedText:
    _check_known(column.tolist(), order, f"column {name!r} has", f"ordered {name}={','.join(order)}")
    return OrderedText(column, order)


def _check_known(texts: Sequence[str | None], order: tuple[str, ...], where: str, setting: str) -> None:
    counts = Counter(text for text in texts if text is not None)
    unknown = {text: count for text, count in counts.items() if text not in order}
    if not unknown:
        return
    first, count = next(iter(unknown.items()))
    others = f", and {listed(list(unknown)[1:])}" if len(unknown) > 1 else ""
    rows = "1 row" if count == 1 else f"{count} rows"
    raise DataError(f"{where} {first!r} in {rows}{others}, and {setting} does not: put all into the order.")


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
