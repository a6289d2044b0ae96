import csv
import json
import re
from pathlib import Path

import pytest
from command_line import fit, holdfast, refusal, write_patients

from holdfast import open_run
from holdfast._choices import SELECTION_RULES
from holdfast.cli.errors import join_lines
from holdfast.io.model_file import load_model, load_trees, model_to_json
from reference.reading import read_file

PLAIN = ("--drop", "year", "--drop", "patient", "--drop", "weight")


@pytest.fixture(scope="module")
def patients(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_patients(tmp_path_factory.mktemp("data") / "patients.csv")


@pytest.fixture(scope="module")
def run(patients: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs") / "run"
    assert fit(patients, folder, "--groups", "patient", "--drop", "year", "--drop", "weight").exit_code == 0
    return folder


def summary(folder: Path) -> dict:
    def refuse(word: str) -> None:
        raise AssertionError(f"{word} is no JSON")

    return json.loads((folder / "summary.json").read_text(), parse_constant=refuse)


def files(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


# -- the run folder ---------------------------------------------------------------------------------------


def test_a_run_folder_holds_the_tree_both_collections_the_frontier_and_a_summary(run: Path) -> None:
    assert files(run) == [
        "collections/candidates.json",
        "collections/references.json",
        "frontier.csv",
        "model.json",
        "summary.json",
        "tree.svg",
    ]
    assert len(load_trees(run / "collections" / "references.json")) == 20
    assert len(load_trees(run / "collections" / "candidates.json")) == 5  # two of them smaller


def test_the_model_is_the_chosen_candidate(run: Path) -> None:
    candidate = load_trees(run / "collections" / "candidates.json")[summary(run)["choice"]["candidate"]]
    assert model_to_json(load_model(run / "model.json")) == model_to_json(candidate)


def test_the_columns_with_another_role_are_no_features(run: Path) -> None:
    assert load_model(run / "model.json").schema.names == ("age", "ward", "zip", "lab")


def test_the_frontier_file_says_what_each_consensus_tree_may_lose_and_what_it_does(run: Path) -> None:
    rows = list(csv.DictReader((run / "frontier.csv").read_text().splitlines()))
    trees = load_trees(run / "collections" / "candidates.json")
    assert [int(row["n_leaves"]) for row in rows] == [tree.n_leaves for tree in trees]
    assert [float(row["tolerance"]) for row in rows] == [0.0, 0.06, 0.12, 0.06, 0.06]
    assert [int(row["max_leaf_nodes"]) for row in rows] == [12, 12, 12, 8, 4]
    for row, tree in zip(rows, trees, strict=True):
        assert tree.depth <= 3
        assert tree.n_leaves <= int(row["max_leaf_nodes"])
        assert float(row["student_loss"]) <= float(row["tolerance"]) + 1e-9
    chosen = summary(run)["trees"]["chosen"]
    assert chosen["teacher_loss"] == float(rows[chosen["candidate"]]["teacher_loss"])


def test_held_out_rows_choose_the_leaves_and_the_terminal_says_why(patients: Path, tmp_path: Path) -> None:
    result = fit(patients, tmp_path / "run", *PLAIN, "--teacher", "linear")
    assert result.exit_code == 0, result.output
    facts = summary(tmp_path / "run")
    choice = facts["size_choice"]
    said = " ".join(result.stdout.split())
    assert "The size leaves held-out R² more than 12 leaves" in said
    assert choice["reason"] in said
    assert choice["max_leaf_nodes"] == [12, 24, 48]
    assert choice["chosen"] in choice["max_leaf_nodes"]
    assert facts["settings"]["max_leaf_nodes"] == "auto"
    rows = list(csv.DictReader((tmp_path / "run" / "frontier.csv").read_text().splitlines()))
    assert int(rows[0]["max_leaf_nodes"]) == choice["chosen"]


def test_a_size_that_is_none_is_refused_in_one_line(patients: Path, tmp_path: Path) -> None:
    for options, words in (
        (["--max-leaf-nodes", "many"], "--max-leaf-nodes: max_leaf_nodes='many' is unknown"),
    ):
        result = fit(patients, tmp_path / "run", *PLAIN, *options)
        assert result.exit_code == 2
        assert words in result.output


def test_the_frontier_file_says_what_each_candidate_was_grown_with(patients: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    fit(patients, run, *PLAIN, "--method", "bootstrap")
    rows = list(csv.DictReader((run / "frontier.csv").read_text().splitlines()))
    trees = load_trees(run / "collections" / "candidates.json")
    assert [int(row["n_leaves"]) for row in rows] == [tree.n_leaves for tree in trees]
    for row, tree in zip(rows, trees, strict=True):
        assert tree.depth <= int(row["max_depth"]) == 3
        assert int(row["min_samples_leaf"]) in (3, 5, 10)  # 30 early rows or so leave no room for 30 twice


@pytest.mark.parametrize("method", ["consensus", "bootstrap"])
def test_no_candidate_in_the_file_beats_the_chosen_one(patients: Path, tmp_path: Path, method: str) -> None:
    run = tmp_path / "run"
    fit(patients, run, *PLAIN, "--method", method)
    rows = list(csv.DictReader((run / "frontier.csv").read_text().splitlines()))
    chosen = rows[summary(run)["choice"]["candidate"]]
    for other in rows:
        if other.get("max_leaf_nodes") != chosen.get("max_leaf_nodes"):
            continue
        nearer = float(other["instability"]) < float(chosen["instability"])
        assert not (nearer and float(other["score"]) >= float(chosen["score"]))


# -- who sees what ----------------------------------------------------------------------------------------


def test_the_rows_of_the_model_and_the_test_rows_are_all_rows(run: Path, patients: Path) -> None:
    division = summary(run)["division"]
    n_rows = read_file(patients).n_rows
    assert division["test_rows"] + division["training_rows"] == n_rows
    assert load_model(run / "model.json").count[0] == division["training_rows"]
    assert division["test_rows"] == pytest.approx(n_rows / 4, abs=2)


def test_nothing_in_the_test_rows_moves_the_trees(patients: Path, tmp_path: Path) -> None:
    """The schema of the trees has the ranges and categories of the training rows alone."""
    lines = patients.read_text().splitlines()
    strange = tmp_path / "strange.csv"
    lonely = [f"{1000 + number},D{number},0,5,2022,P1,1,died" for number in range(8)]
    strange.write_text("\n".join([*lines, *lonely]) + "\n")
    fit(strange, tmp_path / "run", *PLAIN)
    schema = load_model(tmp_path / "run" / "model.json").schema
    n_lonely = sum(str(category).startswith("D") for category in schema.features[1].categories)
    assert 0 < n_lonely < 8  # a quarter of the rows is for the test, some of these among them
    fit(strange, tmp_path / "all", *PLAIN, "--test", 0)
    assert len(load_model(tmp_path / "all" / "model.json").schema.features[1].categories) == 3 + 8


def test_without_test_rows_nothing_is_said_of_them(patients: Path, tmp_path: Path) -> None:
    result = fit(patients, tmp_path / "run", *PLAIN, "--test", 0)
    assert "no rows are set aside" in " ".join(result.stdout.split())
    assert "test rows" not in result.stdout
    assert summary(tmp_path / "run")["trees"]["chosen"]["test"] is None
    assert load_model(tmp_path / "run" / "model.json").count[0] == 120


def test_the_test_scores_are_those_of_the_rows_that_the_model_has_not_seen(tmp_path: Path) -> None:
    """A target that age tells without error, with years between: AUC 1 on any rows, with the error 0."""
    path = tmp_path / "sure.csv"
    path.write_text(
        "age,noise,outcome\n"
        + "".join(f"{age + 30 * (age > 50)},{age % 7},{int(age > 50)}\n" for age in range(100))
    )
    assert fit(path, tmp_path / "run").exit_code == 0
    chosen = summary(tmp_path / "run")["trees"]["chosen"]
    assert chosen["test"] == {"score": 1.0, "standard_error": 0.0}


def test_patients_are_never_on_both_sides(patients: Path, tmp_path: Path) -> None:
    """Each patient has two rows of the file, so that whole patients make even numbers of rows."""
    for seed in (0, 1, 2):
        fit(patients, tmp_path / "run", "--groups", "patient", "--random-state", seed, *PLAIN[:2], *PLAIN[4:])
        division = summary(tmp_path / "run")["division"]
        assert [division[name] % 2 for name in ("test_rows", "training_rows")] == [0, 0]


def test_early_rows_are_of_whole_patients(patients: Path, tmp_path: Path) -> None:
    options = ("--groups", "patient", *PLAIN[:2], *PLAIN[4:], "--method", "bootstrap")
    for seed in (0, 1):
        fit(patients, tmp_path / "run", *options, "--random-state", seed)
        assert summary(tmp_path / "run")["division"]["early_rows"] % 2 == 0


def test_the_first_stages_are_early(patients: Path, tmp_path: Path) -> None:
    result = fit(patients, tmp_path / "run", "--stage", "year", *PLAIN[2:], "--method", "bootstrap")
    division = summary(tmp_path / "run")["division"]
    # The last of four years of 30 rows each is held out, and an eighth of the others.
    assert division["early_stages"] == ["2019", "2020"]  # at least half of the three years left
    assert division["early_rows"] == pytest.approx(60 * 7 / 8, abs=2)
    assert "stage 2019, 2020" in " ".join(result.stdout.split())


def test_stage_10_follows_stage_9_and_dates_are_stages(tmp_path: Path) -> None:
    for name, stages in (
        ("numbers", ["9", "10", "11"]),
        ("dates", ["2019-12-31", "2020-01-01", "2020-01-02"]),
    ):
        path = tmp_path / f"{name}.csv"
        rows = [f"{stages[number % 3]},{number},{number > 40}" for number in range(90)]
        path.write_text("\n".join(["stage,age,old", *rows]) + "\n")
        result = fit(path, tmp_path / name, "--stage", "stage", "--method", "bootstrap", target="old")
        assert result.exit_code == 0, result.output
        assert summary(tmp_path / name)["division"]["early_stages"] == [stages[0]]
        assert summary(tmp_path / name)["division"]["test_stages"] == [stages[2]]


def test_a_class_with_a_single_row_is_trained_on(tmp_path: Path) -> None:
    path = tmp_path / "rare.csv"
    rows = [f"{age},{'rare' if age == 99 else 'old' if age > 50 else 'young'}" for age in range(100)]
    path.write_text("\n".join(["age,kind", *rows]) + "\n")
    for seed in range(4):
        assert fit(path, tmp_path / "run", "--random-state", seed, target="kind").exit_code == 0
        assert load_model(tmp_path / "run" / "model.json").schema.target.classes == ("old", "rare", "young")


def test_rows_without_weight_are_left_out(patients: Path, tmp_path: Path) -> None:
    lines = patients.read_text().splitlines()
    path = tmp_path / "weighted.csv"
    path.write_text("\n".join([*lines, "500,D,09999,5,2022,P99,0,died"]) + "\n")
    result = fit(path, tmp_path / "run", "--weight", "weight", "--test", 0, *PLAIN[:4])
    assert "1 rows have the weight 0" in result.stderr
    schema = load_model(tmp_path / "run" / "model.json").schema
    assert schema.features[0].high < 500
    assert schema.features[1].categories == ("A", "B", "C")
    assert (
        load_model(tmp_path / "run" / "model.json").weight[0] == 180
    )  # 60 rows of weight 1 and 60 of weight 2


# -- the same bytes ---------------------------------------------------------------------------------------


def test_any_number_of_jobs_and_any_order_of_rows_give_the_same_bytes(patients: Path, tmp_path: Path) -> None:
    header, *lines = patients.read_text().splitlines()
    turned = tmp_path / "turned.csv"
    turned.write_text("\n".join([header, *reversed(lines)]) + "\n")
    for name, data, jobs in (("one", patients, 1), ("two", patients, 2), ("turned", turned, 2)):
        assert fit(data, tmp_path / name, "--n-jobs", jobs, *PLAIN).exit_code == 0
    for name in files(tmp_path / "one"):
        if name != "summary.json":  # which has the seconds in it
            assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()
            assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "turned" / name).read_bytes()


def test_another_seed_gives_other_collections(patients: Path, tmp_path: Path) -> None:
    for seed in (0, 1):
        fit(patients, tmp_path / str(seed), "--random-state", seed, *PLAIN)
    first, second = (tmp_path / str(seed) / "collections" / "candidates.json" for seed in (0, 1))
    assert first.read_bytes() != second.read_bytes()


# -- what is printed --------------------------------------------------------------------------------------


def test_the_report_fits_the_terminal_and_says_what_was_chosen(patients: Path, tmp_path: Path) -> None:
    result = fit(patients, tmp_path / "run", *PLAIN)
    lines = [line for line in result.stdout.splitlines() if str(tmp_path) not in line]
    assert max(map(len, lines)) <= 80
    assert "120 rows, 4 features (2 numeric, 2 categorical)" in result.stdout
    chosen = summary(tmp_path / "run")["choice"]["candidate"]
    assert re.findall(r"^(\d+) \* ", result.stdout, re.MULTILINE) == [str(chosen)]
    text = " ".join(result.stdout.split())
    assert " ".join(summary(tmp_path / "run")["choice"]["reason"].split()) in text
    for line in str(load_model(tmp_path / "run" / "model.json")).splitlines():
        assert line in result.stdout
    assert f"{tmp_path / 'run'}/\n  model.json " in result.stdout


def test_headings_are_whole_however_large_the_numbers_are(tmp_path: Path) -> None:
    path = tmp_path / "cost.csv"
    rows = [f"{age},{age * age % 13},{(age > 50) * 1e7 + age * 12345.5}" for age in range(100)]
    path.write_text("\n".join(["age,noise,cost", *rows]) + "\n")
    result = fit(path, tmp_path / "run", "--scoring", "squared_error", target="cost")
    lines = [line for line in result.stdout.splitlines() if str(tmp_path) not in line]
    assert max(map(len, lines)) <= 80
    for headings in (
        r"candidate instability (per rule )?of the teacher lost score leaves",
        r"tree expected on \d\d test rows",
    ):
        assert sum(bool(re.match(headings, " ".join(line.split()))) for line in lines) == 1, result.stdout
    few = ("--n-estimators", 5, "--teacher", "linear")
    narrow = holdfast("fit", path, "--target", "cost", *few, "-o", tmp_path / "run", columns=60)
    frontier = next(line for line in narrow.stdout.splitlines() if line.startswith("candidate"))
    assert frontier.split()[-2:] == ["R²", "leaves"]  # the depth goes first
    assert "per rule" not in frontier
    assert "per rule of the larger tree" not in " ".join(narrow.stdout.split())


def test_the_instability_for_the_size_is_that_of_many_candidates(patients: Path, tmp_path: Path) -> None:
    result = fit(patients, tmp_path / "run", *PLAIN, "--method", "bootstrap")
    assert "candidate instability per rule for size AUC leaves" in " ".join(result.stdout.split())
    assert "a multiple of that of candidates of the same size" in " ".join(result.stdout.split())
    assert "teacher" not in result.stdout


def test_the_summary_has_the_questions_in_full(tmp_path: Path) -> None:
    path = tmp_path / "wards.csv"
    rows = [f"w{number % 40:02},{number},{'yes' if number % 40 < 20 else 'no'}" for number in range(400)]
    path.write_text("\n".join(["ward,age,outcome", *rows]) + "\n")
    result = fit(path, tmp_path / "run")
    root = summary(tmp_path / "run")["split_support"][0]
    assert len(set(re.findall(r"w\d\d", root["split"]))) == 20
    assert "short" not in root
    assert set(re.findall(r"w\d\d", root["split"])) <= set(re.findall(r"w\d\d", result.stdout))


def test_each_rule_of_the_frontier_can_be_asked_for(patients: Path, tmp_path: Path) -> None:
    leaves = {}
    for rule in SELECTION_RULES:
        gamma = ("--instability-weight", 0.01) if rule == "weighted" else ()
        assert fit(patients, tmp_path / "run", "--selection-rule", rule, *gamma, *PLAIN).exit_code == 0
        facts = summary(tmp_path / "run")
        assert facts["choice"]["selection_rule"] == rule
        leaves[rule] = facts["trees"]["chosen"]["instability"]
    assert leaves["most-stable"] <= leaves["best-score"]


def test_a_candidate_is_taken_by_its_number(patients: Path, tmp_path: Path):
    done = fit(patients, tmp_path / "run", "--candidate", "2", *PLAIN)
    assert done.exit_code == 0
    assert re.search(r"^ *2 \*", done.stdout, re.M)
    run = open_run(tmp_path / "run")
    assert run.facts["choice"]["candidate"] == run.frontier.chosen == 2
    assert run.model.n_leaves == run.frontier.n_leaves[2]
    for wrong, words in (("99", "99 is not on the frontier"), ("-1", "--candidate")):
        refused = fit(patients, tmp_path / "other", "--candidate", wrong, *PLAIN)
        assert (refused.exit_code, words in refused.output) == (2, True)
    both = fit(patients, tmp_path / "other", "--candidate", "2", "--selection-rule", "knee", *PLAIN)
    assert "leave selection_rule out" in both.output


def test_numbers_are_predicted_and_losses_read_as_people_say_them(tmp_path: Path) -> None:
    path = tmp_path / "cost.csv"
    path.write_text("age,cost\n" + "".join(f"{age},{age * 10 + age % 3}.5\n" for age in range(100)))
    result = fit(path, tmp_path / "run", "--scoring", "absolute_error", target="cost")
    assert result.exit_code == 0, result.output
    assert "cost: a number from 0.5 to 990.5" in result.stdout
    assert "mean absolute error" in " ".join(result.stdout.split())
    facts = summary(tmp_path / "run")
    assert facts["metric"] == {"name": "absolute_error", "title": "mean absolute error", "loss": True}
    assert 0 < facts["trees"]["chosen"]["test"]["score"] < 200


def test_digits_can_be_categories(patients: Path, tmp_path: Path) -> None:
    fit(patients, tmp_path / "run", "--categorical", "age", *PLAIN)
    kinds = {
        feature.name: feature.kind for feature in load_model(tmp_path / "run" / "model.json").schema.features
    }
    assert kinds == {"age": "nominal", "ward": "nominal", "zip": "nominal", "lab": "numeric"}


def test_a_column_of_names_is_noted_once_without_the_noise_of_python(patients: Path, tmp_path: Path) -> None:
    path = tmp_path / "named.csv"
    header, *lines = patients.read_text().splitlines()
    rows = [f"{line},Ms {number},same" for number, line in enumerate(lines)]
    path.write_text("\n".join([f"{header},full name,constant", *rows]) + "\n")
    result = fit(path, tmp_path / "run", *PLAIN)
    assert result.stderr.count("column 'full name' is left out") == 1
    assert result.stderr.count("'constant'") == 1
    assert "Warning" not in result.stderr
    assert summary(tmp_path / "run")["notes"] == [
        line.removeprefix("Note: ").replace("--keep-ids", "keep_ids=True")
        for line in result.stderr.splitlines()
    ]


def test_words_of_the_data_are_not_taken_for_markup(tmp_path: Path) -> None:
    path = tmp_path / "odd.csv"
    rows = [f"{age},[bold]{age % 3},[/red]{age > 50}" for age in range(80)]
    path.write_text("\n".join(["[red]age,kind,out[/]come", *rows]) + "\n")
    result = fit(path, tmp_path / "run", target="out[/]come")
    assert result.exit_code == 0, result.output
    assert "[red]age" in result.stdout
    assert "[/red]True" in result.stdout


def test_parquet_is_read_with_its_types(patients: Path, tmp_path: Path) -> None:
    polars = pytest.importorskip("polars")
    frame = polars.read_csv(patients, schema_overrides={"zip": polars.String})
    frame = frame.with_columns(polars.date(frame["year"], 1, 1).alias("year"))
    frame.write_parquet(tmp_path / "patients.parquet")
    options = ("--stage", "year", *PLAIN[2:], "--method", "bootstrap")
    assert fit(tmp_path / "patients.parquet", tmp_path / "parquet", *options).exit_code == 0
    fit(patients, tmp_path / "csv", *options)
    early = summary(tmp_path / "parquet")["division"]["early_stages"]
    assert [stage[:10] for stage in early] == ["2019-01-01", "2020-01-01"]
    model = load_model(tmp_path / "parquet" / "model.json")
    assert str(model) == str(load_model(tmp_path / "csv" / "model.json"))


# -- refusals ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ["--target", "Outcom"],
            "(target). Did you mean 'outcome'?",
        ),
        (["--stage", "yr"], "There is no column 'yr' in '{data}' (stage). Did you mean 'year'?"),
        (["--groups", "nobody"], "(groups)"),
        (["--weight", "w"], "(weight)"),
        (["--drop", "x"], "(drop)"),
        (["--categorical", "x"], "(categorical)"),
        (["--drop", "outcome"], "Column 'outcome' is given both as target and as drop"),
        (["--weight", "ward"], "--weight: sample_weight must be numbers, and holds the text"),
        (["--scoring", "guess"], "--scoring: scoring='guess' is unknown"),
        (["--scoring", "r2"], "is for numbers, and the target 'outcome' holds classes"),
        (["--scoring", "f1"], "The scorer 'f1_score' failed"),
        (["--task", "regression"], "Regression needs numbers, and the target 'outcome' holds the labels"),
        (["--validation", "many"], "--validation: validation='many' is out of range"),
        (["--validation", "1"], "--validation: validation=1 is out of range"),
        (
            ["--selection-rule", "weighted"],
            "--selection-rule: selection_rule='weighted' needs instability_weight",
        ),
        (["--n-jobs", "0"], "Invalid value for '--n-jobs': '0' must be"),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(
    options: list[str], message: str, patients: Path, tmp_path: Path
) -> None:
    result = fit(patients, tmp_path / "run", *options)
    line = next(line for line in result.stderr.splitlines() if line.startswith("Error: "))
    assert result.exit_code == 2
    assert message.format(data=patients) in line
    assert "Traceback" not in result.output
    # What was finished before a scorer failed is kept for the next try.
    assert [entry for entry in tmp_path.iterdir() if not entry.name.startswith(".holdfast-")] == []


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "it is empty"),
        (b"age,outcome\n", "no rows"),
        (b"age,outcome\n1,a\n2\n", "line 3 has 1 cell"),
        (b"age,outcome\n1,a\n2,\n3,b\n", "missing"),
        (b"outcome\na\nb\n", "is left to split on: all have another role, 'outcome'"),
        (b"age,age,outcome\n1,2,a\n", "same name"),
        (b"PK\x03\x04 and more", "a zip archive or a spreadsheet"),
        (b"\x80\x04 a pickle", "pickle"),
        (b"\xff\xfea\x00,", "it begins as UTF-16, but is not valid"),
        (b"age,outcome\n\xe9,a\n", "not UTF-8"),
        (b"when,outcome\n2020-01-01,a\n2020-01-02,b\n", "date='when' reads them as days since"),
    ],
)
def test_a_file_that_cannot_be_read_is_refused_in_one_line(
    content: bytes, message: str, tmp_path: Path
) -> None:
    path = tmp_path / "data.csv"
    path.write_bytes(content)
    assert message in refusal(fit(path, tmp_path / "run"))
    assert [entry.name for entry in tmp_path.iterdir()] == ["data.csv"]


def test_a_missing_file_a_folder_and_a_name_without_a_kind_are_refused(tmp_path: Path) -> None:
    assert "No such file" in refusal(fit(tmp_path / "none.csv", tmp_path / "run"))
    assert "is a folder" in refusal(fit(tmp_path, tmp_path / "run"))
    (tmp_path / "data.xlsx").write_text("age,outcome\n")
    assert "must end in .csv" in refusal(fit(tmp_path / "data.xlsx", tmp_path / "run"))
    (tmp_path / "data.csv.gz").write_text("age,outcome\n")
    assert "gzip" in refusal(fit(tmp_path / "data.csv.gz", tmp_path / "run"))


def test_one_stage_is_refused(patients: Path, tmp_path: Path) -> None:
    path = tmp_path / "one.csv"
    path.write_text(re.sub(",20[0-9]{2},", ",2019,", patients.read_text()))
    assert "stage has one value for all rows" in refusal(fit(path, tmp_path / "run", "--stage", "year"))


def test_one_group_leaves_nothing_to_train_on(patients: Path, tmp_path: Path) -> None:
    path = tmp_path / "one.csv"
    path.write_text(re.sub(",P[0-9]+,", ",P1,", patients.read_text()))
    assert "set test=0" in refusal(fit(path, tmp_path / "run", "--groups", "patient"))


@pytest.mark.parametrize(
    "options",
    [
        ["--max-depth", "0"],
        ["--n-estimators", "0"],
        ["--n-estimators", "many"],
        ["--tolerance", "-1"],
        ["--tolerance-unit", "feet"],
        ["--early-fraction", "1"],
        ["--test", "1"],
        ["--random-state", "-1"],
        ["--n-jobs", "-2"],
        ["--selection-rule", "any"],
        ["--task", "sorting"],
        ["--growth", "id3"],
        ["--method", "grown"],
    ],
)
def test_an_option_out_of_range_is_a_usage_error(options: list[str], patients: Path, tmp_path: Path) -> None:
    result = fit(patients, tmp_path / "run", *options)
    assert result.exit_code == 2
    assert f"Invalid value for '{options[0]}'" in result.stderr


def test_trees_grow_as_c45_does_and_candidates_come_from_one_path(patients: Path, tmp_path: Path) -> None:
    result = fit(patients, tmp_path / "run", "--growth", "c4.5", "--method", "pruned")
    assert result.exit_code == 0, result.stderr
    settings = json.loads((tmp_path / "run" / "summary.json").read_text())["settings"]
    assert (settings["criterion"], settings["method"]) == ("gain_ratio", "pruned")
    header = (tmp_path / "run" / "frontier.csv").read_text().splitlines()[0]
    assert "ccp_alpha" in header.split(",")


def test_c45_is_refused_for_a_number(patients: Path, tmp_path: Path) -> None:
    options = ("--growth", "c4.5", "--method", "bootstrap")
    refused = fit(patients, tmp_path / "run", *options, target="age")
    assert (refused.exit_code, "gain_ratio" in refused.stderr) == (2, True)


def test_fit_needs_a_target(patients: Path) -> None:
    assert "target is missing: name the column" in refusal(holdfast("fit", patients))


def test_a_refusal_is_one_line_of_sentences(patients: Path, tmp_path: Path) -> None:
    assert join_lines("a") == "a"
    assert join_lines("The data differ:\n  column 'x' is text\n  column 'y' is new\nSay so.") == (
        "The data differ: column 'x' is text; column 'y' is new; Say so."
    )
    result = holdfast("fit", patients, "--target", "nothing", "-o", tmp_path / "run")
    assert result.stderr.startswith("Error: There is no column 'nothing'")
