"""With stages, the chosen tree is tested forward: by the last of them."""

import csv
import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command_line import fit as fit_outcome
from command_line import holdfast, refusal
from sklearn.metrics import roc_auc_score

from holdfast.io.model_file import load_model
from holdfast.runs.dataset import choose_test_rows, read_rows
from holdfast.runs.settings import DataSettings
from reference.reading import read_file

YEARS = (2016, 2017, 2018, 2019)


def write_exams(path: Path, years: tuple[int, ...] = YEARS, turn: int = 9999, n_persons: int = 100) -> Path:
    """The same persons every year. Who is sick follows `a`, and from the year of the turn on its opposite."""
    draw = random.Random(1)
    lines = ["a,b,c,year,person,sick"]
    for year in years:
        for person in range(n_persons):
            a, b, c = (round(draw.gauss(0, 1), 3) for _ in range(3))
            sick = (a if year < turn else -a) + draw.gauss(0, 0.5) > 0
            lines.append(f"{a},{b},{c},{year},P{person},{'yes' if sick else 'no'}")
    path.write_text("\n".join(lines) + "\n")
    return path


def fit(data: Path, folder: Path, *options: object) -> Any:
    return fit_outcome(data, folder, *options, target="sick")


def summary(folder: Path) -> dict[str, Any]:
    return json.loads((folder / "summary.json").read_text())


def words(result: Any) -> str:
    assert result.exit_code == 0, result.output
    return " ".join(result.stdout.split())


# -- which rows -------------------------------------------------------------------------------------------


def test_the_last_stage_is_held_out_and_an_eighth_of_those_before(tmp_path: Path) -> None:
    data = write_exams(tmp_path / "exams.csv")
    said = words(fit(data, tmp_path / "run", "--stage", "year", "--drop", "person"))
    division = summary(tmp_path / "run")["division"]
    assert (division["test_kind"], division["test_stages"]) == ("forward", ["2019"])
    assert division["test_rows"] == 100
    assert division["earlier_test_rows"] == pytest.approx(300 / 8, abs=2)
    assert division["training_rows"] == 300 - division["earlier_test_rows"]
    assert load_model(tmp_path / "run" / "model.json").count[0] == division["training_rows"]
    earlier = division["earlier_test_rows"]
    assert f"100 rows of stage 2019, and {earlier} random rows of earlier stages" in said
    assert max(map(len, said.split())) < 80


def test_both_scores_are_printed_and_the_later_one_is_that_of_the_last_stage(tmp_path: Path) -> None:
    data = write_exams(tmp_path / "exams.csv")
    result = fit(data, tmp_path / "run", "--stage", "year", "--drop", "person")
    chosen = summary(tmp_path / "run")["trees"]["chosen"]
    model = load_model(tmp_path / "run" / "model.json")
    late = [row for row in csv.DictReader(data.read_text().splitlines()) if row["year"] == "2019"]
    X = np.array([[float(row[name]) for name in "abc"] for row in late])
    shares = model.value[model.apply(X)][:, 1]
    auc = roc_auc_score([row["sick"] == "yes" for row in late], shares)
    assert chosen["test"]["score"] == pytest.approx(auc)
    assert chosen["earlier_test"]["score"] > 0.8
    for kind in ("test", "earlier_test"):
        assert f"{chosen[kind]['score']:.3f} ± {chosen[kind]['standard_error']:.3f}" in words(result)
    assert max(map(len, result.stdout.splitlines())) <= 80


def test_rows_of_the_last_stage_move_nothing_that_is_learnt(tmp_path: Path) -> None:
    plain, turned = tmp_path / "plain.csv", tmp_path / "turned.csv"
    write_exams(plain)
    write_exams(turned, turn=2019)
    models = []
    for data in (plain, turned):
        fit(data, tmp_path / data.stem, "--stage", "year", "--drop", "person")
        models.append((tmp_path / data.stem / "model.json").read_bytes())
    assert models[0] == models[1]


def test_many_small_stages_are_held_out_until_they_are_half_of_the_share(tmp_path: Path) -> None:
    data = write_exams(tmp_path / "exams.csv", tuple(range(2000, 2040)), n_persons=10)
    said = words(fit(data, tmp_path / "run", "--stage", "year", "--drop", "person"))
    division = summary(tmp_path / "run")["division"]
    assert division["test_stages"] == [f"{year}" for year in range(2035, 2040)]  # 50 rows: an eighth of 400
    assert "50 rows of stage 2035 to 2039, 5 of them" in said


def test_of_two_stages_the_first_is_learnt_from_and_a_note_says_so(tmp_path: Path) -> None:
    data = write_exams(tmp_path / "exams.csv", (2016, 2019))
    result = fit(data, tmp_path / "run", "--stage", "year", "--drop", "person", "--method", "bootstrap")
    assert "drawn at random from stage 2016, the only one left" in words(result)
    assert result.stderr.startswith("Note: The test holds out stage 2019, 100 rows, and 1")
    assert "test_rows='random'" in result.stderr
    assert summary(tmp_path / "run")["division"]["early_stages"] == []


def test_random_rows_of_all_stages_can_be_asked_for(tmp_path: Path) -> None:
    data = write_exams(tmp_path / "exams.csv")
    options = ("--test-rows", "random", "--method", "bootstrap")
    fit(data, tmp_path / "run", "--stage", "year", "--drop", "person", *options)
    facts = summary(tmp_path / "run")
    assert (facts["division"]["test_kind"], facts["division"]["test_stages"]) == ("random", [])
    assert facts["division"]["test_rows"] == pytest.approx(100, abs=2)
    assert facts["division"]["early_stages"] == ["2016", "2017"]
    assert facts["trees"]["chosen"]["earlier_test"] is None
    rows = read_rows(data, DataSettings(target="sick", stage="year", drop="person"))
    is_test = choose_test_rows(rows.table(), rows, 0.25, "random", 0).test
    assert set(np.unique(rows.stage[is_test])) == {0, 1, 2, 3}


def test_without_test_rows_all_stages_are_learnt_from(tmp_path: Path) -> None:
    data = write_exams(tmp_path / "exams.csv", (2016, 2019))
    options = ("--stage", "year", "--drop", "person", "--test", 0)
    fit(data, tmp_path / "run", *options, "--method", "bootstrap")
    division = summary(tmp_path / "run")["division"]
    assert (division["test_kind"], division["training_rows"]) == (None, 200)
    assert division["early_stages"] == ["2016"]
    said = words(fit(data, tmp_path / "consensus", *options))
    assert "early" not in said  # a consensus tree and its references learn from all rows
    division = summary(tmp_path / "consensus")["division"]
    assert division["training_rows"] == 200
    assert "early_rows" not in division


def test_one_stage_is_enough_for_a_consensus_tree_without_test_rows(tmp_path: Path) -> None:
    data = write_exams(tmp_path / "exams.csv", (2016,))
    options = ("--stage", "year", "--drop", "person", "--test", 0)
    assert fit(data, tmp_path / "run", *options).exit_code == 0


def test_forward_needs_stages_and_more_than_one(tmp_path: Path) -> None:
    data = write_exams(tmp_path / "exams.csv", (2016,))
    assert "--test-rows: test_rows='forward' holds out the last stages" in refusal(
        fit(data, tmp_path / "run", "--drop", "person", "--drop", "year", "--test-rows", "forward")
    )
    early = ("--method", "bootstrap")  # which has early rows
    for options in ((), ("--test", 0, *early), ("--test-rows", "random", *early)):
        one = fit(data, tmp_path / "run", "--drop", "person", "--stage", "year", *options)
        assert "stage has one value for all rows" in refusal(one)


def test_a_class_that_only_the_last_stage_has_is_learnt_from_with_a_note(tmp_path: Path) -> None:
    data = write_exams(tmp_path / "exams.csv")
    data.write_text(data.read_text() + "0,0,0,2019,P1,maybe\n" * 3)
    result = fit(data, tmp_path / "run", "--stage", "year", "--drop", "person")
    assert "3 rows have a class, maybe, that no stage before 2019 has" in result.stderr
    assert load_model(tmp_path / "run" / "model.json").schema.target.classes == ("maybe", "no", "yes")
    assert summary(tmp_path / "run")["division"]["test_rows"] == 100
    new = tmp_path / "new.csv"
    new.write_text(
        "\n".join(["a,year,sick", *(f"{n},{n // 20},{'no' if n < 20 else 'yes'}" for n in range(40))])
    )
    assert "No class of the last stages, 1, is known from those before" in refusal(
        fit(new, tmp_path / "other", "--stage", "year")
    )


# -- groups -----------------------------------------------------------------------------------------------


def test_with_groups_it_is_said_how_many_test_rows_are_of_known_persons(tmp_path: Path) -> None:
    data = write_exams(tmp_path / "exams.csv")
    data.write_text(
        data.read_text() + "".join(f"0,0,0,2019,new{n},{['no', 'yes'][n % 2]}\n" for n in range(20))
    )
    said = words(fit(data, tmp_path / "run", "--stage", "year", "--groups", "person"))
    division = summary(tmp_path / "run")["division"]
    rows = read_rows(data, DataSettings(target="sick", stage="year", groups="person"))
    held_out = choose_test_rows(rows.table(), rows, 0.25, None, 0)
    assert division["test_rows"] == held_out.test.sum() == 120
    person = list(read_file(data, categorical=["person"]).column("person"))
    learnt = {person[row] for row in np.flatnonzero(~(held_out.test | held_out.earlier))}
    known = sum(person[row] in learnt for row in np.flatnonzero(held_out.test))
    assert 0 < known <= 100
    assert division["test_rows_of_known_groups"] == known
    assert f"{known} of the 120 belong to groups with earlier rows in training" in said
    # Random earlier rows are whole persons, as far as the years before the last go.
    assert not learnt & {person[row] for row in np.flatnonzero(held_out.earlier)}


# -- do early and late data agree? ------------------------------------------------------------------------


def test_a_plain_sentence_says_when_early_and_late_rows_give_other_scores(tmp_path: Path) -> None:
    data = write_exams(tmp_path / "exams.csv", turn=2019)
    said = words(fit(data, tmp_path / "run", "--stage", "year", "--drop", "person"))
    facts = summary(tmp_path / "run")
    chosen = facts["trees"]["chosen"]
    assert chosen["test"]["score"] < 0.3 < 0.8 < chosen["earlier_test"]["score"]
    assert "Early and late data disagree: AUC 0." in said
    assert "on rows of stage 2019" in said
    assert len(facts["disagreement"]) == 1
    assert facts["disagreement"][0] in said
    assert "Believe the test rows" not in said  # one reason is enough


@pytest.mark.parametrize("model", ["tree", "pruned", "forest", "boosting"])
def test_every_model_says_when_early_and_late_rows_give_other_scores(model: str, tmp_path: Path) -> None:
    options = ("--stage", "year", "--drop", "person", "--target", "sick", "--model", model, "--n-jobs", 1)
    for turn, count in ((2019, 1), (9999, 0)):
        data, folder = write_exams(tmp_path / "exams.csv", turn=turn), tmp_path / str(turn)
        said = words(holdfast("fit", data, *options, "-o", folder))
        facts = summary(folder)["disagreement"]
        assert said.count("Early and late data disagree") == len(facts) == count
        assert all(text in said for text in facts)
        assert "Later rows: stage 2019, after all training rows." in said
        assert "Believe the test rows" not in said


def test_nothing_is_said_when_they_agree(tmp_path: Path) -> None:
    data = write_exams(tmp_path / "exams.csv")
    said = words(fit(data, tmp_path / "run", "--stage", "year", "--drop", "person"))
    assert "disagree" not in said
    assert summary(tmp_path / "run")["disagreement"] == []


def test_a_sentence_says_when_no_early_tree_asks_the_first_question(tmp_path: Path) -> None:
    """In 2016 only b tells who is sick, and from then on only a."""
    draw = random.Random(0)
    lines = ["a,b,year,sick"]
    for year, n_rows in ((2016, 100), (2017, 500), (2018, 60)):
        for _ in range(n_rows):
            a, b = draw.gauss(0, 1), draw.gauss(0, 1)
            lines.append(f"{a:.3f},{b:.3f},{year},{'yes' if (b if year == 2016 else a) > 0 else 'no'}")
    path = tmp_path / "turned.csv"
    path.write_text("\n".join(lines) + "\n")
    said = words(
        fit(
            path,
            tmp_path / "run",
            "--stage",
            "year",
            "--method",
            "bootstrap",
            "--early-fraction",
            0.1,
            "--selection-rule",
            "best-score",
        )
    )
    assert "disagree on what comes first: 0 % of the reference trees, of stage 2016, ask the root's" in said


def test_a_last_stage_of_one_class_says_nothing_of_the_auc(tmp_path: Path) -> None:
    path = tmp_path / "alike.csv"
    rows = [f"{n % 25},{2016 + n // 50},{'yes' if n % 25 > 12 and n < 100 else 'no'}" for n in range(200)]
    path.write_text("\n".join(["a,year,sick", *rows]) + "\n")
    said = words(fit(path, tmp_path / "run", "--stage", "year"))
    assert "50 rows, all of class no" in said
    assert summary(tmp_path / "run")["trees"]["chosen"]["test"] is None
    assert "disagree:" not in said


def test_a_last_stage_with_one_case_is_joined_by_those_before(tmp_path: Path) -> None:
    data = write_exams(tmp_path / "exams.csv")
    lines = data.read_text().splitlines()
    few = [line.replace("2019", "2020").rsplit(",", 1)[0] for line in lines[-10:]]
    lines += [f"{line},{'yes' if place == 0 else 'no'}" for place, line in enumerate(few)]
    data.write_text("\n".join(lines) + "\n")
    rows = read_rows(data, DataSettings(target="sick", stage="year", drop="person"))
    assert choose_test_rows(rows.table(), rows, 0.25, None, 0).stages == ("2019", "2020")


def test_a_test_of_few_rows_gives_no_score(tmp_path: Path) -> None:
    data = write_exams(tmp_path / "exams.csv", (2016,), n_persons=40)
    result = fit(data, tmp_path / "run", "--drop", "person", "--drop", "year")
    facts = summary(tmp_path / "run")
    assert facts["trees"]["chosen"]["test"] is None
    assert "10 rows" in words(result)


def test_a_table_of_few_cases_says_so_first(tmp_path: Path) -> None:
    path = tmp_path / "few.csv"
    path.write_text(
        "\n".join(["a,sick", *(f"{n % 9},{'yes' if n % 16 == 0 else 'no'}" for n in range(92))]) + "\n"
    )
    result = fit(path, tmp_path / "run", "--teacher", "linear", "--n-estimators", 5)
    assert "92 rows with 6 cases" in result.stderr.splitlines()[0]
