"""The commands on times to an event, from `holdfast fit` to `holdfast export`."""

import csv
import json
from pathlib import Path

import numpy as np
import pandas
import pytest
from command_line import holdfast, refusal
from survival_patients import TIMES, write_followed

from holdfast import SurvivalTree, fit_run, load, open_run, update_run
from holdfast.errors import DataWarning
from holdfast.io.model_file import model_to_json

FEW = ("--teacher", "linear", "--n-estimators", 10, "--max-leaf-nodes", 4)
OUT = ("--drop", "patient", "--drop", "status")
SETTINGS = {"time": "days", "event": "died", "entry": "start_day", "horizon": 365, "time_unit": "days"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Rows of two samples, and a run of a stable tree of the first."""
    folder = tmp_path_factory.mktemp("survival")
    write_followed(folder / "first.csv")
    write_followed(folder / "other.csv", seed=1)
    result = holdfast(
        *("fit", folder / "first.csv", *TIMES, "--horizon", 365, "--time-unit", "days", *OUT, *FEW),
        *("-o", folder / "run"),
    )
    assert result.exit_code == 0, result.output
    (folder / "fit.txt").write_text(result.stdout)
    return folder


def text_of(*arguments: object) -> str:
    result = holdfast(*arguments, columns=100)
    assert result.exit_code == 0, result.output
    return " ".join(result.stdout.split())


# -- fit --------------------------------------------------------------------------------------------------


def test_a_fit_counts_events_and_follow_up_and_scores_the_concordance(folder: Path) -> None:
    text = " ".join((folder / "fit.txt").read_text().split())
    facts = json.loads((folder / "run" / "summary.json").read_text())
    target = facts["data"]["target"]
    frame = pandas.read_csv(folder / "first.csv")
    wanted = {"name": "died", "events": int(frame["died"].sum()), "entry": "start_day", "horizon": 365.0}
    assert {name: target[name] for name in wanted} == wanted
    assert f"days to died, observed from start_day on: {target['events']} events in 240 rows" in text
    assert all(part in text for part in ("median follow-up", "horizon 1 year", "concordance"))
    assert facts["metric"]["name"] == "concordance"
    assert load(folder / "run" / "model.json").schema_.names == ("age", "ward", "lab", "year")


def test_the_terminal_and_python_give_the_same_bits(folder: Path) -> None:
    few = {"teacher": "linear", "n_estimators": 10, "max_leaf_nodes": 4}
    run = fit_run(folder / "first.csv", drop=["patient", "status"], **SETTINGS, **few)
    assert (folder / "run" / "model.json").read_bytes() == model_to_json(run.estimator)
    updated = update_run(folder / "run", folder / "other.csv")
    assert holdfast("update", folder / "run", folder / "other.csv", "-o", folder / "by hand").exit_code == 0
    assert (folder / "by hand" / "model.json").read_bytes() == updated.model_content


def test_an_estimator_and_a_run_of_all_rows_give_the_same_tree(folder: Path) -> None:
    frame = pandas.read_csv(folder / "first.csv")
    run = fit_run(frame, model="tree", max_depth=3, test=0, drop=["patient", "status", "year"], **SETTINGS)
    y = frame["days"], frame["died"] == 1, frame["start_day"]
    own = SurvivalTree(max_depth=3, horizon=365, time_unit="days", random_state=0)
    own.fit(frame[["age", "ward", "lab"]], y)
    assert model_to_json(run.model) == model_to_json(own.tree_)


@pytest.mark.parametrize("event", ["status=dead", "status = Dead", "died=1"])
def test_a_value_of_a_column_is_the_event(folder: Path, tmp_path: Path, event: str) -> None:
    drop = ["patient", "died" if event.startswith("status") else "status"]
    frame = pandas.read_csv(folder / "first.csv")
    settings = {**SETTINGS, "model": "tree", "max_depth": 2, "test": 0}
    named = fit_run(folder / "first.csv", drop=drop, **{**settings, "event": event})
    plain = fit_run(frame, drop=["patient", "status"], **settings)
    assert np.array_equal(named.model.value, plain.model.value)
    named.save(tmp_path / "run")
    assert open_run(tmp_path / "run").model.schema.target.name == event
    text = text_of("update", tmp_path / "run", folder / "other.csv", "-o", tmp_path / "new")
    assert "240 new rows" in text


@pytest.mark.parametrize("words", [("yes", "no"), ("True", "False"), ("1", "0")])
def test_words_and_parquet_make_the_same_events(folder: Path, tmp_path: Path, words: tuple[str, str]) -> None:
    frame = pandas.read_csv(folder / "first.csv").drop(columns=["patient", "status"])
    settings = {**SETTINGS, "model": "tree", "max_depth": 2}
    plain = fit_run(frame, **settings)
    frame["died"] = [words[0] if died else words[1] for died in frame["died"]]
    frame.to_csv(tmp_path / "words.csv", index=False)
    frame.to_parquet(tmp_path / "words.parquet")
    for path in ("words.csv", "words.parquet"):
        assert model_to_json(fit_run(tmp_path / path, **settings).model) == model_to_json(plain.model)


# -- what is refused --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--time", "days"), "needs event"),
        (("--event", "died"), "needs time"),
        (("--time", "days", "--event", "died", "--target", "lab"), "either target, or time and event"),
        (("--time", "days", "--event", "status"), "such as event='status=dead'"),
        (("--time", "days", "--event", "ward"), "competing risks are not supported"),
        (("--time", "days", "--event", "status=ded"), "it holds 'alive', 'dead'"),
        (("--time", "ward", "--event", "died"), "give numbers"),
        (("--time", "days", "--event", "days"), "choose one"),
        (("--time", "days", "--event", "died", "--horizon", 9999), "after the last time"),
        (("--target", "lab", "--horizon", 30), "horizon is for times to an event"),
        (("--time", "days", "--event", "died", "--class-weight", "balanced"), "class_weight is for a target"),
        (("--time", "days", "--event", "died", "--task", "regression"), "does not go with time"),
        (("--time", "days", "--event", "died", "--scoring", "r2"), "not for times to an event"),
        (("--time", "days", "--event", "died", "--model", "boosting"), "choose from stable, tree"),
    ],
)
def test_what_makes_no_sense_is_refused_with_the_way_out(
    folder: Path, tmp_path: Path, options: tuple[object, ...], said: str
) -> None:
    result = holdfast("fit", folder / "first.csv", "-o", tmp_path / "run", *options)
    assert result.exit_code == 2, result.output
    assert said in result.stderr.splitlines()[-1]
    assert not (tmp_path / "run" / "model.json").exists()


def test_missing_times_are_refused_or_left_out(folder: Path, tmp_path: Path) -> None:
    frame = pandas.read_csv(folder / "first.csv").drop(columns=["patient", "status"])
    frame.loc[[3, 5], "days"] = np.nan
    frame.to_csv(tmp_path / "gaps.csv", index=False)
    command = ("fit", tmp_path / "gaps.csv", *TIMES, "--model", "tree", "--no-report", "-o", tmp_path / "run")
    assert "'days' is missing in 2 of 240 rows" in refusal(holdfast(*command))
    assert holdfast(*command, "--drop-missing-target").exit_code == 0
    assert open_run(tmp_path / "run").facts["data"]["rows"] == 238


def test_a_column_that_gives_the_event_away_is_named(folder: Path) -> None:
    with pytest.warns(DataWarning, match="'status' tells which rows have the event"):
        fit_run(folder / "first.csv", model="tree", max_depth=2, drop="patient", **SETTINGS)


# -- the commands that read rows --------------------------------------------------------------------------


def test_predictions_need_neither_time_nor_event(folder: Path, tmp_path: Path) -> None:
    frame = pandas.read_csv(folder / "other.csv").drop(columns=["days", "died", "start_day", "status"])
    frame.to_csv(tmp_path / "new.csv", index=False)
    result = holdfast("predict", folder / "run", tmp_path / "new.csv", "--survival-at", "100,365")
    rows = list(csv.DictReader(result.stdout.splitlines()))
    model = load(folder / "run" / "model.json")
    X = frame[["age", "ward", "lab", "year"]]
    assert [float(row["relative_risk"]) for row in rows] == model.predict(X).tolist()
    survival = [[float(row["survival(100)"]), float(row["survival(365)"])] for row in rows]
    assert np.array_equal(survival, model.predict_survival_function(X, [100.0, 365.0]))
    run = open_run(folder / "run")
    assert np.array_equal(run.predict_survival_function(tmp_path / "new.csv", [100, 365]), survival)
    medians = [float(row["median_time"] or "inf") for row in rows]
    assert medians == model.predict_median(X).tolist()
    usual = holdfast("predict", folder / "run", tmp_path / "new.csv").stdout.splitlines()[0]
    assert usual.endswith("relative_risk,survival(365),median_time")


def test_the_whole_story_from_update_to_export(folder: Path, tmp_path: Path) -> None:
    run, other = folder / "run", folder / "other.csv"
    assert "1-year survival" in text_of("show", run)
    assert "1-year survival" in text_of("explain", run, other, "--row", 1)
    assert "model.json is" in text_of("update", run, other, "-o", tmp_path / "next")
    assert "concordance" in json.dumps(json.loads((tmp_path / "next" / "update.json").read_text())["metric"])
    assert "240 rows" in text_of("diff", run, tmp_path / "next", "--data", other)
    assert "equals the model" in text_of(
        "export", run, "--to", "python", "-o", tmp_path / "m.py", "--verify", other
    )
    assert "Wrote" in text_of("plot", run, "--what", "tree", "-o", tmp_path / "tree.svg")
    assert "concordance" in text_of(
        *("edit", run, "--node", 0, "--threshold", 55, "--data", other, "-o", tmp_path / "edited.json")
    )
    assert (run / "report.html").stat().st_size > 10_000


def test_comparisons_and_audits_take_times_to_an_event(folder: Path) -> None:
    data = (folder / "first.csv", *TIMES, *OUT, "--n-jobs", 1)
    assert "concordance" in text_of("compare", *data, "--models", "tree,forest", "--folds", 2)
    assert "concordance" in text_of(
        *("audit", *data, "--methods", "tree", "--repeats", 1, "--changes", "overlap", "--horizon", 365)
    )


def test_stages_are_calendar_years(folder: Path, tmp_path: Path) -> None:
    options = ("--stage", "year", *OUT, "--teacher", "linear", "--max-leaf-nodes", 3, "--min-rows", 40)
    text = text_of("stages", folder / "first.csv", *TIMES, *options, "-o", tmp_path / "stages.json")
    assert "concordance" in text
    facts = json.loads((tmp_path / "stages.json").read_text())
    assert len(facts["stages"]) > 1
