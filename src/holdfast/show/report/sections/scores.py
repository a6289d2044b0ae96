"""What the model was expected to give, and what rows gave that it had not seen: the optimism."""

from collections.abc import Mapping
from typing import Any

from holdfast.scoring.enough import describe_too_few
from holdfast.show.report.fitted import Fitted
from holdfast.show.report.page import Section
from holdfast.text.lines import printable
from holdfast.text.numbers import fixed_text, rounded_percent, with_errors
from holdfast.tree.wording import format_class_names

NAMES = {
    "chosen": "The chosen tree",
    "most-stable": "The most stable tree",
    "best-score": "The tree of the best score",
    "model": "The model",
}


def scores_section(fitted: Fitted) -> Section | None:
    """A row for the chosen tree and the ends of the frontier; None if nothing was ever scored."""
    rows = [each for each in _rows(fitted) if each["expected"] is not None or each["test"] is not None]
    if not rows:
        return None
    for row in rows:
        row["against"] = _against_text(row["optimism"], fitted.metric.is_loss)
    facts = {
        "metric": fitted.metric.title,
        "is_loss": fitted.metric.is_loss,
        "rows": rows,
        "test_rows": None if fitted.test is None else len(fitted.test.true_values.values),
        "test_name": "" if fitted.test is None else fitted.test.name,
        "are_new": fitted.test is None or fitted.test.are_new,
        "earlier_rows": fitted.record.get("division", {}).get("earlier_test_rows") or 0,
        "stages": list(fitted.record.get("division", {}).get("test_stages", [])),
        "notes": list(fitted.record.get("disagreement", [])),
    }
    return Section("scores", "Expected and tested", "data scientist", "scores.html", facts)


def _rows(fitted: Fitted) -> list[dict[str, Any]]:
    """What each tree was expected to give, and gave; scores with the sign that people expect."""
    facts, metric = fitted.record, fitted.metric
    if "trees" in facts and fitted.frontier is not None:
        return [
            _row(NAMES[name], _expected(fitted, each["candidate"]), each, each["leaves"])
            for name, each in sorted(facts["trees"].items(), key=lambda item: item[0] != "chosen")
        ]
    expected = facts.get("model", {}).get("expected")
    test = facts.get("model", {}).get("test")
    if fitted.frontier is not None and fitted.chosen is not None:
        expected = _expected(fitted, fitted.chosen)
    if test is None and fitted.test is not None and not describe_too_few(fitted.test.true_values):
        score = metric.score(_predictions(fitted), fitted.test.true_values)
        test = {"score": metric.shown(score.value), "standard_error": score.error}
    found = {"test": test, "earlier_test": facts.get("model", {}).get("earlier_test")}
    return [_row(NAMES["model"], expected, found, None)]


def _predictions(fitted: Fitted) -> Any:
    from holdfast.scoring.predictions import predict_for_metric

    assert fitted.test is not None
    return predict_for_metric(fitted.metric, fitted.model, fitted.test.X)


def _expected(fitted: Fitted, candidate: int) -> dict[str, float]:
    frontier = fitted.frontier
    assert frontier is not None
    score = fitted.metric.shown(float(frontier.score[candidate]))
    return {"score": score, "standard_error": float(frontier.score_error[candidate])}


def _row(name: str, expected: Any, tested: Mapping[str, Any], leaves: int | None) -> dict[str, Any]:
    test, earlier, optimism = tested["test"], tested["earlier_test"], None
    if expected is not None and test is not None and None not in (expected["score"], test["score"]):
        optimism = expected["score"] - test["score"]
    return {
        "name": name,
        "leaves": leaves,
        "expected": expected,
        "test": test,
        "earlier_test": earlier,
        "texts": [_text(expected), _text(test), _text(earlier)],
        "optimism": optimism,
    }


def _against_text(optimism: float | None, is_loss: bool) -> str:
    """How the test came out against what was expected, in words."""
    if optimism is None:
        return ""
    size = fixed_text(abs(optimism), 3)
    if float(size) == 0.0:
        return "as expected"
    return f"{size} {'worse' if (optimism > 0) != is_loss else 'better'}"


def _text(score: Any) -> str:
    if score is None or score["score"] is None:
        return ""
    return with_errors([score["score"]], [score["standard_error"] or 0.0])[0]


def test_score(fitted: Fitted) -> tuple[float, float] | None:
    """The score of the model on rows that it has not seen, and its standard error; None if there are none."""
    found = next((each["test"] for each in _rows(fitted) if each["test"] is not None), None)
    if found is None or found["score"] is None:
        return None
    return found["score"], found["standard_error"] or 0.0


def _outcome(fitted: Fitted) -> str:
    assert fitted.positive is not None
    return f"{printable(fitted.target.name)} = {format_class_names(fitted.target)[fitted.positive]}"


def score_sentence(fitted: Fitted) -> str:
    """How good the model is, in words that need no textbook; empty if no rows tell."""
    found = test_score(fitted)
    if found is None:
        return ""
    score, error = found
    rows = fitted.record.get("division", {}).get("test_rows") or (
        0 if fitted.test is None else len(fitted.test.true_values.values)
    )
    name = "rows that it has not seen" if fitted.test is None or fitted.test.are_new else fitted.test.name
    noun, title = fitted.noun, fitted.metric.title
    stated = f"{title} {with_errors([score], [error])[0]}"
    if fitted.metric.name == "auc" and fitted.positive is not None:
        return (
            f"On {rows:,} {name}: shown a {noun} with {_outcome(fitted)} and one without, it gives the right "
            f"one the higher risk in {rounded_percent(score)} of such pairs ({stated}); a coin would in half "
            "of them."
        )
    if fitted.metric.name == "r2":
        return (
            f"On {rows:,} {name} it explains {rounded_percent(max(score, 0.0))} of the variance ({stated})."
        )
    if fitted.metric.name == "accuracy":
        return f"On {rows:,} {name} it is right in {rounded_percent(score)} of them ({stated})."
    return f"On {rows:,} {name}: {stated}."
