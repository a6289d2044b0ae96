import csv
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import Result
from command_line import fit, holdfast, refusal, write_patients

from holdfast import BaggingClassifier, ForestClassifier, GrowthRules, Table, grow, load, save
from holdfast.data.frame import Frame
from holdfast.io.model_file import load_model
from reference.reading import read_file

PLAIN = ("--drop", "year", "--drop", "patient", "--drop", "weight")


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("model")
    assert fit(write_patients(folder / "patients.csv"), folder / "run", *PLAIN).exit_code == 0
    return folder / "run" / "model.json"


@pytest.fixture
def new(tmp_path: Path) -> Path:
    return write_patients(tmp_path / "new.csv", 40, seed=1)


def scored(result: Result) -> list[dict[str, str]]:
    assert result.exit_code == 0, result.output
    return list(csv.DictReader(result.stdout.splitlines()))


def test_predictions_are_those_of_the_tree_on_the_same_rows(model: Path, new: Path, tmp_path: Path) -> None:
    assert holdfast("predict", model, new, "-o", tmp_path / "scored.csv").output == ""
    rows = list(csv.DictReader((tmp_path / "scored.csv").read_text().splitlines()))
    tree, whole = load_model(model), read_file(new)
    frame = whole.without([name for name in whole.names if name not in tree.schema.names])
    assert [row["prediction"] for row in rows] == tree.predict(frame).tolist()
    shares = [[float(row["p(died)"]), float(row["p(lived)"])] for row in rows]
    assert np.array_equal(shares, tree.predict_proba(frame))


def test_the_cells_of_the_file_stay_as_they_are_written(model: Path, tmp_path: Path) -> None:
    path = tmp_path / "odd.csv"
    lines = ['when,"age",zip,ward,lab,note', '2020-01-01, 41,01000,A,5.10,"a, b"', "?,4.1e1,01001,B,NA,"]
    path.write_text("\n".join(lines) + "\n")
    first, second = scored(holdfast("predict", model, path))
    assert list(first) == ["when", "age", "zip", "ward", "lab", "note", "prediction", "p(died)", "p(lived)"]
    assert [first[name] for name in ("when", "age", "zip", "lab", "note")] == [
        "2020-01-01", " 41", "01000", "5.10", "a, b"
    ]  # fmt: skip
    assert [second[name] for name in ("when", "age", "lab", "note")] == ["?", "4.1e1", "NA", ""]


def test_the_order_of_columns_and_other_columns_do_not_matter(model: Path, new: Path, tmp_path: Path) -> None:
    rows = list(csv.DictReader(new.read_text().splitlines()))
    turned = tmp_path / "turned.csv"
    names = ["lab", "day", "zip", "age", "ward"]
    lines = [",".join({**row, "day": "2021-05-01"}[name] for name in names) for row in rows]
    turned.write_text("\n".join([",".join(names), *lines]) + "\n")
    before, after = scored(holdfast("predict", model, new)), scored(holdfast("predict", model, turned))
    assert [row["p(died)"] for row in before] == [row["p(died)"] for row in after]


def test_a_run_folder_is_a_model_and_a_dash_is_the_terminal(model: Path, new: Path) -> None:
    assert holdfast("predict", model.parent, new, "-o", "-").stdout == holdfast("predict", model, new).stdout


def test_names_that_are_taken_get_a_number(model: Path, new: Path, tmp_path: Path) -> None:
    once, twice = tmp_path / "once.csv", tmp_path / "twice.csv"
    holdfast("predict", model, new, "-o", once)
    holdfast("predict", model, once, "-o", twice)
    rows = list(csv.DictReader(twice.read_text().splitlines()))
    assert list(rows[0])[-3:] == ["prediction_2", "p(died)_2", "p(lived)_2"]
    assert all(row["prediction"] == row["prediction_2"] for row in rows)


def test_numbers_and_truths_are_known_by_their_values(tmp_path: Path) -> None:
    """A tree from Python, whose categories are no text: smokers of grade 2 are at risk."""
    grades = np.repeat([1.0, 2.0], 20)
    smoker = np.tile([True, False], 20)
    risk = (grades == 2) & smoker
    frame = Frame(("grade", "smoker"), [grades, smoker], 40)
    table = Table.from_arrays(frame, np.where(risk, 2.5, 0.0), categorical_features=["grade"])
    tree = grow(table, GrowthRules(criterion="squared_error"))
    save(tree, tmp_path / "model.json")
    path = tmp_path / "new.csv"
    path.write_text("grade,smoker\n2,True\n2,false\n1,TRUE\n1,\n")
    rows = scored(holdfast("predict", tmp_path / "model.json", path))
    assert [float(row["prediction"]) for row in rows[:3]] == [2.5, 0.0, 0.0]
    path.write_text("grade,smoker\n2,True\n1,True\ntwo,True\n")
    line = refusal(holdfast("predict", tmp_path / "model.json", path))
    assert "column 'grade' holds numbers in the model, and here 'two' at line 4" in line


@pytest.mark.filterwarnings("ignore:no tree can split:holdfast.errors.DataWarning")
def test_a_word_that_the_model_knows_is_a_category_though_it_may_mean_missing(tmp_path: Path) -> None:
    """A tree from Python, where None is a text like any other."""
    tests = np.array(["None", "urine"] * 20, object)
    frame = Frame(("test", "ward"), [tests, np.array(["A"] * 40, object)], 40)
    save(grow(Table.from_arrays(frame, tests == "None")), tmp_path / "model.json")
    (tmp_path / "new.csv").write_text("test\nurine\nNone\nnone\n")
    rows = scored(holdfast("predict", tmp_path / "model.json", tmp_path / "new.csv"))
    assert [row["prediction"] for row in rows[:2]] == ["False", "True"]


@pytest.mark.filterwarnings("ignore:no tree can split:holdfast.errors.DataWarning")
def test_an_ensemble_needs_only_what_its_trees_ask_about(tmp_path: Path) -> None:
    draw = np.random.default_rng(0)
    frame = Frame(("age", "noise", "same"), [*draw.random((2, 60)), np.zeros(60)], 60)
    forest = ForestClassifier(n_estimators=5, max_depth=1, max_features=None, random_state=0)
    forest.fit(frame, frame.column("age") > 0.5)
    save(forest.ensemble_, tmp_path / "model.json")
    (tmp_path / "new.csv").write_text("age\n0.1\n0.9\n")
    rows = scored(holdfast("predict", tmp_path / "model.json", tmp_path / "new.csv"))
    assert [row["prediction"] for row in rows] == ["False", "True"]


def test_trees_that_vote_by_a_threshold_do_so_here_too(tmp_path: Path) -> None:
    generator = np.random.default_rng(0)
    X = pd.DataFrame(generator.normal(size=(80, 2)).round(3), columns=["age", "lab"])
    y = np.where(X["age"] + generator.normal(size=80) > 1, "died", "lived")
    voting = BaggingClassifier(7, max_depth=2, voting="hard", vote_threshold=0.9, random_state=0).fit(X, y)
    save(voting, tmp_path / "model.json")
    X.to_csv(tmp_path / "new.csv", index=False)
    rows = scored(holdfast("predict", tmp_path / "model.json", tmp_path / "new.csv"))
    assert [row["prediction"] for row in rows] == voting.predict(X).tolist()
    assert (voting.predict(X) != voting.ensemble_.predict(X)).any()


def test_unseen_categories_are_noted_in_one_line(model: Path, new: Path) -> None:
    new.write_text(new.read_text().replace(",A,", ",Z,"))
    asked = {
        load_model(model).schema.names[index] for index in load_model(model).feature.tolist() if index >= 0
    }
    result = holdfast("predict", model, new)
    assert result.exit_code == 0
    assert result.stderr.count("\n") == ("ward" in asked)
    assert ("'Z'" in result.stderr) == ("ward" in asked)


def test_parquet_in_and_out(model: Path, new: Path, tmp_path: Path) -> None:
    polars = pytest.importorskip("polars")
    once, twice = tmp_path / "once.parquet", tmp_path / "twice.parquet"
    assert holdfast("predict", model, new, "-o", once).exit_code == 0
    frame = polars.read_parquet(once)
    expected = scored(holdfast("predict", model, new))
    assert frame["prediction"].to_list() == [row["prediction"] for row in expected]
    kinds = [frame[name].dtype for name in ("age", "zip", "lab", "patient")]
    assert kinds == [polars.Int64, polars.String, polars.Float64, polars.String]
    assert frame["zip"].to_list() == [row["zip"] for row in expected]
    assert holdfast("predict", model, once, "-o", twice).exit_code == 0
    assert polars.read_parquet(twice)["p(died)_2"].to_list() == frame["p(died)"].to_list()


def test_long_numbers_of_patients_keep_their_digits(model: Path, new: Path, tmp_path: Path) -> None:
    polars = pytest.importorskip("polars")
    number = "12345678901234567890"
    new.write_text(new.read_text().replace(",P0,", f",{number},").replace(",P", ",9"))
    assert holdfast("predict", model, new, "-o", tmp_path / "long.parquet").exit_code == 0
    assert polars.read_parquet(tmp_path / "long.parquet")["patient"][0] == number


# -- refusals ---------------------------------------------------------------------------------------------


def test_missing_columns_are_named(model: Path, tmp_path: Path) -> None:
    path = tmp_path / "short.csv"
    path.write_text("age,ward\n41,A\n")
    line = refusal(holdfast("predict", model, path, "-o", tmp_path / "scored.csv"))
    assert "has no column 'lab', and the model splits on it. The columns are 'age', 'ward'." in line
    assert not (tmp_path / "scored.csv").exists()


def test_the_first_cell_that_is_no_number_is_named_and_can_be_read_as_missing(model: Path, new: Path) -> None:
    lines = new.read_text().splitlines()
    for place, word in ((13, "old"), (20, "young")):
        lines[place] = word + lines[place][2:]
    new.write_text("\n".join(lines) + "\n")
    line = refusal(holdfast("predict", model, new))
    assert "column 'age' holds numbers in the model, and here 'old' at line 14" in line
    assert "coerce=True" in line
    result = holdfast("predict", model, new, "--coerce")
    assert "column 'age': 2 cells that are not a number are read as missing, 'old', 'young'" in result.stderr
    lines[13], lines[20] = lines[13].removeprefix("old"), lines[20].removeprefix("young")
    new.write_text("\n".join(lines) + "\n")
    assert [row["p(died)"] for row in scored(result)] == [
        row["p(died)"] for row in scored(holdfast("predict", model, new))
    ]


def test_only_the_columns_that_the_tree_asks_about_are_needed(model: Path, new: Path, tmp_path: Path) -> None:
    tree = load_model(model)
    asked = [tree.schema.names[index] for index in np.unique(tree.feature).tolist() if index >= 0]
    assert len(asked) < len(tree.schema.names)  # or there is nothing to show
    rows = list(csv.DictReader(new.read_text().splitlines()))
    few = tmp_path / "few.csv"
    few.write_text(
        "\n".join([",".join(asked), *(",".join(row[name] for name in asked) for row in rows)]) + "\n"
    )
    short, whole = scored(holdfast("predict", model, few)), scored(holdfast("predict", model, new))
    assert [row["p(died)"] for row in short] == [row["p(died)"] for row in whole]
    tree.predict_proba(read_file(few))  # in Python, too


def test_what_is_no_model_or_no_data_is_refused(model: Path, new: Path, tmp_path: Path) -> None:
    assert "Cannot load the model file" in refusal(holdfast("predict", new, new))
    assert "No such file" in refusal(holdfast("predict", tmp_path / "none.json", new))
    assert "No such file" in refusal(holdfast("predict", model, tmp_path / "none.csv"))
    assert "no Parquet file" in refusal(holdfast("predict", model, tmp_path))
    assert "trees, not one" in refusal(
        holdfast("predict", model.parent / "collections" / "references.json", new)
    )
    (tmp_path / "empty.csv").write_text("")
    assert "it is empty" in refusal(holdfast("predict", model, tmp_path / "empty.csv"))


def test_an_output_that_cannot_be_written_is_refused(model: Path, new: Path, tmp_path: Path) -> None:
    assert "must end in .csv" in refusal(holdfast("predict", model, new, "-o", tmp_path / "scored"))
    nowhere = tmp_path / "no such folder" / "scored.csv"
    assert "there is no folder" in refusal(holdfast("predict", model, new, "-o", nowhere))


def test_neither_the_data_nor_the_model_is_overwritten(model: Path, new: Path) -> None:
    before = new.read_bytes(), model.read_bytes()
    assert "it is what is read" in refusal(holdfast("predict", model, new, "-o", new))
    assert "it is what is read" in refusal(holdfast("show", model.parent, "--format", "svg", "-o", model))
    assert (new.read_bytes(), model.read_bytes()) == before


def test_text_that_a_spreadsheet_would_run_is_guarded_unless_raw(tmp_path: Path) -> None:
    (tmp_path / "new.csv").write_text("x,=remark\n-1.5,=1+1\n2.5,+fine\n")
    seen = pd.DataFrame({"x": [-1.0, -2.0, 2.0, 3.0], "y": ["@low", "@low", "high", "high"]})
    save(grow(Table.from_frame(seen, "y")), tmp_path / "model.json")
    guarded = holdfast("predict", tmp_path / "model.json", tmp_path / "new.csv").stdout.splitlines()
    assert guarded[0] == "x,'=remark,prediction,p(@low),p(high)"
    assert guarded[1] == "-1.5,'=1+1,'@low,1.0,0.0"
    raw = holdfast("predict", tmp_path / "model.json", tmp_path / "new.csv", "--raw").stdout.splitlines()
    assert raw[1:] == ["-1.5,=1+1,@low,1.0,0.0", "2.5,+fine,high,0.0,1.0"]
    holdfast("predict", tmp_path / "model.json", tmp_path / "new.csv", "-o", tmp_path / "out.csv")
    assert (tmp_path / "out.csv").read_text().splitlines() == guarded


def test_the_table_of_a_tree_is_guarded_unless_raw(tmp_path: Path) -> None:
    seen = pd.DataFrame({"=x": [1.0, 2.0], "y": ["a", "b"]})
    save(grow(Table.from_frame(seen, "y")), tmp_path / "model.json")
    guarded = holdfast("show", tmp_path / "model.json", "--format", "csv").stdout
    assert ",'=x <= 1.5," in guarded
    assert ",=x <= 1.5," in holdfast("show", tmp_path / "model.json", "--format", "csv", "--raw").stdout


def test_firmness_is_added_with_the_columns_that_the_reference_trees_need(model: Path, new: Path) -> None:
    first, *_ = rows = scored(holdfast("predict", model, new, "--firmness"))
    assert list(first)[-3:] == ["firmness", "low", "high"]
    fitted = load(model)
    whole = read_file(new)
    found = fitted.predict_firmness(whole.without([n for n in whole.names if n not in fitted.schema_.names]))
    for name in ("firmness", "low", "high"):
        assert [float(row[name]) for row in rows] == found.columns()[name].tolist()
    assert all(0 <= float(row["low"]) <= float(row["high"]) <= 1 for row in rows)


def test_firmness_needs_reference_trees(model: Path, new: Path, tmp_path: Path) -> None:
    save(load(model), tmp_path / "small.json", references=False)
    for path in (tmp_path / "small.json", tmp_path / "forest.json"):
        if path.stem == "forest":
            save(ForestClassifier(n_estimators=3).fit([[0.0], [1.0]], ["a", "b"]), path)
        assert "--firmness needs the reference trees" in refusal(holdfast("predict", path, new, "--firmness"))
