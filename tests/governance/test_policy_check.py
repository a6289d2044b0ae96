"""Line by line: figures by hand, and a line that fails exactly when its figure crosses its limit."""

from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from holdfast import ChangePolicy, Feature, Schema, Table, Target, Tree, tree_diff
from holdfast.errors import DataError, PolicyError, SchemaMismatch
from holdfast.explain.firmness import ReferenceTrees
from holdfast.governance import PolicyVerdict
from holdfast.governance.judge import JUDGES
from holdfast.governance.verdict import PolicyLine
from reference.random_trees import random_schema, random_tree

AGE = Feature("age", low=0.0, high=100.0)
WARD = Feature("ward", "nominal", categories=("A", "B", "C"))
SCHEMA = Schema((AGE, WARD), Target("died", classes=("no", "yes")))
CLASSES = ("no", "yes")


def stump(cut: float, *, no: float = 0.9, yes: float = 0.6, feature: str = "age") -> Tree:
    """Beyond the cut the patient dies; the fractions of the class that each leaf predicts."""
    split = {"feature": feature, "left": 1, "right": 2}
    split |= {"threshold": cut} if feature == "age" else {"categories": ["A"]}
    leaves = {"value": [no, 1 - no], "count": 50}, {"value": [1 - yes, yes], "count": 50}
    return Tree.from_nodes(SCHEMA, [split, *leaves])


def rows(n_rows: int = 100, *, weight: Any = None) -> Table:
    """Patients of the ages 0.5, 1.5, ..., wards in turn; those above 50 die."""
    age = (np.arange(n_rows) + 0.5) * 100 / n_rows
    died = (age > 50).astype(np.int32)
    return Table(SCHEMA, (age, np.arange(n_rows) % 3.0), died, weight)


def line_of(verdict: PolicyVerdict, name: str, subject: str = "") -> PolicyLine:
    return next(line for line in verdict.lines if (line.name, line.subject) == (name, subject))


def figure(name: str, old: Tree, new: Tree, limit: Any, table: Table | None = None) -> float | None:
    policy = ChangePolicy(**{name: limit})
    (line,) = policy.check(old, new, table or rows()).lines
    return line.figure


# -- figures by hand --------------------------------------------------------------------------------------


def test_a_threshold_that_moves_by_ten_years() -> None:
    old, new = stump(50), stump(60)
    verdict = ChangePolicy.template().check(old, new, rows())
    figures = {line.name: line.figure for line in verdict.lines}
    assert figures["thresholds"] == 1
    assert figures["max_threshold_shift"] == pytest.approx(0.1)
    assert [figures[name] for name in ("leaf_values", "categories", "missing_sides")] == [0, 0, 0]
    assert [figures[name] for name in ("new_splits", "gone_splits", "new_root")] == [0, 0, 0]
    # Ten of a hundred patients: 0.6 becomes 0.1, "yes" becomes "no", and they died.
    assert figures["max_churn"] == pytest.approx(0.1 * 0.5)
    assert figures["max_flips"] == pytest.approx(0.1)
    assert figures["max_negative_flips"] == pytest.approx(0.1)
    assert figures["min_leaf_rows"] == 40
    assert verdict.n_rows == 100
    assert figure("max_changed_rules", old, new, 0) == 2
    assert figure("max_distance", old, new, 1.0) == pytest.approx(0.1)  # each of two leaves: 10 / (2 * 100)


def test_other_values_alone_change_no_rule() -> None:
    old, new = stump(50), stump(50, yes=0.7)
    assert figure("leaf_values", old, new, "allowed") == 1
    assert figure("max_changed_rules", old, new, 0) == 0
    assert figure("max_churn", old, new, 1.0) == pytest.approx(0.05)
    assert figure("max_flips", old, new, 1.0) == 0
    assert ChangePolicy(leaf_values="never").check(old, new, rows()).failed
    assert ChangePolicy(thresholds="never", new_splits="never").check(old, new, rows()).passed


def test_another_first_question() -> None:
    old, new = stump(50), stump(50, feature="ward")
    verdict = ChangePolicy(new_root="never", new_splits="never", thresholds="never").check(old, new, rows())
    assert [line.name for line in verdict.failed] == ["new_splits", "new_root"]
    assert "first split is on ward, and was on age" in line_of(verdict, "new_root").words


def test_a_branch_that_becomes_a_leaf_and_back() -> None:
    leaf = Tree.from_nodes(SCHEMA, [{"value": [0.6, 0.4], "count": 100}])
    policy = ChangePolicy(new_splits="never", gone_splits="never")
    assert [line.name for line in policy.check(stump(50), leaf, rows()).failed] == ["gone_splits"]
    assert [line.name for line in policy.check(leaf, stump(50), rows()).failed] == ["new_splits"]


def test_categories_and_the_side_of_missing_values() -> None:
    old = stump(0, feature="ward")
    turned = old.replace(missing_left=~old.missing_left & (old.feature >= 0))
    moved = old.replace(in_set=np.array([True, True, False]))
    policy = ChangePolicy(categories="never", missing_sides="never", thresholds="never", new_splits="never")
    assert [line.name for line in policy.check(old, moved, rows()).failed] == ["categories"]
    assert [line.name for line in policy.check(old, turned, rows()).failed] == ["missing_sides"]


def test_a_side_of_missing_values_that_flips_with_a_threshold_counts() -> None:
    old, new = stump(60), stump(40)
    new = new.replace(missing_left=~old.missing_left & (old.feature >= 0))
    policy = ChangePolicy(missing_sides="never")
    assert policy.check(old, new, rows()).passed  # no training row was missing
    child = 1 if old.missing_left[0] else 2
    old = old.replace(not_recorded=np.array([[child, old.feature[0], 4.0]]))
    verdict = policy.check(old, new, rows())
    assert [line.name for line in verdict.failed] == ["missing_sides"]
    assert "age <= 40 (missing values now go to" in verdict.failed[0].words


def test_weights_count_as_rows_and_rows_without_weight_do_not() -> None:
    weight = np.ones(100)
    weight[50:60], weight[:10] = 3.0, 0.0
    verdict = ChangePolicy(max_flips=1.0, min_leaf_rows=0).check(stump(50), stump(60), rows(weight=weight))
    assert line_of(verdict, "max_flips").figure == pytest.approx(30 / 110)
    assert line_of(verdict, "min_leaf_rows").figure == 40
    assert verdict.n_rows == 90


def test_new_thresholds_have_to_be_in_their_interval() -> None:
    def judged(new: float, *interval: float) -> PolicyLine:
        policy = ChangePolicy(threshold_intervals={"age": interval})  # type: ignore[dict-item]
        return policy.check(stump(50), stump(new), rows()).lines[0]

    assert judged(45, 40, 55).status == "passed"
    assert judged(55, 40, 55).status == "passed"
    assert judged(56, 40, 55).status == "failed"
    assert judged(56, 40, 55).figure == 56
    assert judged(50, 60, 70).status == "passed"  # the old threshold may stay where it is
    assert judged(50, 60, 70).figure is None


def test_the_score_may_be_worse_by_the_margin_with_the_confidence() -> None:
    # Ten of 100 rows were right and become wrong: the accuracy is 0.1 less. The standard error of a mean of
    # 100 numbers, 90 times 0 and 10 times -1, is sqrt(0.1 * 0.9 / 99).
    bound = -0.1 - 1.6448536 * np.sqrt(0.09 / 99)
    policy = ChangePolicy(scoring="accuracy", score_margin=0.2)
    line = policy.check(stump(50), stump(60), rows()).lines[0]
    assert line.figure == pytest.approx(bound, abs=1e-6)
    assert (line.limit, line.status, line.sense) == (-0.2, "passed", "at least")
    surer = replace(policy, confidence=0.999999).check(stump(50), stump(60), rows()).lines[0]
    assert surer.status == "failed"
    assert "accuracy 0.900, was 1.000: -0.100 ± 0.030" in line.words
    assert "too few rows" in surer.words
    assert "too few rows" not in line.words


def test_a_loss_is_told_as_people_say_it() -> None:
    line = (
        ChangePolicy(scoring="brier", score_margin=1.0).check(stump(50), stump(50, yes=0.8), rows()).lines[0]
    )
    assert "Brier score 0.025, was 0.085: +0.060 ± " in line.words  # (0.1² + 0.2²) / 2, (0.1² + 0.4²) / 2
    assert line.figure is not None
    assert line.figure > 0


def test_calibration_of_a_tree_that_says_what_came_true_is_right() -> None:
    rng = np.random.default_rng(0)
    age = rng.uniform(0, 100, 2000)
    died = (rng.random(2000) < np.where(age <= 50, 0.1, 0.6)).astype(np.int32)
    table = Table(SCHEMA, (age, np.zeros(2000)), died)
    rates = died[age <= 50].mean(), died[age > 50].mean()
    exact = stump(50, no=1 - rates[0], yes=rates[1])
    extreme = stump(50, no=0.99, yes=0.9)
    policy = ChangePolicy(calibration_intercept=(-0.01, 0.01), calibration_slope=(0.99, 1.01))
    good = policy.check(exact, exact, table)
    assert [line.figure for line in good.lines] == pytest.approx([0, 1], abs=1e-6)
    bad = policy.check(exact, extreme, table)
    assert [line.name for line in bad.failed] == ["calibration_intercept", "calibration_slope"]
    assert line_of(bad, "calibration_slope").figure < 1  # type: ignore[operator]


def test_calibration_is_that_of_each_of_many_classes_and_of_numbers_in_deviations() -> None:
    three = Schema((AGE,), Target("end", classes=("a", "b", "c")))
    leaves = [{"value": [0.5, 0.25, 0.25], "count": 5}, {"value": [0.2, 0.2, 0.6], "count": 5}]
    tree = Tree.from_nodes(three, [{"feature": "age", "threshold": 50, "left": 1, "right": 2}, *leaves])
    table = Table(three, (rows().columns[0],), (np.arange(100) % 3).astype(np.int32))
    verdict = ChangePolicy(calibration_slope=(0.0, 2.0)).check(tree, tree, table)
    assert [line.subject for line in verdict.lines] == ["class a", "class b", "class c"]

    cost = Schema((AGE,), Target("cost", low=0.0, high=100.0))
    leaves = [{"value": 10.0, "count": 5, "impurity": 1.0}, {"value": 30.0, "count": 5, "impurity": 1.0}]
    tree = Tree.from_nodes(cost, [{"feature": "age", "threshold": 50, "left": 1, "right": 2}, *leaves])
    said = np.where(rows().columns[0] <= 50, 10.0, 30.0)
    table = Table(cost, (rows().columns[0],), said + 5.0)  # all predictions lack 5, half of the deviation
    verdict = ChangePolicy(calibration_intercept=(0, 1), calibration_slope=(0, 2)).check(tree, tree, table)
    assert [line.figure for line in verdict.lines] == pytest.approx([0.5, 1.0])


# -- subgroups --------------------------------------------------------------------------------------------


def test_the_score_is_held_in_every_subgroup_that_has_enough_rows() -> None:
    sex = np.array(["f"] * 55 + ["m"] * 45)
    policy = ChangePolicy(scoring="accuracy", score_margin=0.5, subgroups=("sex",), min_subgroup_rows=10)
    verdict = policy.check(stump(50), stump(60), rows(), subgroups={"sex": sex})
    # Of the ten that become wrong, five are among the 55 and five among the 45.
    women, men = line_of(verdict, "subgroups", "sex = f"), line_of(verdict, "subgroups", "sex = m")
    error = np.sqrt(5 / 55 * (50 / 55) / 54)
    assert women.figure == pytest.approx(-5 / 55 - 1.6448536 * error, abs=1e-6)
    assert men.status == "passed"
    assert "on 55 rows" in women.words


def test_small_subgroups_and_those_of_one_class_are_reported_and_not_judged() -> None:
    policy = ChangePolicy(score_margin=0.5, subgroups=("age", "ward"), min_subgroup_rows=34, subgroup_bands=2)
    verdict = policy.check(stump(50), stump(60), rows())
    states = {line.subject: line.status for line in verdict.lines}
    assert states == {
        "": "passed",
        "age <= 49.5": "not judged",
        "age > 49.5": "not judged",
        "ward = A": "passed",
        "ward = B": "not judged",
        "ward = C": "not judged",
    }
    words = {line.subject: line.words for line in verdict.not_judged}
    assert words["ward = B"] == "33 rows, fewer than 34"
    assert words["age > 49.5"] == "AUC on 50 rows: undetermined on these rows"
    assert verdict.passed


def test_subgroups_have_a_margin_of_their_own() -> None:
    policy = ChangePolicy(scoring="accuracy", score_margin=0.5, subgroup_margin=0.1, subgroups=("ward",))
    verdict = replace(policy, min_subgroup_rows=5).check(stump(50), stump(60), rows())
    assert line_of(verdict, "score_margin").status == "passed"
    assert [line.limit for line in verdict.failed] == [-0.1, -0.1, -0.1]


def test_columns_for_subgroups_come_as_a_frame_too() -> None:
    import pandas as pd

    policy = ChangePolicy(score_margin=0.5, subgroups=("site",), min_subgroup_rows=5)
    frame = pd.DataFrame({"site": ["x", None] * 50}, index=range(100, 200))
    verdict = policy.check(stump(50), stump(60), rows(), subgroups=frame)
    assert [line.subject for line in verdict.lines] == ["", "site = x", "site missing"]


# -- properties -------------------------------------------------------------------------------------------

LEAST = -1e300


def limits_at(name: str, value: float) -> tuple[Any, Any]:
    """A limit that the figure is at, and one that it is a step beyond."""
    below, above = (float(np.nextafter(value, end)) for end in (-np.inf, np.inf))
    if name == "calibration_intercept":
        return (LEAST, value), (LEAST, below)
    if name == "calibration_slope":
        return (value, -LEAST), (above, -LEAST)
    if name == "score_margin":
        return -value, -above
    if name in ("min_leaf_rows", "max_changed_rules"):
        return int(value), int(value) + (1 if name == "min_leaf_rows" else -1)
    return value, below


@given(st.randoms(use_true_random=False))
def test_a_line_fails_exactly_when_its_figure_crosses_its_limit(random: Random) -> None:
    schema = random_schema(random)
    old, new = (random_tree(random, schema, random.randint(1, 6)) for _ in range(2))
    table = random_rows(random, schema)
    wide = {
        "max_changed_rules": 10**6,
        "max_threshold_shift": 1.0,
        "max_distance": 1e6,
        "max_churn": 1e6,
        "max_flips": 1.0,
        "max_negative_flips": 1.0,
        "score_margin": 1e6,
        "calibration_intercept": (LEAST, -LEAST),
        "calibration_slope": (LEAST, -LEAST),
        "min_leaf_rows": 0,
    }
    diff = tree_diff(old, new)
    lines = ChangePolicy(scoring="accuracy", **wide).check(old, new, table, diff=diff).lines  # type: ignore[arg-type]
    assert list(dict.fromkeys(line.name for line in lines)) == [name for name in JUDGES if name in wide]
    for line in lines:
        if line.figure is None:
            assert line.name.startswith("calibration_")  # of a leaf, or of a class that no row has
            continue
        assert line.status == "passed"
        for limit, status in zip(limits_at(line.name, line.figure), ("passed", "failed"), strict=True):
            try:
                policy = ChangePolicy(scoring="accuracy", **{line.name: limit})
            except PolicyError:  # less than nothing, or a margin below 0
                continue
            verdict = policy.check(old, new, table, diff=diff)
            assert line_of(verdict, line.name, line.subject).status == status, (line, limit)


def test_flips_of_firm_answers_count_the_rows_that_nearly_all_reference_trees_agree_on() -> None:
    old, new = stump(50), stump(60)
    # All agree beyond 45 to 55; of these 90 rows, the 5 from 55 to 60 change.
    references = ReferenceTrees.of([stump(45), stump(50), stump(55)])
    (line,) = ChangePolicy(max_flips_of_firm=0.05).check(old, new, rows(), references=references).lines
    assert (line.figure, line.status) == (pytest.approx(5 / 90), "failed")
    assert line.words.startswith("of 90 rows with a firm answer")
    (same,) = ChangePolicy(max_flips_of_firm=0).check(old, old, rows(), references=references).lines
    assert (same.figure, same.status) == (0, "passed")
    heavy = rows(weight=np.where(np.arange(100) < 55, 1.0, 9.0))  # the 55 youngest weigh 1, 45 of them firm
    (line,) = ChangePolicy(max_flips_of_firm=0.2).check(old, new, heavy, references=references).lines
    assert line.figure == pytest.approx(45 / (45 + 9 * 45))
    never = ReferenceTrees.of([stump(0), stump(100)])
    for found in (None, never):
        (line,) = ChangePolicy(max_flips_of_firm=0).check(old, new, rows(), references=found).lines
        assert (line.figure, line.status) == (None, "not judged")


def random_rows(random: Random, schema: Schema, n_rows: int = 40) -> Table:
    rng = np.random.default_rng(random.randrange(2**32))
    columns = [
        rng.integers(0, len(each.categories), n_rows).astype(float)
        if each.categories
        else rng.uniform(each.low, each.high, n_rows)
        for each in schema.features
    ]
    for values in columns:
        values[rng.random(n_rows) < 0.05] = np.nan
    target = rng.integers(0, len(schema.target.classes), n_rows).astype(np.int32)
    return Table(schema, tuple(columns), target)


@settings(max_examples=20)
@given(st.randoms(use_true_random=False))
def test_a_tree_that_stays_passes_the_strictest_policy(random: Random) -> None:
    schema = random_schema(random)
    tree, table = random_tree(random, schema, random.randint(1, 6)), random_rows(random, schema)
    permissions = dict.fromkeys(list(JUDGES)[:7], "never")
    limits = ("max_changed_rules", "max_threshold_shift", "max_distance", "max_churn", "max_flips")
    zeros = dict.fromkeys([*limits, "max_negative_flips", "score_margin"], 0)
    verdict = ChangePolicy(**permissions, **zeros).check(tree, tree, table)  # type: ignore[arg-type]
    assert verdict.passed, str(verdict)
    assert all(line.figure == 0 for line in verdict.lines)


@settings(max_examples=20)
@given(st.randoms(use_true_random=False))
def test_the_order_of_rows_changes_no_bit_of_a_verdict(random: Random) -> None:
    schema = random_schema(random)
    old, new = (random_tree(random, schema, random.randint(2, 6)) for _ in range(2))
    table = random_rows(random, schema)
    order = np.random.default_rng(random.randrange(2**32)).permutation(table.n_rows)
    site = np.array(list("xyz"))[np.arange(table.n_rows) % 3]
    lines = {**ChangePolicy.template().to_dict(), "scoring": "log_loss", "subgroups": ["site"]}
    policy = ChangePolicy.from_dict({**lines, "min_subgroup_rows": 5})
    one = policy.check(old, new, table, subgroups={"site": site})
    other = policy.check(old, new, table.subset(order), subgroups={"site": site[order]})
    assert one.to_dict() == other.to_dict()


# -- what cannot be ---------------------------------------------------------------------------------------


def test_columns_that_are_not_there_are_named() -> None:
    policy = ChangePolicy(score_margin=0.1, subgroups=("sexx",))
    with pytest.raises(PolicyError, match=r"subgroups names the column 'sexx', .* did you mean 'sex'\?"):
        policy.check(stump(50), stump(60), rows(), subgroups={"sex": ["f"] * 100})
    with pytest.raises(DataError, match=r"subgroups\['sexx'\] has 3 values, and the table has 100 rows"):
        policy.check(stump(50), stump(60), rows(), subgroups={"sexx": ["f"] * 3})
    with pytest.raises(PolicyError, match=r"threshold_intervals names the column 'agee'.*'age'"):
        ChangePolicy(threshold_intervals={"agee": (1, 2)}).check(stump(50), stump(60), rows())
    with pytest.raises(PolicyError, match="'ward', which is nominal"):
        ChangePolicy(threshold_intervals={"ward": (1, 2)}).check(stump(50), stump(60), rows())


def test_a_metric_for_numbers_and_a_model_of_another_target_are_refused() -> None:
    for scoring, why in (("r2", "is for numbers"), ("acuracy", "is unknown: choose one of 'accuracy'")):
        with pytest.raises(PolicyError, match=f"The line scoring is '{scoring}', which {why}"):
            ChangePolicy(scoring=scoring).check(stump(50), stump(60), rows())
    number = Schema((AGE, WARD), Target("cost", low=0.0, high=9.0))
    other = Tree.from_nodes(number, [{"value": 3.0, "count": 5, "impurity": 1.0}])
    with pytest.raises(SchemaMismatch, match="cost"):
        ChangePolicy(max_churn=0.1).check(stump(50), other, rows())


def test_flips_of_numbers_are_not_judged() -> None:
    number = Schema((AGE, WARD), Target("cost", low=0.0, high=9.0))
    tree = Tree.from_nodes(number, [{"value": 3.0, "count": 5, "impurity": 1.0}])
    table = Table(number, rows().columns, np.arange(100.0))
    verdict = ChangePolicy(max_flips=0.1, max_churn=0.1).check(tree, tree, table)
    assert [(line.name, line.status) for line in verdict.lines] == [
        ("max_churn", "passed"),
        ("max_flips", "not judged"),
    ]
