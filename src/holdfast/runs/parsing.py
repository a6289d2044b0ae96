"""Values of settings from texts of the terminal, and from what Python gives in their place."""

import csv
from collections.abc import Mapping
from math import isfinite
from numbers import Integral, Real
from typing import Any, Literal

Order = tuple[str, ...]
Nodes = tuple[int, ...] | Literal["edited"]
Pairs = tuple[tuple[str, float], ...] | None  # numbers by the text of a class, or of two
ClassWeights = str | tuple[tuple[Any, float], ...] | None  # "balanced", or weights by class
Directions = tuple[tuple[str, int], ...] | None  # columns and which way the outcome goes with them


def names_in_order(text: str) -> Order:
    """The names between the commas, without the blanks around them; those with a comma stand in quotes.

    >>> names_in_order('low, middle, "high, or more"')
    ('low', 'middle', 'high, or more')
    """
    return _order(tuple(_parts(text)), text)


def order_of(value: Any) -> Order:
    """The names of a list, the first of them first."""
    if isinstance(value, str):
        return names_in_order(value)
    return _order(tuple(map(str, value)) if isinstance(value, list | tuple) else (), value)


def column_in_order(text: str) -> tuple[str, Order]:
    """A column, and its categories in their order.

    >>> column_in_order("stage=I,II,III")
    ('stage', ('I', 'II', 'III'))
    """
    column, sign, names = text.partition("=")
    if not sign or not column.strip():
        raise ValueError(
            f"{text!r} has to be a column and its categories in their order, such as stage=I,II,III,IV."
        )
    return column.strip(), names_in_order(names)


def columns_in_order(value: Any) -> tuple[tuple[str, Order], ...]:
    """Columns with their categories in order, from a dict of lists, or from pairs.

    >>> columns_in_order({"grade": ["low", "high"]})
    (('grade', ('low', 'high')),)
    """
    if isinstance(value, str):
        return (column_in_order(value),)
    pairs = tuple(value.items()) if isinstance(value, Mapping) else tuple(value)
    return tuple((str(column), order_of(names)) for column, names in pairs)


def leaf_size(text: str) -> int | float:
    """A number of rows, or a fraction of all.

    >>> leaf_size("5"), leaf_size("0.05")
    (5, 0.05)
    """
    try:
        return leaf_size_of(int(text) if text.strip().isdigit() else float(text))
    except ValueError:
        raise _leaf_size_error(text) from None


def leaf_size_of(value: Any) -> int | float:
    """The same from a number."""
    if isinstance(value, Integral) and not isinstance(value, bool) and int(value) >= 1:
        return int(value)
    if isinstance(value, Real) and not isinstance(value, Integral) and 0 < float(value) < 1:
        return float(value)
    raise _leaf_size_error(value)


def most_leaves(text: str) -> int | str:
    """A number of leaves, or the word auto.

    >>> most_leaves("8"), most_leaves("auto")
    (8, 'auto')
    """
    return most_leaves_of(int(text) if text.strip().isdigit() else text.strip())


def most_leaves_of(value: Any) -> int | str:
    """The same from a number or a text."""
    if isinstance(value, Integral) and not isinstance(value, bool) and int(value) >= 2:
        return int(value)
    if isinstance(value, str) and value.lower() == "auto":
        return "auto"
    raise ValueError(f"{value!r} must be an integer of at least 2, or auto.")


def class_weights(text: str) -> ClassWeights:
    """The word balanced, or a weight for some of the classes.

    >>> class_weights("died=5,lived=1")
    (('died', 5.0), ('lived', 1.0))
    """
    if text == "balanced":
        return text
    return _weights(_numbers(text), text)


def class_weights_of(value: Any) -> ClassWeights:
    """The same from a text, a dict, or pairs."""
    if isinstance(value, str):
        return class_weights(value)
    return _weights(_pairs_of(value), value)


def losses(text: str) -> Pairs:
    """What it costs to take a row of one class for another.

    >>> losses("bad:good=5, good:bad=1")
    (('bad:good', 5.0), ('good:bad', 1.0))
    """
    return _losses(_numbers(text), text)


def losses_of(value: Any) -> Pairs:
    """The same from a text, or from a dict whose keys are such texts, or pairs of classes."""
    return losses(value) if isinstance(value, str) else _losses(_pairs_of(value), value)


def priors(text: str) -> Pairs:
    """The fractions of the classes.

    >>> priors("bad=0.3,good=0.7")
    (('bad', 0.3), ('good', 0.7))
    """
    return _priors(_numbers(text), text)


def priors_of(value: Any) -> Pairs:
    """The same from a text, or from a dict."""
    return priors(value) if isinstance(value, str) else _priors(_pairs_of(value), value)


def threshold(text: str) -> float | str:
    """A probability, or the word cost.

    >>> threshold("0.2"), threshold("cost")
    (0.2, 'cost')
    """
    return threshold_of(number_or_text(text))


def threshold_of(value: Any) -> float | str:
    """The same from a number or a text."""
    if isinstance(value, str) and value.lower() == "cost":
        return "cost"
    if isinstance(value, Real) and not isinstance(value, bool) and 0 < float(value) < 1:
        return float(value)
    raise ValueError(f"{value!r} has to be a probability between 0 and 1, or cost.")


def directions(text: str) -> Directions:
    """Columns with a sign between commas: 1 never falls as the column rises, -1 never rises.

    >>> directions("age=+1,dose=-1")
    (('age', 1), ('dose', -1))
    """
    pairs = [part.rpartition("=") for part in _parts(text)]
    signs = {"1": 1, "+1": 1, "+": 1, "-1": -1, "-": -1}
    if any(not name.strip() or sign.strip() not in signs for name, _, sign in pairs):
        raise ValueError(f"{text!r} has to be columns with +1 or -1, such as age=+1,dose=-1.")
    return tuple((name.strip(), signs[sign.strip()]) for name, _, sign in pairs)


def directions_of(value: Any) -> Directions:
    """The same from a text, a dict, or pairs."""
    if isinstance(value, str):
        return directions(value)
    try:
        pairs = tuple((name, int(sign)) for name, sign in dict(value).items())
    except (TypeError, ValueError):
        pairs = ()
    if not pairs or any(sign not in (-1, 1) for _, sign in pairs):
        raise ValueError(f"{value!r} has to be columns with 1 or -1, such as {{'age': 1}}.")
    return pairs


def node_numbers(text: str) -> Nodes:
    """Numbers of nodes between commas, or the word edited.

    >>> node_numbers("0, 3"), node_numbers("edited")
    ((0, 3), 'edited')
    """
    if text.strip() == "edited":
        return "edited"
    return nodes_of([int(part) if part.isdigit() else part for part in _parts(text)])


def nodes_of(value: Any) -> Nodes:
    """The same from a number, numbers, or a text."""
    if isinstance(value, str):
        return node_numbers(value)
    nodes = tuple(value) if isinstance(value, list | tuple) else (value,)
    if any(not isinstance(node, Integral) or isinstance(node, bool) or int(node) < 0 for node in nodes):
        raise ValueError(f"{value!r} has to be numbers of nodes such as 0,3, or the word edited.")
    return tuple(int(node) for node in nodes)


def fraction_or_none(value: Any) -> float | None:
    """A fraction from 0 to less than 1; None for 0.

    >>> fraction_or_none(0.25), fraction_or_none(0)
    (0.25, None)
    """
    if value is None or (isinstance(value, Real) and not isinstance(value, bool) and 0 <= float(value) < 1):
        return float(value or 0) or None
    raise ValueError(f"{value!r} has to be a fraction of at least 0 and below 1.")


def number_or_text(text: str) -> float | str:
    """The integer or the number that the text writes, or else the text."""
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def as_it_is(value: Any) -> Any:
    """The value, which is checked where it is used."""
    return value


def _numbers(text: str) -> tuple[tuple[Any, float], ...]:
    """Names, and the numbers after their last sign of equality; nothing if these are none."""
    pairs = [part.rpartition("=") for part in _parts(text)]
    try:
        return tuple((name.strip(), float(number)) for name, _, number in pairs)
    except ValueError:
        return ()


def _pairs_of(value: Any) -> tuple[tuple[Any, float], ...]:
    try:
        return tuple((key, float(number)) for key, number in dict(value).items())
    except (TypeError, ValueError):
        return ()


def _losses(pairs: tuple[tuple[Any, float], ...], given: Any) -> Pairs:
    texts = (":".join(map(str, key)) if isinstance(key, tuple) else str(key) for key, _ in pairs)
    named = tuple(zip(texts, (loss for _, loss in pairs), strict=True))
    if not named or not all(":" in key and loss >= 0 and isfinite(loss) for key, loss in named):
        raise ValueError(f"{given!r} has to be losses of at least 0, such as bad:good=5.")
    if len(dict(named)) < len(named):
        raise ValueError(f"{given!r} has a pair of classes twice.")
    return named


def _priors(pairs: tuple[tuple[Any, float], ...], given: Any) -> Pairs:
    named = tuple((str(key), fraction) for key, fraction in pairs)
    is_whole = abs(sum(dict(named).values()) - 1.0) <= 1e-6
    if not is_whole or not all(0 < fraction <= 1 for _, fraction in named):
        raise ValueError(f"{given!r} has to be fractions above 0 that sum to 1, such as bad=0.3,good=0.7.")
    return named


def _parts(text: str) -> list[str]:
    return [part.strip() for part in next(csv.reader([text], skipinitialspace=True), [])]


def _order(names: Order, given: Any) -> Order:
    if not all(names) or len(names) < 2:
        raise ValueError(f"{given!r} has to be names between commas, such as low,middle,high.")
    if len(set(names)) < len(names):
        raise ValueError(f"{given!r} has a name twice.")
    return names


def _leaf_size_error(given: Any) -> ValueError:
    return ValueError(
        f"{given!r} has to be an integer of at least 1, or a fraction of the rows such as 0.05."
    )


def _weights(weights: tuple[tuple[Any, float], ...], given: Any) -> ClassWeights:
    if not weights or not all(label != "" and weight > 0 and isfinite(weight) for label, weight in weights):
        raise ValueError(
            f"{given!r} has to be balanced, or weights above 0 of classes, such as died=5,lived=1."
        )
    if len(dict(weights)) < len(weights):
        raise ValueError(f"{given!r} has a class twice.")
    return weights
