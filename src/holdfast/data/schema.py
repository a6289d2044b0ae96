"""The schema: names, kinds, ranges and categories of the features, and the classes of the target."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from numbers import Real
from typing import Any, Literal

from holdfast._text import quoted
from holdfast.errors import ParameterError, SchemaMismatch

# What a category or a class can be: numpy scalars are turned into these when data is read.
Label = str | int | float | bool
Kind = Literal["numeric", "ordered", "nominal", "custom"]


@dataclass(frozen=True)
class Feature:
    """A column and its range or categories, the unit of tree distances.

    A *numeric* feature has a range. A *nominal* one has categories in sorted order; an *ordered* one has
    them in its own order and is split like a number, at positions between two categories. A *custom* feature
    is a condition that the user wrote (`bmi ** 2 < 900`): its name is that text, its categories are False and
    True.

    Parameters
    ----------
    name : str
    kind : {"numeric", "ordered", "nominal", "custom"}
    low, high : float
        Smallest and largest value in the reference data.
    categories : tuple of str, int, float or bool
        Empty for a numeric feature.

    Examples
    --------
    >>> Feature("ward", "nominal", categories=("A", "B")).is_subset
    True
    """

    name: str
    kind: Kind = "numeric"
    low: float = 0.0
    high: float = 1.0
    categories: tuple[Label, ...] = ()

    @property
    def is_subset(self) -> bool:
        """True if splits are sets of categories, False if they are thresholds."""
        return self.kind in ("nominal", "custom")


TASK_OUTCOMES = {"classification": "classes", "regression": "numbers", "survival": "times to an event"}


@dataclass(frozen=True)
class Hazard:
    """The hazard of an event among all rows, to which the relative risks of a survival tree refer.

    Parameters
    ----------
    times : tuple of float
        Ascending times at which the cumulative hazard is known.
    cumulative : tuple of float
        The cumulative hazard up to each of them.
    horizon : float
        Time up to which survival is compared and shown.
    time, entry : str
        Names of the column of times and, if there is one, of that of entries; the target has the name of the
        event.
    is_linear : bool
        True if the hazard rises evenly between two times, False if it jumps at each.
    unit : str, optional
        Unit of the times, such as "days". It affects display only.
    """

    times: tuple[float, ...]
    cumulative: tuple[float, ...]
    horizon: float
    time: str = "time"
    entry: str | None = None
    is_linear: bool = False
    unit: str | None = None


@dataclass(frozen=True)
class Target:
    """The target: one of `classes` or, without classes, a number in [low, high].

    Parameters
    ----------
    name : str
    classes : tuple of str, int, float or bool
        In sorted order; empty for regression.
    low, high : float
        Range of a numeric target in the reference data.
    positive : optional
        The class whose probability is shown. Tables and trees of two classes always have one, chosen when the
        first table was made. It affects display only: targets that differ in nothing else are equal.
    hazard : Hazard, optional
        If the target is a time to an event: numbers are then relative risks. It does not distinguish targets.

    Examples
    --------
    >>> Target("outcome", classes=("died", "lived")).is_classes
    True
    """

    name: str = "y"
    classes: tuple[Label, ...] = ()
    low: float = 0.0
    high: float = 1.0
    positive: Label | None = field(default=None, compare=False, repr=False)
    hazard: Hazard | None = field(default=None, compare=False, repr=False)

    @property
    def is_survival(self) -> bool:
        """True if it is a time to an event."""
        return self.hazard is not None

    @property
    def task(self) -> Literal["classification", "regression", "survival"]:
        """What is predicted: a class, a number, or a time to an event."""
        if self.is_survival:
            return "survival"
        return "classification" if self.is_classes else "regression"

    @property
    def is_classes(self) -> bool:
        """True for classification, False for regression."""
        return bool(self.classes)

    def class_index(self, positive: Any) -> int:
        """Return the index of a class, given as itself or as text; a ParameterError if it is unknown.

        >>> Target("lived", classes=(0, 1)).class_index("1")
        1
        """
        if isinstance(positive, str | Real):
            for classes in (self.classes, tuple(map(str, self.classes))):
                if positive in classes:
                    return classes.index(positive)
        if not self.is_classes:
            kind = "a time to an event" if self.is_survival else "a number"
            raise ParameterError(f"positive={positive!r}: the target {self.name!r} is {kind}, not a class.")
        raise ParameterError(
            f"positive={positive!r} is no class of {self.name!r}: choose one of {quoted(self.classes)}."
        )

    def with_positive(self, positive: Any) -> "Target":
        """Return the target with this positive class; unchanged if `positive` is None."""
        return self if positive is None else replace(self, positive=self.classes[self.class_index(positive)])

    def with_rarer_positive(self, counts: Sequence[float]) -> "Target":
        """Return the target with the rarer of two classes as positive, unless one is set.

        Of two equally frequent classes it is the second, as in scikit-learn.

        >>> Target("lived", classes=("no", "yes")).with_rarer_positive([10, 30]).positive
        'no'
        """
        if self.positive is not None or len(self.classes) != 2:
            return self
        first, second = (round(float(count), 6) for count in counts)
        return replace(self, positive=self.classes[second <= first])


@dataclass(frozen=True)
class Schema:
    """Features, in column order with custom features last, and the target.

    Parameters
    ----------
    features : tuple of Feature
    target : Target

    Examples
    --------
    >>> ages = Feature("age", low=18.0, high=90.0)
    >>> Schema((ages,), Target("outcome", classes=("died", "lived"))).names
    ('age',)
    """

    features: tuple[Feature, ...]
    target: Target = Target()

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the features, custom ones included."""
        return tuple(feature.name for feature in self.features)

    @property
    def columns(self) -> tuple[Feature, ...]:
        """Features that are columns of the data."""
        return tuple(feature for feature in self.features if feature.kind != "custom")

    @property
    def custom_features(self) -> tuple[str, ...]:
        """Custom features as the user wrote them."""
        return tuple(feature.name for feature in self.features if feature.kind == "custom")

    @cached_property
    def name_order(self) -> tuple[int, ...]:
        """The features by name, x2 before x10, custom features after the columns.

        Random draws and ties use this order, so that results do not depend on the order of the columns.

        >>> Schema((Feature("x10"), Feature("age"), Feature("x2"))).name_order
        (1, 2, 0)
        """
        keys = [(feature.kind == "custom", _natural(feature.name)) for feature in self.features]
        return tuple(sorted(range(len(keys)), key=keys.__getitem__))

    def widen(self, other: "Schema") -> "Schema":
        """Combine the ranges, categories and classes of two schemas.

        Distances measured on the wider schema are not comparable with those measured before.

        Parameters
        ----------
        other : Schema
            Must have the same features in the same order, of the same kinds.

        Returns
        -------
        Schema

        Examples
        --------
        >>> young, old = Schema((Feature("age", high=30),)), Schema((Feature("age", low=25, high=90),))
        >>> young.widen(old).features[0].low, young.widen(old).features[0].high
        (0.0, 90)
        """
        if self.names != other.names:
            raise SchemaMismatch(
                f"Cannot widen the schema: its features are {list(self.names)} and the other's are "
                f"{list(other.names)}. Widening joins ranges, categories and classes, never columns."
            )
        features = tuple(map(_widened_feature, self.features, other.features))
        return Schema(features, _widened_target(self.target, other.target))


def _natural(name: str) -> tuple[list[tuple[int, str]], str]:
    """Make the sort key that compares digits within names as numbers."""
    parts = re.findall(r"[0-9]+|[^0-9]+", name)
    digits = [part.lstrip("0") if part[0] in "0123456789" else None for part in parts]
    # Numbers come before text, and those of fewer digits first.
    keys = [
        (1 << 30, part) if own is None else (len(own), own) for part, own in zip(parts, digits, strict=True)
    ]
    return keys, name


def sort_labels(labels: set[Label]) -> tuple[Label, ...]:
    """Sort labels of mixed types: numbers first, then text."""
    return tuple(sorted(labels, key=lambda label: (isinstance(label, str), label)))


def _widened_feature(old: Feature, new: Feature) -> Feature:
    if old.kind != new.kind:
        raise SchemaMismatch(
            f"Cannot widen the schema: column {old.name!r} is {old.kind} in one and {new.kind} in the other. "
            "Read both data sets with the same categorical columns."
        )
    if old.kind == "nominal":
        return replace(old, categories=sort_labels({*old.categories, *new.categories}))
    if old.kind == "ordered":
        return _widened_order(old, new)
    return replace(old, low=min(old.low, new.low), high=max(old.high, new.high))


def _widened_order(old: Feature, new: Feature) -> Feature:
    # Indices of known categories must not change, so new ones are appended.
    added = tuple(label for label in new.categories if label not in old.categories)
    categories = old.categories + added
    kept = [label for label in categories if label in new.categories]
    if tuple(kept) != new.categories:
        raise SchemaMismatch(
            f"Cannot widen the schema: the ordered categories of column {old.name!r} are "
            f"{list(old.categories)} in one and {list(new.categories)} in the other, and no order holds "
            "both. Give both data sets one list of ordered categories."
        )
    return replace(old, categories=categories, high=float(max(len(categories) - 1, 0)))


def _widened_target(old: Target, new: Target) -> Target:
    if old.is_classes != new.is_classes:
        raise SchemaMismatch(
            f"Cannot widen the schema: the target {old.name!r} is a class in one and a number in the other."
        )
    if old.is_classes:
        positive = new.positive if old.positive is None else old.positive
        return replace(old, classes=sort_labels({*old.classes, *new.classes}), positive=positive)
    return replace(old, low=min(old.low, new.low), high=max(old.high, new.high))


# -- Differences of data from a schema, collected into one error ---------------------------------------------


@dataclass(eq=False)
class SchemaDifferences:
    """Differences of data from a schema: columns, kinds, categories and classes."""

    missing: list[str] = field(default_factory=list)
    extra: list[str] = field(default_factory=list)
    kinds: dict[str, str] = field(default_factory=dict)  # by column: what is wrong with it
    categories: dict[str, list[Label]] = field(default_factory=dict)  # by column: its new categories
    classes: list[Label] = field(default_factory=list)  # the new ones

    @classmethod
    def compare_names(cls, expected: Iterable[str], found: Iterable[str]) -> "SchemaDifferences":
        """Start with the columns that only one side has."""
        expected, found = dict.fromkeys(expected), dict.fromkeys(found)
        return cls(
            missing=[name for name in expected if name not in found],
            extra=[name for name in found if name not in expected],
        )

    def raise_if_any(self) -> None:
        """Raise a SchemaMismatch with a table of the differences, if there are any."""
        rows = [("columns missing", quoted(self.missing))] if self.missing else []
        rows += [("columns not in the schema", quoted(self.extra))] if self.extra else []
        rows += [("kind differs", f"column {name!r}: {clash}") for name, clash in self.kinds.items()]
        rows += [
            ("new categories", f"column {name!r}: {quoted(new)}") for name, new in self.categories.items()
        ]
        rows += [("new classes", quoted(self.classes))] if self.classes else []
        if not rows:
            return
        lines = ["The data does not fit the schema:", *(f"  {title:<27}{content}" for title, content in rows)]
        if self.missing or self.extra:
            lines.append("Give the data exactly the columns of the schema, in any order.")
        if self.kinds:
            lines.append("Give these columns the type they had in the data that the schema was read from.")
        if self.categories or self.classes:
            lines.append(
                "To accept them, read the data without a schema and measure both on a wider one: "
                "old.schema.widen(new.schema)."
            )
        raise SchemaMismatch("\n".join(lines))
