"""The audit in words, as tables and as a picture."""

from typing import Any
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest

from holdfast import RetrainAudit, TreeClassifier, retrain_audit


@pytest.fixture(scope="module")
def audit() -> RetrainAudit:
    chance = np.random.default_rng(0)
    X = pd.DataFrame({"age": chance.integers(20, 90, 80), "<lab>": chance.normal(5, 2, 80).round(1)})
    y = np.where(X["age"] + chance.normal(0, 15, 80) > 60, "died", "lived")
    return retrain_audit({"tree": TreeClassifier(max_depth=3), "forest": "forest"}, X, y, n_repeats=2)


def test_the_summary_says_how_many_rows_get_another_class(audit: RetrainAudit) -> None:
    flips = {name: audit.mean(name, "flips") for name in audit.methods}
    first = min(flips, key=flips.__getitem__)
    error = 100 * audit.error(first, "flips")
    share = f"{100 * flips[first]:.1f} ± {error:.1f} %"
    assert audit.summary.startswith(f"Retrained, {first} changes the class of {share} of the rows")
    assert "Two samples of 75 % of the training rows" in audit.summary
    assert "tested 2 times on 30 % of the rows" in audit.summary


def test_a_known_method_has_one_name_and_a_legend() -> None:
    X = np.arange(60.0)[:, np.newaxis]
    audit = retrain_audit(["pruned-1se"], X, np.repeat(["a", "b"], 30), n_repeats=1, changes="overlap")
    assert audit.summary.startswith("Retrained, pruned-1se changes")
    assert "one-standard-error pruning" in audit.text()
    assert "±" not in audit.text()


def test_the_text_begins_with_the_summary_and_has_every_table(audit: RetrainAudit) -> None:
    text = str(audit)
    assert text.startswith("Retrained")
    for heading in (
        "Two samples of 75 %",
        "Half of the training rows, then all",
        "Small changes: distance",
        "Small changes: churn",
        "Small changes: identical models",
        "Rows whose predictions change",
    ):
        assert f"\n{heading}" in text
    heads = [line.split() for line in text.splitlines() if line.startswith("method")]
    assert heads[0][:4] == ["method", "AUC", "distance", "per"]
    assert heads[1] == ["method", "AUC", "churn", "flips"]  # differences; a forest has no distance
    assert "seconds" not in audit.text(times=False)


def test_a_narrow_table_does_without_some_columns(audit: RetrainAudit) -> None:
    lines = audit.text(width=80).split("Which rows")[0].splitlines()
    assert max(map(len, lines)) <= 80
    assert any("churn" in line and "per leaf" not in line for line in lines)


def test_no_sentence_is_wider_than_the_terminal(audit: RetrainAudit) -> None:
    rows = audit.text(width=60).partition("Rows whose")[2]
    assert rows
    assert max(map(len, rows.splitlines())) <= 60


def test_a_notebook_shows_the_same_and_names_are_text(audit: RetrainAudit) -> None:
    html = audit._repr_html_()
    assert "<table>" in html
    assert "<svg" in html
    assert "<lab>" not in html


def test_the_picture_has_a_name_for_every_method(audit: RetrainAudit) -> None:
    for change in (None, "another seed"):
        root = ElementTree.fromstring(audit.to_svg(change))
        texts = [each.text or "" for each in root.iter("{http://www.w3.org/2000/svg}text")]
        named = sorted(text.split(":")[0] for text in texts if ": 0." in text)
        assert named == ["forest", "tree"]


def test_stages_are_told_as_stages() -> None:
    X: Any = np.arange(90.0)[:, np.newaxis]
    audit = retrain_audit(
        {"tree": TreeClassifier(max_depth=1)},
        X,
        np.tile(["a", "b", "b"], 30),
        stage=np.arange(90) % 3,
        n_repeats=1,
        changes=["staged", "last digit"],
    )
    assert "All rows up to a stage, then the next" in audit.text()
    assert "Every number moved by at most half of its last digit" in audit.text()
