"""An update from Python: of a file, a folder or a model, by a file or a frame; judged, recorded and saved."""

import json
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest
from drifting_patients import FEW, fitted, write_year

from holdfast import (
    ChangePolicy,
    DataError,
    DataWarning,
    DensityTree,
    ForestClassifier,
    ModelCardError,
    ParameterError,
    PolicyError,
    SchemaMismatch,
    StableTreeClassifier,
    Table,
    Target,
    TreeClassifier,
    UpdateRun,
    check_register,
    data_fingerprint,
    fit_run,
    load,
    load_trees,
    model_hash,
    read_register,
    save,
    tree_distance,
    update_run,
)

pytestmark = pytest.mark.filterwarnings("ignore:.*unknown to the model")
PAGE = {"report.html", "report.json"}
NEVER = ChangePolicy(new_root="never", new_splits="never", leaf_values="never", thresholds="never")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Rows of a year and of the same world again, rows of another world, and a model of the first year."""
    folder = tmp_path_factory.mktemp("update")
    for name, by, seed in (("first", "age", 1), ("again", "age", 2), ("other", "bmi", 3)):
        write_year(folder / f"{name}.csv", by=by, seed=seed)
    save(fitted(folder / "first.csv"), folder / "model.json")
    return folder


@pytest.fixture(scope="module")
def moved(folder: Path) -> UpdateRun:
    return update_run(folder / "model.json", folder / "other.csv", target="outcome", prior_rows=0)


def frame_of(path: Path) -> pandas.DataFrame:
    return pandas.read_csv(path).drop(columns=["clinic", "patient"])


def updated_tree(run: UpdateRun) -> Any:
    assert run.is_taken
    return run.model.tree_


# -- the update ---------------------------------------------------------------------------------------------


def test_the_model_is_what_the_estimator_makes_of_the_same_rows(folder: Path, moved: UpdateRun) -> None:
    model = load(folder / "model.json")
    rows = frame_of(folder / "other.csv")
    model.update(rows.drop(columns="outcome"), rows["outcome"], prior_rows=0)
    assert np.array_equal(model.tree_.threshold, updated_tree(moved).threshold, equal_nan=True)
    assert np.array_equal(model.tree_.value, updated_tree(moved).value)


def test_a_world_where_something_else_decides_gets_another_first_question(moved: UpdateRun) -> None:
    assert moved.update.deployed.schema.names[moved.update.deployed.feature[0]] == "age"
    tree = updated_tree(moved)
    assert tree.schema.names[tree.feature[0]] == "bmi"
    assert not moved.diff.same_root


def test_the_diff_is_as_far_as_the_step_that_is_taken(moved: UpdateRun) -> None:
    step = moved.update.steps[moved.update.taken]
    assert moved.diff.distance.total == pytest.approx(step.distance)
    weight = moved.update.distances.label_weight
    both = moved.update.deployed, updated_tree(moved)
    assert tree_distance(*both, label_weight=weight).total == pytest.approx(step.distance)
    assert moved.diff.rows is not None
    assert moved.diff.rows.n_rows == 240
    assert moved.diff.rows.metric is None  # the new tree has learnt from these rows


def test_the_same_world_keeps_its_questions(folder: Path) -> None:
    run = update_run(folder / "model.json", folder / "again.csv", target="outcome", strategy="refit")
    before = load(folder / "model.json").tree_
    assert np.array_equal(updated_tree(run).threshold, before.threshold, equal_nan=True)


def test_a_frame_and_a_file_give_the_same_model(folder: Path, moved: UpdateRun) -> None:
    run = update_run(folder / "model.json", frame_of(folder / "other.csv"), target="outcome", prior_rows=0)
    assert run.model_content == moved.model_content
    assert run.change.data == moved.change.data


def test_neither_threads_nor_the_order_of_rows_change_a_bit(folder: Path, moved: UpdateRun) -> None:
    rows = frame_of(folder / "other.csv").sample(frac=1, random_state=0)[["ward", "outcome", "bmi", "age"]]
    run = update_run(folder / "model.json", rows, target="outcome", prior_rows=0, n_jobs=1)
    assert run.model_content == moved.model_content
    assert run.change.data == moved.change.data


def test_an_estimator_stays_as_it_is(folder: Path, moved: UpdateRun) -> None:
    model = load(folder / "model.json")
    before = model_hash(model)
    run = update_run(model, folder / "other.csv", target="outcome", prior_rows=0)
    assert model_hash(model) == before == run.change.old_model
    assert run.model is not model
    assert np.array_equal(run.model.tree_.value, updated_tree(moved).value)


def test_another_step_can_be_taken(folder: Path, moved: UpdateRun) -> None:
    run = update_run(folder / "model.json", folder / "other.csv", target="outcome", prior_rows=0, take=1)
    assert np.array_equal(updated_tree(run).value, moved.update.steps[1].tree.value)
    assert "Step 1 of the path was requested" in str(run)
    with pytest.raises(ParameterError, match=r"^take=99 is out of range: the path has the steps 0 to \d+\.$"):
        update_run(folder / "model.json", folder / "other.csv", target="outcome", prior_rows=0, take=99)


def test_a_frozen_node_goes_on_asking_what_it_asks(folder: Path) -> None:
    run = update_run(folder / "model.json", folder / "other.csv", target="outcome", prior_rows=0, frozen=[0])
    old, new = run.update.deployed, updated_tree(run)
    assert (new.feature[0], new.threshold[0]) == (old.feature[0], old.threshold[0])
    with pytest.raises(ParameterError, match="not a node of the deployed tree"):
        update_run(folder / "model.json", folder / "other.csv", target="outcome", frozen=[99])


def test_old_rows_are_learnt_from_and_fade(folder: Path) -> None:
    model, new, old = folder / "model.json", folder / "other.csv", folder / "first.csv"
    both = update_run(model, new, target="outcome", prior_rows=0, old=old, groups="patient")
    assert both.update.n_rows > 400
    assert both.facts["data"]["rows"] == 240
    faded = update_run(model, new, target="outcome", prior_rows=0, old=old, half_life=0.05)
    alone = update_run(model, new, target="outcome", prior_rows=0)
    assert faded.change.data == alone.change.data  # only new rows are named
    assert faded.update.tree.schema.names[faded.update.tree.feature[0]] == "bmi"
    with pytest.raises(ParameterError, match="half_life needs to know how old rows are"):
        update_run(model, new, target="outcome", half_life=1.0)


# -- other columns, categories and targets ------------------------------------------------------------------


def test_new_columns_are_left_out_and_named_unless_the_model_is_widened(folder: Path) -> None:
    with pytest.warns(
        DataWarning,
        match=r"2 columns are unknown .* 'clinic', 'patient'. allow_new_values=True takes them in",
    ):
        run = update_run(folder / "model.json", folder / "again.csv", target="outcome")
    assert updated_tree(run).schema.names == ("age", "bmi", "ward")
    rows = pandas.read_csv(folder / "again.csv").assign(name=[f"Jo {number}" for number in range(240)])
    settings: dict[str, Any] = {"target": "outcome", "allow_new_values": True}
    with pytest.warns(DataWarning, match="'name' is left out"):  # it only tells rows apart
        wide = update_run(folder / "model.json", rows, drop="patient", **settings)
    assert wide.update.tree.schema.names == ("age", "bmi", "ward", "clinic")
    less = update_run(folder / "model.json", rows, drop=["patient", "clinic", "name"], **settings)
    assert less.update.tree.schema.names == ("age", "bmi", "ward")
    with pytest.raises(ParameterError, match="drop goes with allow_new_values"):
        update_run(folder / "model.json", rows, target="outcome", drop="name")


def test_old_rows_without_a_new_column_have_it_missing(folder: Path) -> None:
    old = frame_of(folder / "first.csv")
    new = folder / "again.csv"
    run = update_run(folder / "model.json", new, target="outcome", allow_new_values=True, old=old)
    assert run.update.n_rows > 400
    assert "clinic" in run.update.tree.schema.names


@pytest.mark.filterwarnings("ignore:no tree can split")
def test_a_column_that_was_empty_may_hold_text_now(folder: Path, tmp_path: Path) -> None:
    first = frame_of(folder / "first.csv").assign(tv=np.nan)
    fit_run(first, "outcome", test=0, **FEW).save(tmp_path / "run", report=False)
    for tv in ("2 hours", 2.0):
        later = frame_of(folder / "again.csv").assign(tv=tv)
        with warnings.catch_warnings(record=True) as given:
            warnings.simplefilter("always")
            run = update_run(tmp_path / "run", later, strategy="refit")
        assert run.is_taken
        told = [
            str(each.message) for each in given if "the text in 'tv' counts as missing" in str(each.message)
        ]
        assert bool(told) == isinstance(tv, str)
        column = next(each for each in run.facts["periods"]["columns"] if each["name"] == "tv")
        assert (column["missing_before"], column["missing_now"]) == (1.0, 0.0)  # as in the file
        assert column["index"] is column["range_before"] is None
        assert column["news"] == ("of another kind now" if told else "new values")
        assert ("tv" in run.facts["periods"]["schema"]["other_kinds"]) == bool(told)


def test_a_new_category_of_a_column_that_is_not_asked_about_is_taken_in(folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "ward.csv"
    path.write_text((folder / "again.csv").read_text().replace(",A,", ",D,"))
    run = update_run(folder / "model.json", path, target="outcome")
    assert run.update.tree.schema.features[2].categories == ("A", "B", "C", "D")
    wide = update_run(folder / "model.json", path, target="outcome", allow_new_values=True, drop=["clinic"])
    assert wide.update.tree.schema.features[2].categories == ("A", "B", "C", "D")


def test_a_file_of_another_target_is_refused(folder: Path, tmp_path: Path) -> None:
    run = fit_run(folder / "first.csv", "outcome", drop=["clinic", "patient"], test=0, **FEW)
    save(run.model, tmp_path / "tree.json")
    rows = frame_of(folder / "again.csv").rename(columns={"outcome": "cost"})
    with pytest.raises(
        DataError, match="the model predicts 'outcome', and the frame has no column 'outcome'"
    ):
        update_run(tmp_path / "tree.json", rows)
    with pytest.raises(DataError, match="column 'age' is a feature of the model, which predicts 'outcome'"):
        update_run(tmp_path / "tree.json", rows, target="age")
    with pytest.raises(SchemaMismatch, match="has no column 'bmi', which the model was trained with"):
        update_run(tmp_path / "tree.json", rows.drop(columns="bmi"), target="cost")
    with pytest.raises(SchemaMismatch, match="classes"):
        update_run(tmp_path / "tree.json", rows.assign(cost="cured"), target="cost")
    with pytest.raises(DataError, match="missing in 1 of 240 rows of the frame"):
        update_run(
            tmp_path / "tree.json", rows.assign(cost=rows["cost"].where(rows.index > 0)), target="cost"
        )


# -- which models -------------------------------------------------------------------------------------------


def test_a_plain_tree_is_taken_over_and_the_output_says_so(folder: Path, tmp_path: Path) -> None:
    rows = frame_of(folder / "first.csv")
    model = TreeClassifier(max_leaf_nodes=3, min_samples_leaf=20)
    model.fit(rows.drop(columns="outcome"), rows["outcome"])
    save(model.tree_, tmp_path / "tree.json")
    for given, what in ((model, "is a TreeClassifier"), (tmp_path / "tree.json", "holds a tree alone")):
        run = update_run(given, folder / "again.csv", target="outcome", strategy="refit")
        assert isinstance(run.model, StableTreeClassifier)
        text = " ".join(str(run).split())
        assert f"{what}: a StableTreeClassifier with default settings takes it over." in text


def test_a_run_folder_has_the_settings_and_the_reading_of_its_run(folder: Path, tmp_path: Path) -> None:
    text = (folder / "first.csv").read_text().replace("\n20,", "\n?!,")
    (tmp_path / "first.csv").write_text(text)
    settings = {**FEW, "drop": ["clinic", "patient"], "test": 0, "missing": "?!", "random_state": 7}
    fit_run(tmp_path / "first.csv", "outcome", **settings).save(tmp_path / "run", report=False)
    (tmp_path / "again.csv").write_text(text)
    run = update_run(tmp_path / "run", tmp_path / "again.csv")
    own = {name: run.model.get_params()[name] for name in FEW}
    assert own == FEW
    assert run.change.seed == 7
    assert run.facts["notes"] == []  # no word of clinic and patient, which the run has left out
    run.save(tmp_path / "run2")
    again = update_run(tmp_path / "run2", tmp_path / "again.csv")  # which knows it from run2
    assert again.facts["notes"] == []
    assert again.change.old_model == run.change.new_model == model_hash(tmp_path / "run2" / "model.json")


def test_a_regression_is_updated_too(folder: Path) -> None:
    rows = frame_of(folder / "first.csv")
    rows["cost"] = rows["age"] * 10.0
    fit = fit_run(rows.drop(columns="outcome"), "cost", test=0, **FEW)
    later = rows.drop(columns="outcome").assign(cost=rows["age"] * 12.0)
    run = update_run(fit.model, later)
    assert run.verdict is None
    assert "R²" in str(run)
    assert run.diff.rows is not None
    assert run.diff.rows.mean_move > 0


def test_models_without_one_tree_that_predicts_are_refused(folder: Path, tmp_path: Path) -> None:
    rows = frame_of(folder / "first.csv")
    forest = ForestClassifier(n_estimators=3).fit(rows[["age", "bmi"]], rows["outcome"])
    density = DensityTree().fit(rows[["age", "bmi"]])
    for model, reason in ((forest, "an ensemble of 3 trees"), (density, "a density tree")):
        save(model, tmp_path / "model.json")
        for given in (model, tmp_path / "model.json"):
            with pytest.raises(ParameterError, match=reason):
                update_run(given, folder / "again.csv", target="outcome")


# -- policies and records -----------------------------------------------------------------------------------


def test_what_a_policy_forbids_is_proposed_and_not_taken(
    folder: Path, tmp_path: Path, moved: UpdateRun
) -> None:
    register = tmp_path / "register.jsonl"
    settings: dict[str, Any] = {"target": "outcome", "prior_rows": 0, "policy": NEVER, "register": register}
    run = update_run(folder / "model.json", folder / "other.csv", by="me", why="a new year", **settings)
    assert run.verdict is not None
    assert not run.verdict.passed
    assert not run.is_taken
    assert run.model_content == (folder / "model.json").read_bytes()
    assert run.proposal_content == moved.model_content
    assert np.array_equal(run.model.tree_.value, load(folder / "model.json").tree_.value)
    assert run.record is not None
    assert (run.record.taken, run.record.forced, run.record.passed) == (False, False, False)
    assert (run.record.who, run.record.why, run.record.number) == ("me", "a new year", 1)
    forced = update_run(folder / "model.json", folder / "other.csv", force=True, **settings)
    assert forced.is_taken
    assert forced.record is not None
    assert (forced.record.taken, forced.record.forced) == (True, True)
    assert forced.model_content == moved.model_content
    assert read_register(register) == (run.record, forced.record)
    assert check_register(register)


def test_a_record_names_both_models_and_the_rows(folder: Path, tmp_path: Path) -> None:
    policy = tmp_path / "change.toml"
    policy.write_text("max_churn = 1.0")
    model, data = folder / "model.json", folder / "other.csv"
    run = update_run(model, data, target="outcome", policy=policy, register=tmp_path / "register.jsonl")
    run.save(tmp_path / "run")
    assert run.record is not None
    assert run.record.old_model == model_hash(model)
    assert run.record.new_model == model_hash(tmp_path / "run" / "model.json")
    table = Table.from_frame(frame_of(data), "outcome")
    assert run.record.n_rows == table.n_rows == 240
    target = Target("y", table.schema.target.classes)  # as the model was told of no name
    assert run.record.data == data_fingerprint(replace(table, schema=replace(table.schema, target=target)))
    assert run.record.policy == ChangePolicy(max_churn=1.0).to_dict()


def test_what_cannot_be_judged_is_said_before_the_work(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(StableTreeClassifier, "update", lambda *_, **__: pytest.fail("it has begun"))
    policy = ChangePolicy(subgroups=("clinic",), score_margin=0.1)
    with pytest.raises(PolicyError, match="the column 'clinic', which the model does not have"):
        update_run(folder / "model.json", folder / "again.csv", target="outcome", policy=policy)
    with pytest.raises(PolicyError, match="must be a ChangePolicy, or the path of its file"):
        update_run(folder / "model.json", folder / "again.csv", target="outcome", policy=3)
    with pytest.raises(TypeError, match="did you mean 'tolerance'"):
        update_run(folder / "model.json", folder / "again.csv", tolerence=0.1)
    model_card = {"subgroups": ["wrad"]}
    with pytest.raises(ModelCardError, match="subgroups names the column 'wrad', which the rows do not have"):
        update_run(folder / "model.json", folder / "again.csv", target="outcome", model_card=model_card)


def test_the_scores_on_the_page_are_those_that_the_path_and_the_policy_have(moved: UpdateRun) -> None:
    scores = moved.facts["outputs"]["all"]["scores"]
    step = moved.update.steps[moved.update.taken]
    assert moved.facts["outputs"]["rows_scored"] == scores["rows"] == moved.update.n_scored
    assert scores["new"]["value"] == pytest.approx(step.score)
    assert scores["difference"]["value"] == pytest.approx(step.difference)


@pytest.mark.parametrize("weighted", [False, True])
def test_look_alikes_of_rows_held_out_that_were_learnt_from_do_not_count(
    tmp_path: Path, weighted: bool
) -> None:
    rng = np.random.default_rng(3)

    def rows(n: int, more: float) -> pandas.DataFrame:
        age, job = rng.integers(18, 40, n), rng.choice(["admin", "tech", "retired"], n)
        ill = (age > 30) * 1.5 + (job == "retired") + more + rng.normal(0, 1, n) > 1.9
        frame = pandas.DataFrame({"age": age, "job": job, "outcome": np.where(ill, "yes", "no")})
        return frame.assign(weight=rng.integers(1, 3, n)) if weighted else frame

    first, new = rows(300, 0.0), rows(400, 1.0)
    options = {"weight": "weight"} if weighted else {}
    run = fit_run(first, "outcome", n_estimators=5, teacher="linear", n_jobs=1, test=0, **options)
    run.save(tmp_path / "run")
    found = update_run(tmp_path / "run", new, target="outcome", **options)
    scores = found.facts["outputs"]["all"]["scores"]
    step = found.update.steps[found.update.taken]
    assert 0 < found.update.n_scored < 400
    if not weighted:
        assert found.facts["outputs"]["rows_scored"] == found.update.n_scored
        assert scores["new"]["value"] == pytest.approx(step.score)
    assert found.facts["outputs"]["rows_scored"] < 200


# -- the folder ---------------------------------------------------------------------------------------------


def test_the_folder_has_all_of_it(moved: UpdateRun, tmp_path: Path) -> None:
    moved.save(tmp_path / "run")
    names = {path.name for path in (tmp_path / "run").iterdir()}
    assert names == {"model.json", "tree.svg", "path.json", "diff.txt", "update.json"} | PAGE
    assert json.loads((tmp_path / "run" / "update.json").read_text()) == moved.facts
    steps = load_trees(tmp_path / "run" / "path.json")
    assert [tree.n_leaves for tree in steps] == [each["leaves"] for each in moved.facts["path"]]
    assert np.array_equal(steps[moved.update.taken].value, updated_tree(moved).value)
    model = load(tmp_path / "run" / "model.json")
    assert np.array_equal(model.tree_.value, updated_tree(moved).value)
    assert (tmp_path / "run" / "diff.txt").read_text() == f"{moved.diff}\n"
    page = json.loads((tmp_path / "run" / "report.json").read_text())
    assert moved.change.old_model in str(page["sections"]["identity"])
    assert "<svg" in (tmp_path / "run" / "report.html").read_text()


def test_a_later_run_takes_the_place_of_an_earlier_one(
    moved: UpdateRun, folder: Path, tmp_path: Path
) -> None:
    refused = update_run(
        folder / "model.json", folder / "other.csv", target="outcome", prior_rows=0, policy=NEVER
    )
    refused.save(tmp_path / "run")
    assert load(tmp_path / "run" / "proposal.json").tree_.n_leaves == updated_tree(moved).n_leaves
    (tmp_path / "run" / "letter.txt").write_text("mine")
    moved.save(tmp_path / "run")
    names = {path.name for path in (tmp_path / "run").iterdir()}
    assert "proposal.json" not in names
    assert (tmp_path / "run" / "letter.txt").read_text() == "mine"


def test_facts_tell_the_path_and_both_hashes(moved: UpdateRun, folder: Path) -> None:
    facts = moved.facts
    assert facts["model"]["old"] == model_hash(folder / "model.json")
    assert facts["model"]["in_use"] == facts["model"]["new"] == moved.change.new_model
    assert [each["step"] for each in facts["path"]] == list(range(len(moved.update.steps)))
    assert facts["path"][0]["distance"] == 0
    assert facts["step"] == moved.update.taken
    assert facts["settings"]["prior_rows"] == 0
    assert facts["software"]["holdfast"] == facts["holdfast"]
    assert facts["verdict"] is None


def test_it_tells_words_first_then_the_path(moved: UpdateRun) -> None:
    lines = str(moved).splitlines()
    assert max(map(len, lines)) <= 100
    titles = ["What each step changes", "Splits that changed, from the root down"]
    places = [lines.index(title) for title in titles]
    assert places == sorted(places)
    assert "The root split is on another feature: bmi instead of age." in " ".join(lines[: places[0]])
    assert moved._repr_html_().startswith('<div class="holdfast">')
    assert repr(moved).endswith("taken>")
