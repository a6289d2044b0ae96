from pathlib import Path

import pytest
from command_line import fit, holdfast, refusal, write_patients

from holdfast import ForestClassifier, save
from holdfast.cli.plot import PLOTS


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a run of a stable tree, one of a pruned tree, and a forest."""
    folder = tmp_path_factory.mktemp("runs")
    data = write_patients(folder / "patients.csv")
    assert fit(data, folder / "stable", "--method", "bootstrap").exit_code == 0
    done = holdfast("fit", data, "--target", "outcome", "--model", "pruned", "-o", folder / "pruned")
    assert done.exit_code == 0, done.output
    save(ForestClassifier(n_estimators=3).fit([[0.0], [1.0], [2.0]], [0, 1, 1]), folder / "forest.json")
    return folder


@pytest.mark.parametrize(
    "what", ["frontier", "tree", "sizes", "split-support", "distance", "distance-matrix"]
)
def test_a_run_of_a_stable_tree_gives_every_plot_that_needs_no_rows(
    what: str, runs: Path, tmp_path: Path
) -> None:
    paths = [tmp_path / f"{number}.svg" for number in (1, 2)]
    for path in paths:
        done = holdfast("plot", runs / "stable", "--what", what, "-o", path)
        assert (done.exit_code, done.output) == (0, f"Wrote {path}\n")
    first, second = (path.read_text() for path in paths)
    assert first == second
    assert first.startswith("<svg")


@pytest.mark.parametrize("ending", ["png", "pdf"])
def test_pictures_may_be_of_other_forms(ending: str, runs: Path, tmp_path: Path) -> None:
    assert holdfast("plot", runs / "stable", "-o", tmp_path / f"frontier.{ending}").exit_code == 0
    assert (tmp_path / f"frontier.{ending}").stat().st_size > 1000


def test_the_sizes_of_a_pruned_run_are_those_that_folds_judged(runs: Path, tmp_path: Path) -> None:
    assert holdfast("plot", runs / "pruned", "--what", "sizes", "-o", tmp_path / "s.svg").exit_code == 0
    assert "mean of 10 folds, ± one standard error" in (tmp_path / "s.svg").read_text()


def test_without_a_name_the_file_is_called_after_the_plot(
    runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert holdfast("plot", runs / "stable").output == "Wrote frontier.svg\n"
    assert (tmp_path / "frontier.svg").is_file()


def test_without_a_frontier_the_usual_plot_is_one_that_there_is(
    runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    new = write_patients(tmp_path / "new.csv", 100, seed=5)
    assert holdfast("update", runs / "stable", new, "-o", tmp_path / "update", "--n-jobs", 1).exit_code == 0
    assert holdfast("plot", tmp_path / "update").output == "Wrote tree.svg\n"
    assert holdfast("plot", runs / "pruned").output == "Wrote tree.svg\n"
    assert holdfast("plot", runs / "forest.json").output == "Wrote importance.svg\n"
    trees = runs / "stable" / "collections" / "references.json"
    assert holdfast("plot", trees).output == "Wrote distance.svg\n"


def test_what_a_run_cannot_give_is_said_in_one_line(runs: Path, tmp_path: Path) -> None:
    out = tmp_path / "p.svg"
    told = refusal(holdfast("plot", runs / "pruned", "--what", "frontier", "-o", out))
    assert "it is drawn of a run of a stable tree, and this is one tree alone" in told
    told = refusal(holdfast("plot", runs / "forest.json", "--what", "sizes", "-o", out))
    assert "it is drawn of one tree, in a run or a model file, and this contains 3 trees" in told
    assert "'nothing'" in refusal(holdfast("plot", "nothing", "-o", out)).replace("\\", "/")
    assert "must end in .svg, .png or .pdf" in refusal(holdfast("plot", runs / "stable", "-o", "p.txt"))
    assert not out.exists()


def test_the_help_names_every_plot() -> None:
    text = holdfast("plot", "--help", columns=100).output
    assert all(f"  {name} " in text for name in PLOTS)
