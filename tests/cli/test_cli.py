import csv
import json
import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner, Result
from command_line import holdfast, refusal

from holdfast import Table, Tree, __version__, grow, save
from holdfast.cli.main import main
from holdfast.io.model_file import load_model, load_trees
from holdfast.tree.text import draw_tree

HEAVY = ("numba", "sklearn", "scipy", "numpy", "pandas", "rich")


@pytest.fixture(scope="module")
def tree() -> Tree:
    rows = [[20.0, "A"], [30.0, "B"], [50.0, "A"], [60.0, "B"]]
    return grow(Table.from_arrays(rows, ["no", "no", "yes", "yes"]))


@pytest.fixture
def model(tree: Tree, tmp_path: Path) -> Path:
    path = tmp_path / "model.json"
    save(tree, path)
    return path


# -- cheap to ask -----------------------------------------------------------------------------------------


QUESTIONS = ["--version", "--help", "demo --help", "fit --help", "predict --help", "show --help"]


def test_asking_for_help_or_the_version_imports_nothing_heavy() -> None:
    program = (
        "import sys\n"
        "from holdfast.cli.main import main\n"
        f"for question in {QUESTIONS!r}:\n"
        "    main(question.split(), standalone_mode=False)\n"
        f"    print(question, [name for name in {HEAVY!r} if name in sys.modules], file=sys.stderr)\n"
        "    print('<end>')"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert run.stderr.splitlines() == [f"{question} []" for question in QUESTIONS]
    *answers, after = run.stdout.split("<end>\n")
    assert len(answers) == len(QUESTIONS)
    assert all(answers)
    assert after == ""


def test_the_version_is_the_one_of_the_package() -> None:
    assert holdfast("--version").output == f"holdfast, version {__version__}\n"


# -- show -------------------------------------------------------------------------------------------------


def test_show_draws_the_tree(model: Path, tree: Tree) -> None:
    assert holdfast("show", model).output == f"{tree}\n"


def test_show_prints_the_rules(model: Path, tree: Tree) -> None:
    assert holdfast("show", model, "--format", "rules").output == f"{tree.rules()}\n"


def test_show_writes_the_picture_to_a_file(model: Path, tmp_path: Path) -> None:
    picture = tmp_path / "tree.svg"
    assert holdfast("show", model, "--format", "svg", "-o", picture).output == ""
    assert ElementTree.parse(picture).getroot().tag.endswith("svg")


def test_show_lists_the_nodes_as_csv(model: Path, tree: Tree) -> None:
    lines = list(csv.DictReader(holdfast("show", model, "--format", "csv").output.splitlines()))
    assert [line["split"] for line in lines] == ["x0 <= 40", "", ""]
    assert [float(line["rows"]) for line in lines] == tree.count.tolist()


def test_a_terminal_without_the_letters_to_draw_with_gets_question_marks(model: Path) -> None:
    result = CliRunner(charset="latin-1").invoke(main, ["show", str(model)])
    assert result.exit_code == 0
    assert result.output.splitlines()[1].startswith("?? x0 <= 40")


# -- refusals ---------------------------------------------------------------------------------------------


def test_a_missing_file_is_refused_in_one_line() -> None:
    assert refusal(holdfast("show", "nowhere.json")).startswith(
        "Error: Cannot use 'nowhere.json': No such file"
    )


def test_a_folder_is_refused_in_one_line(tmp_path: Path) -> None:
    assert "it is a folder" in refusal(holdfast("show", tmp_path))


@pytest.mark.parametrize(
    "content", [b"", b"{", b"age,sex\n41,f\n", b"\x80\x04K\x01.", b"{}", bytes(range(256))]
)
def test_a_file_that_is_no_model_is_refused_in_one_line(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "model.json"
    path.write_bytes(content)
    assert f"Cannot load the model file '{path}'" in refusal(holdfast("show", path))


def test_an_edited_model_is_refused_in_one_line(model: Path) -> None:
    document = json.loads(model.read_text())
    document["nodes"]["left"][0] = 2
    model.write_text(json.dumps(document))
    assert "checksum" in refusal(holdfast("show", model))


def test_a_picture_that_cannot_be_written_is_refused_in_one_line(model: Path, tmp_path: Path) -> None:
    nowhere = tmp_path / "no such folder" / "tree.svg"
    assert str(nowhere) in refusal(holdfast("show", model, "--format", "svg", "-o", nowhere))


def test_a_demo_folder_that_is_a_file_is_refused_before_any_work(model: Path) -> None:
    assert str(model) in refusal(holdfast("demo", "-o", model))


# -- demo -------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module", params=[80])
def demo(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[int, Result, Path]:
    """The width of the terminal, what the demo printed, and where it left its files."""
    folder = tmp_path_factory.mktemp("demo") / "new" / "folder"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("holdfast.cli.demo.N_AGAIN", 1)  # a test can wait for one
        return request.param, holdfast("demo", "-o", folder, columns=request.param), folder


def test_the_demo_tells_its_story_within_the_terminal(demo: tuple[int, Result, Path]) -> None:
    columns, result, folder = demo
    assert result.exit_code == 0, result.output
    own = [line for line in result.output.splitlines() if str(folder) not in line]
    assert max(map(len, own)) <= columns
    # Long conditions are broken to the width of the terminal, and the sentence on weak splits wraps anyhow.
    assert draw_tree(load_model(folder / "model.json"), width=columns).split("\nNote: ")[0] in result.output
    assert f"holdfast show {folder}" in result.output
    said = " ".join(result.output.split())
    assert re.search(r"They have \d\d different root splits on \d of the 30 measurements", said)
    n_references = len(load_trees(folder / "collections" / "references.json"))
    assert f"{n_references} students, trees of at most 12 leaves" in said
    chosen = json.loads((folder / "summary.json").read_text())["trees"]["chosen"]
    assert f"Instability {chosen['instability']:.4g}" in said
    moves = {
        kind: [float(each) for each in re.findall(r"[\d.]+(?= ±)", line)]
        for line in result.output.splitlines()
        for kind in ("plain", "consensus")
        if line.startswith(f"{kind} ") and "±" in line
    }
    assert len(moves["plain"]) == len(moves["consensus"]) == 3  # distance, churn, flips
    is_worse = any(ours > theirs for ours, theirs in zip(moves["consensus"], moves["plain"], strict=True))
    assert ("The plain tree changes less here" in said) == is_worse


def test_the_demo_leaves_a_run_and_a_picture(demo: tuple[int, Result, Path]) -> None:
    folder = demo[2]
    assert sorted(path.name for path in folder.iterdir()) == [
        "collections",
        "frontier.csv",
        "model.json",
        "report.html",
        "report.json",
        "summary.json",
        "tree.svg",
    ]
    assert load_model(folder / "model.json").depth <= 5
    assert json.loads((folder / "summary.json").read_text())["division"]["test_rows"] > 100
    assert ElementTree.parse(folder / "tree.svg").getroot().tag.endswith("svg")


TRAINING = ("gone.csv", "--target", "y")
APPLYING = ("gone.csv", "rows.csv")


WITHOUT_A_FILE = [
    *((verb, *TRAINING) for verb in ("fit", "compare", "audit")),
    ("stages", *TRAINING, "--stage", "year"),
    ("update", *APPLYING, "-o", "updated"),
    *((verb, *APPLYING) for verb in ("predict", "explain")),
]


def test_a_file_that_is_not_there_is_refused_before_anything_slow_is_loaded(tmp_path: Path) -> None:
    script = f"""
import sys
from holdfast.cli.start import run
for arguments in {WITHOUT_A_FILE}:
    sys.argv = ["holdfast", *arguments]
    try:
        run()
    except SystemExit:
        print(arguments[0], [name for name in ("sklearn", "numba", "matplotlib") if name in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=tmp_path)
    said = "Error: Cannot use 'gone.csv': No such file or directory.\n"
    assert done.stderr == said * len(WITHOUT_A_FILE)
    assert done.stdout.splitlines() == [f"{verb} []" for verb, *_ in WITHOUT_A_FILE]
