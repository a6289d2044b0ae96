"""Does the model mean what it says: calibration leaf by leaf, the ROC curve, or a table of classes."""

from typing import Any

import numpy as np
from markupsafe import Markup

from holdfast.arrays import FloatArray
from holdfast.scoring.calibration import calibration
from holdfast.scoring.enough import describe_too_few
from holdfast.scoring.intervals import wilson_interval
from holdfast.show.palette import BLUE, EDGE, GREY
from holdfast.show.report.charts import Axis, Chart
from holdfast.show.report.fitted import Fitted, RowsKnown
from holdfast.show.report.page import Section
from holdfast.text.numbers import number_text, rounded_percent
from holdfast.tree.wording import format_class_names

BINS = 10  # of what an ensemble says; a tree has its leaves
MOST_CLASSES = 20  # of a table of classes


def calibration_section(fitted: Fitted) -> Section | None:
    """Predictions against what came true, on rows with known values; None without enough such rows."""
    if fitted.test is None or describe_too_few(fitted.test.true_values):
        return None
    if fitted.target.is_classes and fitted.positive is None:
        return _confusion_section(fitted, fitted.test)
    said, truth = _said_and_true(fitted, fitted.test)
    groups = _groups(said, truth, fitted.target.is_classes)
    found = calibration(fitted.predicted, fitted.test.true_values, fitted.positive)
    facts: dict[str, Any] = {
        "kind": "risk" if fitted.target.is_classes else "number",
        "rows": len(said),
        "rows_name": fitted.test.name,
        "outcome": _outcome(fitted),
        "groups": groups,
        "intercept": found.intercept,
        "slope": found.slope,
        "intercept_error": found.intercept_error,
        "slope_error": found.slope_error,
        "is_vague": found.is_vague,
        "observed": found.observed,
        "expected": found.expected,
        "ratio": found.ratio,
        "roc": None,
    }
    figures = {"calibration": _calibration_chart(fitted, groups)}
    if fitted.target.is_classes and 0 < truth.sum() < len(truth):
        facts["roc"] = _roc(said, truth)
        figures["roc"] = _roc_chart(facts["roc"])
    title = "Calibration and ROC" if "roc" in figures else "Calibration"
    return Section("calibration", title, "data scientist", "calibration.html", facts, figures)


def _said_and_true(fitted: Fitted, rows: RowsKnown) -> tuple[FloatArray, FloatArray]:
    place, values = fitted.positive or 0, rows.true_values.values
    truth = (values == place).astype(float) if fitted.target.is_classes else values
    return np.asarray(fitted.predicted[:, place], float), np.asarray(truth, float)


def _outcome(fitted: Fitted) -> str:
    name = fitted.target.name
    return (
        name if fitted.positive is None else f"{name} = {format_class_names(fitted.target)[fitted.positive]}"
    )


def _groups(said: FloatArray, truth: FloatArray, is_classes: bool) -> list[dict[str, Any]]:
    """Rows that are told the same; where answers are very many, tenths of the rows."""
    values = np.unique(said)
    if len(values) > 4 * BINS:
        values = np.unique(np.quantile(said, np.linspace(0, 1, BINS + 1)))[:-1]
    place = np.searchsorted(values, said, side="right") - 1
    return [_group(said[place == each], truth[place == each], is_classes) for each in np.unique(place)]


def _group(said: FloatArray, truth: FloatArray, is_classes: bool) -> dict[str, Any]:
    n, mean = len(said), float(truth.mean())
    if is_classes:
        low, high = wilson_interval(float(truth.sum()), n)
    else:
        half = 1.96 * float(truth.std(ddof=1)) / np.sqrt(n) if n > 1 else 0.0
        low, high = mean - half, mean + half
    return {"said": float(said.mean()), "seen": mean, "rows": n, "low": float(low), "high": float(high)}


def _calibration_chart(fitted: Fitted, groups: list[dict[str, Any]]) -> Markup:
    if fitted.target.is_classes:
        x, y = Axis("what the model says", 0.0, 1.0), Axis("what came true", 0.0, 1.0)
    else:
        ends = [each[name] for each in groups for name in ("said", "low", "high")]
        x, y = Axis.around("what the model says", ends), Axis.around("mean of what came true", ends)
    chart = Chart(x, y)
    low, high = max(x.low, y.low), min(x.high, y.high)
    chart.line([(low, low), (high, high)], GREY, width=1, dashes="4 4")
    chart.upright(((each["said"], each["low"], each["high"]) for each in groups), colour="#8fb9d8")
    most = max(each["rows"] for each in groups)
    for each in groups:
        text = number_text if not fitted.target.is_classes else lambda value, _: rounded_percent(value)
        chart.point(
            each["said"],
            each["seen"],
            f"says {text(each['said'], 4)}, came true {text(each['seen'], 4)}, {each['rows']} rows",
            radius=3 + 5 * float(np.sqrt(each["rows"] / most)),
        )
    return chart.svg("calibration", f"Calibration of {len(groups)} groups of rows against the diagonal")


def _roc(said: FloatArray, truth: FloatArray) -> dict[str, list[float]]:
    """Of every threshold: the fraction of those without, and of those with, that lie above it."""
    thresholds = np.unique(said)[::-1]
    with_it, without = said[truth == 1], said[truth == 0]
    step = max(1, len(thresholds) // 200)
    thresholds = thresholds[::step] if step > 1 else thresholds
    return {
        "threshold": thresholds.tolist(),
        "false_positive": [0.0, *(float((without >= each).mean()) for each in thresholds), 1.0],
        "true_positive": [0.0, *(float((with_it >= each).mean()) for each in thresholds), 1.0],
    }


def _roc_chart(roc: dict[str, list[float]]) -> Markup:
    chart = Chart(
        Axis("false positives: 1 - specificity", 0.0, 1.0), Axis("true positives: sensitivity", 0.0, 1.0)
    )
    chart.line([(0, 0), (1, 1)], EDGE, width=1, dashes="4 4")
    points = list(zip(roc["false_positive"], roc["true_positive"], strict=True))
    chart.line(points, BLUE)
    if len(points) <= 60:
        for (x, y), threshold in zip(points[1:-1], roc["threshold"], strict=True):
            chart.point(
                x,
                y,
                f"risk from {rounded_percent(threshold)}: sensitivity {y:.2f}, specificity {1 - x:.2f}",
            )
    return chart.svg("roc", "ROC curve")


# -- more classes than two --------------------------------------------------------------------------------


def _confusion_section(fitted: Fitted, rows: RowsKnown) -> Section:
    """Which class was said for which, a table that says more than one curve a class."""
    names, n = format_class_names(fitted.target), len(fitted.target.classes)
    said = fitted.decided
    table = np.zeros((n, n), np.int64)
    np.add.at(table, (rows.true_values.values, said), 1)
    seen = table.sum(axis=1)
    order = np.argsort(-seen, kind="stable")[:MOST_CLASSES]
    facts = {
        "kind": "classes",
        "rows": len(said),
        "rows_name": rows.name,
        "classes": [names[place] for place in order.tolist()],
        "table": table[np.ix_(order, order)].tolist(),
        "right": [
            None if not seen[place] else float(table[place, place] / seen[place]) for place in order.tolist()
        ],
        "left_out": n - len(order),
    }
    return Section("calibration", "Said and true classes", "data scientist", "calibration.html", facts)
