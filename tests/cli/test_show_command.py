import csv
import re
from pathlib import Path
from typing import Any

import pytest
from command_line import holdfast, refusal

from holdfast import (
    BoostingClassifier,
    ForestClassifier,
    ForestRegressor,
    GrowthRules,
    Table,
    grow,
    save,
    save_trees,
)
from holdfast.cli.show import ENDINGS, show_text
from holdfast.io.model_file import load_model

EXACT = GrowthRules(categories="exact")  # one row of each ward: no other search tells it from chance
WARDS = tuple(f"w{number:02}" for number in range(60))


@pytest.fixture(scope="module")
def wards(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tree that sends 30 wards to each side."""
    rows = [[ward, float(number % 3)] for number, ward in enumerate(WARDS)]
    path = tmp_path_factory.mktemp("models") / "wards.json"
    save(grow(Table.from_arrays(rows, ["no", "yes"] * 30), EXACT), path)
    return path


def named(text: str) -> set[str]:
    return set(re.findall(r"w\d\d", text))


# -- nothing is left out of what is carried on ------------------------------------------------------------


def test_rules_that_are_piped_or_written_to_a_file_name_every_category(wards: Path, tmp_path: Path) -> None:
    piped = holdfast("show", wards, "--format", "rules").output
    assert [named(text) for text in piped.split("\n\n")] == [set(WARDS[::2]), set(WARDS[1::2])]
    assert holdfast("show", wards, "--format", "rules", "-o", tmp_path / "rules.txt").exit_code == 0
    assert (tmp_path / "rules.txt").read_text() == piped


def test_the_table_of_nodes_names_every_category(wards: Path) -> None:
    root, yes, no = csv.DictReader(holdfast("show", wards, "--format", "csv").output.splitlines())
    assert named(root["split"]) == named(yes["condition"]) == set(WARDS[::2])
    assert named(no["condition"]) == set(WARDS[1::2])


def test_the_table_of_a_collection_has_first_questions_in_full(tmp_path: Path) -> None:
    """Two trees whose first questions begin with the same categories ask two different questions."""
    for number, flipped in enumerate((50, 52)):
        answers = ["no", "yes"] * 30
        answers[flipped], answers[flipped + 1] = answers[flipped + 1], answers[flipped]
        save(grow(Table.from_arrays([[ward] for ward in WARDS], answers), EXACT), tmp_path / f"{number}.json")
    save_trees([load_model(tmp_path / "0.json"), load_model(tmp_path / "1.json")], tmp_path / "both.json")
    lines = list(
        csv.DictReader(holdfast("show", tmp_path / "both.json", "--format", "csv").output.splitlines())
    )
    assert [len(named(line["root_split"])) for line in lines] == [30, 30]
    assert "They have 2 different root splits" in holdfast("show", tmp_path / "both.json").output


@pytest.mark.parametrize("form", ["drawing", "rules"])
def test_on_a_terminal_lists_are_cut_and_the_last_line_says_how_to_see_all(form: str, wards: Path) -> None:
    text = show_text(wards, form, columns=80, on_terminal=True)
    assert 0 < len(named(text)) < 60
    assert " ".join(text.split("\n\n")[-1].split()) == (
        "… stands for what is left out: holdfast show --format rules -o rules.txt has all of it."
    )
    assert max(map(len, text.splitlines())) <= 80


# -- forms and names --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "name", "way_out"),
    [
        (["--format", "svg"], "tree.png", "--format svg is for a name that ends in .svg, not in .png."),
        (["--format", "svg"], "tree.csv", "For such a name use --format csv."),
        (["--format", "svg"], "tree", "For such a name use --format drawing or rules."),
        (["--format", "csv"], "tree.svg", "For such a name use --format svg."),
        (["--format", "csv"], "tree.parquet", "ends in .csv, not in .parquet."),
        (["--format", "rules"], "tree.svg", "ends in .txt or .text or .md, not in .svg."),
        (["--format", "drawing"], "tree.json", "ends in .txt or .text or .md, not in .json."),
        ([], "tree.png", "--format drawing is for a name that ends in .txt"),
    ],
)
def test_a_form_and_a_name_that_disagree_are_refused_before_any_work(
    options: list[str], name: str, way_out: str, tmp_path: Path
) -> None:
    line = refusal(holdfast("show", "no such model.json", *options, "-o", tmp_path / name))
    assert line.startswith(f"Error: Cannot write to '{tmp_path / name}': --format ")
    assert way_out in line
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("form", "endings"), ENDINGS.items())
def test_each_form_is_written_to_each_name_that_fits(
    form: str, endings: tuple[str, ...], wards: Path, tmp_path: Path
) -> None:
    for ending in endings:
        assert holdfast("show", wards, "--format", form, "-o", tmp_path / f"x{ending}").exit_code == 0
        assert (tmp_path / f"x{ending}").stat().st_size > 0


@pytest.mark.parametrize("form", ["svg", "csv"])
def test_without_a_form_the_name_tells_it(form: str, wards: Path, tmp_path: Path) -> None:
    for options, name in ((["--format", form], f"said.{form}"), ([], f"told.{form.upper()}")):
        assert holdfast("show", wards, *options, "-o", tmp_path / name).exit_code == 0
    assert (tmp_path / f"said.{form}").read_bytes() == (tmp_path / f"told.{form.upper()}").read_bytes()


# -- ensembles --------------------------------------------------------------------------------------------

X = [[float(age), float(age % 7), float(age % 2)] for age in range(20, 80)]


@pytest.mark.parametrize(
    ("model", "y", "kind", "link"),
    [
        (
            ForestClassifier(5),
            ["no", "yes"] * 30,
            "5 trees that predicts 'y' (no, yes)",
            "the mean of the predictions",
        ),
        (ForestClassifier(5, voting="hard"), ["no", "yes"] * 30, "5 trees", "each votes for one class"),
        (
            ForestRegressor(4),
            [float(age) for age in range(60)],
            "4 trees that predicts 'y' (a number)",
            "the mean",
        ),
        (
            BoostingClassifier(n_estimators=6),
            ["no", "yes"] * 30,
            "6 trees that",
            "the logistic function of the sum",
        ),
        (
            BoostingClassifier(n_estimators=2),
            ["a rather long class", "another long class", "c"] * 20,
            "6 trees, 3 in each of 2 rounds, that predicts 'y' (a rather long class, another long class, c)",
            "the softmax of the sums",
        ),
    ],
)
def test_an_ensemble_says_what_it_is(model: Any, y: list[Any], kind: str, link: str, tmp_path: Path) -> None:
    model.set_params(random_state=0).fit(X, y)
    save(model, tmp_path / "model.json")
    text = holdfast("show", tmp_path / "model.json").output
    words = " ".join(text.split())
    assert f"An ensemble of {kind}" in words
    assert "Its prediction is the " in words
    assert link in words
    assert max(map(len, text.splitlines())) <= 80
    sizes = sorted(tree.n_leaves for tree in model.ensemble_)
    assert f"leaves {sizes[0]} to {sizes[-1]}, median" in words
    for name, importance in zip(("x0", "x1", "x2"), model.feature_importances_, strict=True):
        if importance > 0:
            assert re.search(rf"^{name} +{importance:.3f} ", text, re.MULTILINE)


def test_an_ensemble_has_no_rules_and_no_picture(tmp_path: Path) -> None:
    save(ForestClassifier(3, random_state=0).fit(X, ["no", "yes"] * 30), tmp_path / "model.json")
    for form in ("rules", "svg"):
        line = refusal(holdfast("show", tmp_path / "model.json", "--format", form))
        assert f"contains 3 trees, and --format {form} is for one" in line


def test_on_a_terminal_features_are_cut_and_the_table_says_how_to_see_all(tmp_path: Path) -> None:
    rows = [[float(row * (2 * column + 3) % 31) for column in range(14)] for row in range(300)]
    y = [row % 5 % 2 for row in range(300)]
    model = ForestClassifier(20, random_state=0).fit(rows, y)
    save(model, tmp_path / "model.json")
    save_trees(model.ensemble_.trees, tmp_path / "trees.json")
    asked = {int(feature) for tree in model.ensemble_ for feature in tree.feature} - {-1}
    for name in ("model.json", "trees.json"):
        cut = show_text(tmp_path / name, "drawing", on_terminal=True)
        assert f"... and {len(asked) - 10} more: holdfast show -o all.txt has all" in cut
        assert len(re.findall(r"^x\d+ ", cut, re.MULTILINE)) == 10
        whole = holdfast("show", tmp_path / name).output
        assert set(re.findall(r"^x(\d+) ", whole, re.MULTILINE)) == set(map(str, asked))


# -- risk first -------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def ages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tree of two leaves, at 45: of the lower none is yes, of the upper two of three."""
    path = tmp_path_factory.mktemp("models") / "ages.json"
    rows = [[20.0], [30.0], [40.0], [50.0], [60.0], [60.0]]
    save(grow(Table.from_arrays(rows, ["no", "no", "no", "yes", "no", "yes"])), path)
    return path


def test_the_positive_class_is_the_one_that_is_asked_for(ages: Path) -> None:
    assert "p(yes)" in holdfast("show", ages).stdout
    for form in ([], ["--format", "rules"], ["--nodes"]):
        assert "p(no)" in holdfast("show", ages, "--positive", "no", *form).stdout
    assert "probability of no" in holdfast("show", ages, "--format", "svg", "--positive", "no").stdout
    said = refusal(holdfast("show", ages, "--positive", "maybe"))
    assert "is no class of 'y': choose one of 'no', 'yes'" in said


def test_rules_by_risk(ages: Path) -> None:
    first = holdfast("show", ages, "--order", "risk").stdout.split("\n\n")[0]
    assert "THEN y = yes" in first
    assert "--order is for --format rules" in refusal(
        holdfast("show", ages, "--order", "risk", "--format", "csv")
    )


def test_a_picture_with_a_title_of_a_width(ages: Path, tmp_path: Path) -> None:
    options = ["--title", "Who <comes>", "--width", "300", "--decimals", "1"]
    holdfast("show", ages, *options, "-o", tmp_path / "tree.svg")
    text = (tmp_path / "tree.svg").read_text()
    assert "Who &lt;comes&gt;" in text
    assert 'width="300"' in text
    assert "--title is for --format svg" in refusal(holdfast("show", ages, "--title", "Who"))
