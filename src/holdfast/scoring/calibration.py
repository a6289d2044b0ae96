"""Calibration of predictions: intercept, slope, observed over expected; and population stability."""

from dataclasses import dataclass, replace
from math import exp, fsum, hypot, isnan, log, nan, sqrt
from statistics import NormalDist

import numpy as np

from holdfast._arrays import FloatArray
from holdfast.data.schema import Feature, Label
from holdfast.scoring.formulas import standard_error, weighted_mean
from holdfast.scoring.metric import TrueValues
from holdfast.scoring.survival import event_by_horizon

LEAST = 0.001  # probabilities are clipped to it before taking log odds
MOST_STEPS = 2000
SHORTEST_STEP = 1e-9
NORMAL_95 = NormalDist().inv_cdf(0.975)
MOST_SLOPE = 1e3  # beyond, the classes are separated, and there is no finite slope


@dataclass(frozen=True)
class Calibration:
    """Calibration of predictions; NaN for figures that the rows cannot determine.

    Intercept and slope are those of the regression of the observations on the predictions: logistic, on the
    log odds of a probability; linear, on a number. 0 and 1 are right; with a slope below 1 predictions are
    too extreme. Of a single prediction the slope is unknown, and taken for 1.
    """

    intercept: float
    slope: float
    observed: float  # mean observation
    expected: float  # mean prediction
    intercept_error: float = nan  # standard errors
    slope_error: float = nan
    event_ratio: float = nan  # of times to an event: events by those expected over the whole time

    @property
    def is_vague(self) -> bool:
        """True if the 95 % interval of the slope is wider than 1 on each side."""
        return NORMAL_95 * self.slope_error > 1

    @property
    def ratio(self) -> float:
        """Observed over expected; above 1, more events were observed than predicted."""
        if not isnan(self.event_ratio):
            return self.event_ratio
        return self.observed / self.expected if self.expected else nan


UNKNOWN = Calibration(nan, nan, nan, nan)


def calibration(predicted: FloatArray, true_values: TrueValues, positive: int | None = None) -> Calibration:
    """Compute the calibration of a class probability, or of numeric predictions.

    `predicted` is (rows, classes) or (rows, 1), as for metrics; `positive` is the index of the class. Of
    classes without a positive one the result is `UNKNOWN`. Weights count as numbers of rows. Of relative
    risks, it is that of the probability of an event up to the horizon, observed by Kaplan and Meier.

    >>> from holdfast import Target
    >>> true_values = TrueValues(Target(classes=("no", "yes")), np.array([0, 0, 0, 1, 0, 1, 1, 1]))
    >>> forecast = np.repeat([[0.75, 0.25], [0.25, 0.75]], 4, axis=0)
    >>> right = calibration(forecast, true_values, positive=1)
    >>> round(right.intercept, 6) + 0.0, round(right.slope, 6), right.ratio
    (0.0, 1.0, 1.0)
    """
    rows = true_values.rows
    if true_values.target.is_classes and positive is None:
        return UNKNOWN
    forecast, truth = _forecast_and_truth(predicted, true_values, positive or 0)
    levels = _group_by_forecast(forecast, truth, rows.weight)
    if true_values.target.is_classes:
        return _calibrate_probabilities(*levels)
    found = _calibrate_numbers(*levels)
    if rows.survival is not None and (events := observed_expected(predicted, true_values)) is not None:
        found = replace(found, event_ratio=events.ratio)
    left = truth - found.intercept - found.slope * forecast
    spread = _mean(np.square(forecast - found.expected), rows.weight)
    if not spread > 0 or len(forecast) < 3:
        return found
    noise = _mean(np.square(left), rows.weight) / (len(forecast) - 2)  # of a mean over all rows, squared
    errors = sqrt(noise * (1 + found.expected**2 / spread)), sqrt(noise / spread)
    return replace(found, intercept_error=errors[0], slope_error=errors[1])


@dataclass(frozen=True)
class ObservedExpected:
    """Observed against expected events, with a 95 % interval of the ratio."""

    observed: float  # mean observation, such as the rate of a class
    expected: float  # mean prediction
    low: float
    high: float

    @property
    def ratio(self) -> float:
        """Observed over expected; above 1, more was observed than predicted."""
        return self.observed / self.expected if self.expected > 0 else nan

    @property
    def is_off(self) -> bool:
        """True if the interval is known and excludes 1."""
        return self.low > 1.0 or self.high < 1.0


def observed_expected(
    predicted: FloatArray, true_values: TrueValues, positive: int | None = None
) -> ObservedExpected | None:
    """Compare the observed mean with the mean prediction.

    The interval takes the predictions as given: it is that of the observed mean over the expected one, by the
    logarithm of the ratio, with the standard error of the mean, by groups where there are some. It is NaN
    where the rows do not vary; of a single class it has exact limits. The result is None for classes without
    a positive one, and for numbers of which some are below 0, where a ratio is meaningless. Of relative
    risks, it compares events with those expected at the predicted risk, over the whole time of observation.

    >>> from holdfast import Target
    >>> true_values = TrueValues(Target(classes=("no", "yes")), np.array([0] * 80 + [1] * 20))
    >>> found = observed_expected(np.tile([0.9, 0.1], (100, 1)), true_values, positive=1)
    >>> f"{found.ratio:.2f} ({found.low:.2f} to {found.high:.2f})", found.is_off
    ('2.00 (1.35 to 2.97)', True)
    """
    rows, is_classes = true_values.rows, true_values.target.is_classes
    if is_classes and positive is None:
        return None
    if rows.survival is not None:
        truth = rows.survival.event.astype(np.float64)
        forecast = predicted[true_values.counted, 0] * rows.survival.exposure
    else:
        forecast, truth = _forecast_and_truth(predicted, true_values, positive or 0)
    weight = rows.weight
    if truth.min() < 0 or forecast.min() < 0:
        return None
    total = fsum(weight.tolist())
    observed, expected = fsum((weight * truth).tolist()) / total, fsum((weight * forecast).tolist()) / total
    if expected <= 0:
        return ObservedExpected(observed, expected, nan, nan)
    if observed <= 0:  # no events: the upper limit of a Poisson mean
        return ObservedExpected(0.0, expected, 0.0, -log(0.025) / len(truth) / expected)
    if is_classes and truth.min() > 0:  # only events: the exact lower limit of a rate of 1
        return ObservedExpected(1.0, expected, 0.025 ** (1 / rows.n_units) / expected, 1.0 / expected)
    apart = truth if rows.survival is None else truth - observed / expected * forecast
    error = standard_error(weighted_mean(apart, rows), rows) / observed
    if error == 0:  # of a single unit, or of equal numbers
        return ObservedExpected(observed, expected, nan, nan)
    ratio, factor = observed / expected, exp(NormalDist().inv_cdf(0.975) * error)
    return ObservedExpected(observed, expected, ratio / factor, ratio * factor)


def _forecast_and_truth(
    predicted: FloatArray, true_values: TrueValues, place: int
) -> tuple[FloatArray, FloatArray]:
    """Return a probability, or numbers, and what was observed, of the rows that count."""
    rows, counted = true_values.rows, predicted[true_values.counted]
    if rows.survival is not None:
        return event_by_horizon(counted, rows)
    if not true_values.target.is_classes:
        return counted[:, 0], rows.values
    return counted[:, place], (rows.values == place).astype(np.float64)


def _group_by_forecast(
    forecast: FloatArray, truth: FloatArray, weight: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return distinct predictions with their weights and weighted observed means."""
    values, place = np.unique(forecast, return_inverse=True)
    # Sums do not depend on the order of the rows: a tree has few distinct predictions.
    order = np.lexsort((weight, truth, place))
    parts = np.split(order, np.cumsum(np.bincount(place))[:-1])
    weights = np.array([fsum(weight[part].tolist()) for part in parts])
    means = np.array([fsum((weight[part] * truth[part]).tolist()) for part in parts]) / weights
    return values, weights, means


def _mean(values: FloatArray, weights: FloatArray) -> float:
    return fsum((values * weights).tolist()) / fsum(weights.tolist())


# -- probabilities ----------------------------------------------------------------------------------------


def _calibrate_probabilities(forecast: FloatArray, weights: FloatArray, rates: FloatArray) -> Calibration:
    clipped = np.clip(forecast, LEAST, 1 - LEAST)
    odds = np.log(clipped / (1 - clipped))
    observed, expected = _mean(rates, weights), _mean(forecast, weights)
    if not 0 < observed < 1:
        return Calibration(nan, nan, observed, expected)
    if odds.min() == odds.max():
        return Calibration(log(observed / (1 - observed)) - float(odds[0]), nan, observed, expected)
    line = _logistic_line(odds, weights, rates)
    return Calibration(*line, observed, expected, *_line_errors(odds, weights, line))


def _logistic_line(odds: FloatArray, weights: FloatArray, rates: FloatArray) -> tuple[float, float]:
    """Fit intercept and slope of logistic recalibration on the log odds; NaN if there is no fit."""
    line = 0.0, 1.0
    for _ in range(MOST_STEPS):
        step = _newton_step(odds, weights, rates, line)
        if step is None or abs(line[1]) > MOST_SLOPE:
            return nan, nan
        longest = max(1.0, hypot(*step))  # at most 1 at a time, so that it does not overshoot
        line = line[0] + step[0] / longest, line[1] + step[1] / longest
        if hypot(*step) < SHORTEST_STEP:
            return line
    return nan, nan


def _line_errors(odds: FloatArray, weights: FloatArray, line: tuple[float, float]) -> tuple[float, float]:
    """Compute standard errors of intercept and slope from the Fisher information."""
    if isnan(line[1]):
        return nan, nan
    a, b, c = _curvature(odds, weights, _chance(line[0] + line[1] * odds))
    determinant = a * c - b * b
    return (sqrt(c / determinant), sqrt(a / determinant)) if determinant > 0 else (nan, nan)


def _curvature(odds: FloatArray, weights: FloatArray, chances: FloatArray) -> tuple[float, float, float]:
    curve = weights * chances * (1 - chances)
    a, b, c = (fsum((curve * odds**power).tolist()) for power in (0, 1, 2))
    return a, b, c


def _newton_step(
    odds: FloatArray, weights: FloatArray, rates: FloatArray, line: tuple[float, float]
) -> tuple[float, float] | None:
    """Return the Newton step; None if the curvature vanishes."""
    chances = _chance(line[0] + line[1] * odds)
    missing = weights * (rates - chances)
    at_0, at_1 = fsum(missing.tolist()), fsum((missing * odds).tolist())
    a, b, c = _curvature(odds, weights, chances)
    determinant = a * c - b * b
    if not determinant > 0:
        return None
    return (c * at_0 - b * at_1) / determinant, (a * at_1 - b * at_0) / determinant


def _chance(odds: FloatArray) -> FloatArray:
    return np.array([1 / (1 + exp(-each)) if each > -700 else 0.0 for each in odds.tolist()])


# -- numbers ----------------------------------------------------------------------------------------------


def _calibrate_numbers(forecast: FloatArray, weights: FloatArray, means: FloatArray) -> Calibration:
    observed, expected = _mean(means, weights), _mean(forecast, weights)
    if len(forecast) == 1:
        return Calibration(observed - expected, nan, observed, expected)
    spread = _mean(np.square(forecast - expected), weights)
    slope = _mean((forecast - expected) * (means - observed), weights) / spread
    return Calibration(observed - slope * expected, slope, observed, expected)


# -- Calibration in the large ----------------------------------------------------------------------

STEPS = 100  # of bisection, more than a float has bits


def overall_shift(predicted: FloatArray, true_values: TrueValues, place: int = 0) -> float:
    """Compute calibration-in-the-large: the shift that makes mean prediction equal observed mean.

    Of a class with the index `place` it is a shift of the log odds; of numbers, of the number; of relative
    risks, of the probability of an event up to the horizon. NaN if all rows, or none, are of the class.

    >>> from holdfast import Target
    >>> true_values = TrueValues(Target(classes=("no", "yes")), np.array([0, 0, 0, 1]))
    >>> round(overall_shift(np.full((4, 2), 0.5), true_values, 1), 6)  # log odds of 1 to 3
    -1.098612
    """
    rows = true_values.rows
    is_classes = true_values.target.is_classes
    forecast, truth = _forecast_and_truth(predicted, true_values, place)
    order = np.lexsort((truth, rows.weight, forecast))  # so that sums do not depend on the order of the rows
    forecast, truth, weight = forecast[order], truth[order], rows.weight[order]
    observed = fsum((weight * truth).tolist()) / fsum(weight.tolist())
    if not is_classes:
        return observed - fsum((weight * forecast).tolist()) / fsum(weight.tolist())
    if not 0 < observed < 1:
        return nan
    values, first = np.unique(forecast, return_index=True)
    clipped = np.clip(values, LEAST, 1 - LEAST)
    return _shift(np.log(clipped / (1 - clipped)), np.add.reduceat(weight, first), observed)


def _shift(odds: FloatArray, weight: FloatArray, observed: float) -> float:
    """Find the shift of the log odds by bisection."""
    reach = float(np.abs(odds).max()) + abs(log(observed / (1 - observed))) + 1.0
    low, high = -reach, reach
    for _ in range(STEPS):
        middle = (low + high) / 2
        chances = 1 / (1 + np.exp(-(odds + middle)))
        if fsum((weight * chances).tolist()) < observed * fsum(weight.tolist()):
            low = middle
        else:
            high = middle
    return (low + high) / 2


# -- Population stability ------------------------------------------------------------------------------

BINS = 10  # of a column of numbers, with about equally many earlier rows
LITTLE, MUCH = 0.1, 0.25  # usual bounds of an index
HALF_A_ROW = 0.5  # added to each part, so that empty ones have a logarithm


def stability_index(before: FloatArray, after: FloatArray) -> float:
    """Compute the population stability index of two divisions into the same parts.

    It is the sum over the parts of the difference of their fractions times the difference of the logarithms
    of these: 0 for equal fractions, usually small below 0.1 and large above 0.25. Both are numbers of rows,
    one for each part; half a row is added to each.

    >>> round(stability_index(np.array([50.0, 50.0]), np.array([70.0, 30.0])), 3)
    0.166
    """
    return fsum(compute_index_parts(before, after).tolist())


def compute_index_parts(before: FloatArray, after: FloatArray) -> FloatArray:
    """Compute the contribution of each part to the population stability index."""
    old, new = (_fractions(weights) for weights in (before, after))
    return np.array([(b - a) * (log(b) - log(a)) for a, b in zip(old, new, strict=True)])


def _fractions(weights: FloatArray) -> list[float]:
    added = [float(weight) + HALF_A_ROW for weight in weights]
    total = fsum(added)
    return [weight / total for weight in added]


@dataclass(frozen=True)
class ColumnProfile:
    """Row counts by part of a column, kept for indices of later rows.

    A part has the numbers up to a border, which is included; the last part has those above all borders.
    """

    name: str
    borders: tuple[float, ...] | None  # of numbers; None for categories
    categories: tuple[Label, ...]
    counts: tuple[int, ...]  # of each part; or of each category
    missing: int

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return sum(self.counts) + self.missing

    def align_counts(self, other: "ColumnProfile") -> FloatArray:
        """Return counts in the order of another profile's categories; borders must be equal."""
        if self.borders is not None:
            return np.array(self.counts, np.float64)
        known = dict(zip(self.categories, self.counts, strict=True))
        return np.array([known.get(each, 0) for each in other.categories], np.float64)


def column_profile(
    feature: Feature, values: FloatArray, borders: tuple[float, ...] | None = None
) -> ColumnProfile:
    """Profile a column by category, by deciles, or by the given borders.

    >>> column_profile(Feature("age"), np.array([30.0, 40.0, 50.0, np.nan]), (35.0,))
    ColumnProfile(name='age', borders=(35.0,), categories=(), counts=(1, 2), missing=1)
    """
    known = values[~np.isnan(values)]
    missing = int(len(values) - len(known))
    if feature.kind != "numeric":
        counts = np.bincount(known.astype(np.int64), minlength=len(feature.categories))
        return ColumnProfile(feature.name, None, feature.categories, tuple(counts.tolist()), missing)
    edges = _deciles(known) if borders is None else np.array(borders, np.float64)
    counts = np.bincount(np.searchsorted(edges, known, side="left"), minlength=len(edges) + 1)
    return ColumnProfile(feature.name, tuple(edges.tolist()), (), tuple(counts.tolist()), missing)


def _deciles(known: FloatArray) -> FloatArray:
    """Return the distinct decile borders of the column."""
    steps = np.arange(1, BINS) / BINS
    return np.unique(np.quantile(known, steps, method="lower")) if len(known) else np.zeros(0)


def profile_index(before: ColumnProfile, feature: Feature, values: FloatArray) -> float:
    """Compute the population stability index of a column against an earlier profile.

    Missing values are a part of their own, and so are categories of only one period. NaN if the column was of
    another kind.
    """
    if (before.borders is None) == (feature.kind == "numeric"):
        return nan
    after = column_profile(feature, values, before.borders)
    every = replace(after, categories=tuple(dict.fromkeys((*before.categories, *after.categories))))
    counts = [profile.align_counts(every) for profile in (before, after)]
    if before.missing or after.missing:
        gaps = before.missing, after.missing
        counts = [np.append(count, gap) for count, gap in zip(counts, gaps, strict=True)]
    return stability_index(*counts)


def column_index(feature: Feature, before: FloatArray, after: FloatArray) -> float:
    """Compute the population stability index by category, or by the earlier deciles."""
    return profile_index(column_profile(feature, before), feature, after)
