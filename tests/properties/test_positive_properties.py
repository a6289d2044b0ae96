"""The positive class never changes by itself: not by updates, files, stages, or rows of the other class."""

import json
import os
import pathlib
import re
import sys
import warnings

import numpy as np
import pandas as pd
import pytest

from holdfast import (
    BoostingClassifier,
    DataWarning,
    ForestClassifier,
    StableTreeClassifier,
    TreeClassifier,
    explain_row,
    load,
    save,
    tree_diff,
)
from holdfast._text import label_text
from holdfast.report.rules import rule_facts
from holdfast.tree.rules_text import sort_rules

N_FILES = int(os.environ.get("HOLDFAST_FILES", "5"))  # 200 before a release
CLASSES = (("no", "yes"), ("yes", "zero"), (0, 1), (False, True), ("died", "lived at home"), (-1, 7))
HOWS = ("nearest", "nearest", "refit", "retrain", "keep")


def random_rows(rng, n_rows, classes, share):
    """Two numbers, a category, and a target whose second class has about this share of the rows."""
    x, z, ward = rng.uniform(0, 10, n_rows).round(1), rng.normal(0, 1, n_rows), rng.choice(["a", "b"], n_rows)
    z[rng.random(n_rows) < 0.1] = np.nan
    score = np.sin(x) + (ward == "b") + np.nan_to_num(z) + rng.normal(0, 0.5, n_rows)
    is_second = score > np.quantile(score, 1 - share)
    return pd.DataFrame({"x": x, "z": z, "ward": ward}), pd.Series([classes[int(each)] for each in is_second])


def random_estimator(rng, seed, positive):
    """Single trees and ensembles, which are fitted once, and stable trees, which are updated."""
    rules = {"random_state": seed, "positive": positive}
    if seed % 8 == 0:
        return TreeClassifier(max_depth=int(rng.integers(1, 5)), **rules)
    if seed % 8 == 1:
        kind = (ForestClassifier, BoostingClassifier)[int(rng.integers(2))]
        return kind(n_estimators=3, max_depth=3, random_state=seed)
    leaves = int(rng.integers(2, 8))
    if seed % 8 == 2:
        return StableTreeClassifier(method="bootstrap", n_estimators=5, max_leaf_nodes=leaves, **rules)
    return StableTreeClassifier(
        teacher="linear",
        n_estimators=4,
        validation=None,
        max_leaf_nodes=leaves,
        leaf_values=("teacher", "labels")[int(rng.integers(2))],
        **rules,
    )


def through_a_file(model, folder, *, is_old=False):
    """The model saved and loaded; an old file does not tell the positive class."""
    path = folder / "model.json"
    save(model, path)
    if is_old:
        text = path.read_text(encoding="utf-8")
        document = json.loads(text)
        del document["schema"]["target"]["positive"]
        path.write_text(json.dumps(document), encoding="utf-8")
        return load(path, edited=True)
    return load(path)


def check_shown(tree, first, other, X, y):
    """The tree shows the risk of its positive class, and of the other one where it is asked for."""
    place = tree.schema.target.classes.index(first)
    name, asked = label_text(first), label_text(other)
    assert tree.schema.target.positive == first
    assert f"p({name})" in str(tree)
    assert f"p({name}) = " in tree.rules()
    assert f"p({asked}) = " in tree.rules(positive=other)
    assert f"probability of {name}" in tree.to_svg()
    assert f"probability of {asked}" in tree.to_svg(positive=other)
    risks = [rule.value[place] for rule in sort_rules(tree, "risk")]
    assert risks == sorted(risks, reverse=True)
    facts = rule_facts(tree, place, "row")
    assert [fact["value"] for fact in facts] == sorted((fact["value"] for fact in facts), reverse=True)
    for leaf, says in re.findall(r'data-node="(\d+)".*?<text[^>]*>([^<]*%)</text>', tree.to_svg(), re.DOTALL):
        told = [fact["prediction"] for fact in facts if fact["leaf"] == int(leaf)]
        assert told in ([], [says.replace("&lt;", "<").replace("&gt;", ">")])
    outcome = explain_row(tree, X[:1]).outcome
    assert (outcome.label, outcome.estimate) == (first, tree.value[tree.apply(X[:1])[0], place])
    assert explain_row(tree, X[:1], positive=other).outcome.label == other
    rows = tree_diff(tree, tree, X, y).rows
    assert rows is not None
    assert rows.positive == first
    assert tree.with_leaf_value(int(tree.apply(X[:1])[0]), 0.3).predict_proba(X[:1])[
        0, place
    ] == pytest.approx(0.3)


def check_file(seed, folder):
    rng = np.random.default_rng(seed)
    warnings.simplefilter("ignore", DataWarning)
    classes = CLASSES[seed % len(CLASSES)]
    share = float(rng.choice([0.15, 0.3, 0.7, 0.85]))
    said = None if rng.random() < 0.6 else classes[int(rng.integers(2))]
    X, y = random_rows(rng, 120, classes, share)
    model = random_estimator(rng, seed, said)
    said = model.get_params().get("positive")
    model.fit(X, y)
    first = classes[int(share < 0.5)] if said is None else said
    other = classes[1 - classes.index(first)]
    is_old = said is None and not isinstance(model, ForestClassifier | BoostingClassifier) and seed % 3 == 0
    model = through_a_file(model, folder, is_old=is_old)
    assert model.schema_.target.positive == first
    if not hasattr(model, "tree_"):
        return
    check_shown(model.tree_, first, other, X, y)
    if not isinstance(model, StableTreeClassifier):
        return
    before = model.tree_
    new = random_rows(rng, 90, classes, 1 - share)  # in which the other class is the rarer
    for _ in range(int(rng.integers(1, 3))):
        model.update(
            *new,
            strategy=str(rng.choice(HOWS)),
            prior_rows=[None, 0][rng.integers(2)],
            validation=None,
            force=True,
        )
        assert {step.tree.schema.target.positive for step in model.update_.steps} == {first}
        model.select_step(int(rng.integers(len(model.update_.steps))), force=True)
        model = through_a_file(model, folder)
        check_shown(model.tree_, first, other, *new)
        diff = tree_diff(before, model.tree_, *new)
        assert (diff.positive, diff.rows.positive) == (first, first)
        assert tree_diff(before, model.tree_, *new, positive=other).rows.positive == other
    model.set_params(positive=other).update(*new, strategy="refit", validation=None, force=True)
    assert through_a_file(model, folder).tree_.schema.target.positive == other


@pytest.mark.parametrize("seed", range(N_FILES))
def test_the_positive_class_is_that_of_the_first_fit(seed, tmp_path):
    check_file(seed, tmp_path)


if __name__ == "__main__":  # python tests/properties/test_positive_properties.py 0 200
    import tempfile

    with tempfile.TemporaryDirectory() as place:
        for each in range(int(sys.argv[1]), int(sys.argv[2])):
            check_file(each, pathlib.Path(place))
    print(f"{int(sys.argv[2]) - int(sys.argv[1])} models keep their positive class.")
