"""`holdfast model-card init`, and a model card on its way from a fit to the page of an update."""

import json
import random
from pathlib import Path

from command_line import holdfast, refusal

from holdfast import ModelCard


def test_a_template_is_written_once_and_never_over_what_is_there(tmp_path: Path) -> None:
    path = tmp_path / "model-card.toml"
    result = holdfast("model-card", "init", "-o", path)
    assert result.exit_code == 0, result.output
    assert ModelCard.load(path).owner == "Clinic for Metabolism"
    assert "may contain your words: give another name" in refusal(holdfast("model-card", "init", "-o", path))
    assert holdfast("model-card", "init", "-o", "-").output == path.read_text(encoding="utf-8")


def rows(path: Path, seed: int) -> Path:
    draw = random.Random(seed)
    lines = ["age,ward,sex,outcome"]
    for _ in range(160):
        age = draw.randint(20, 90)
        died = (age > 55) != (draw.random() < 0.2)
        lines.append(f"{age},{draw.choice('AB')},{draw.choice('fm')},{'died' if died else 'lived'}")
    path.write_text("\n".join(lines) + "\n")
    return path


def test_what_a_fit_is_told_stands_on_the_page_of_its_update_with_a_population_that_is_known(
    tmp_path: Path,
) -> None:
    first, later = rows(tmp_path / "a.csv", 1), rows(tmp_path / "b.csv", 2)
    (tmp_path / "model-card.toml").write_text(
        'owner = "Ward 5"\nsubgroups = ["sex"]\nmin_subgroup_rows = 10\n'
    )
    options = ("--target", "outcome", "--drop", "sex", "--max-depth", "2", "--n-estimators", "10")
    options += ("--teacher", "linear", "--model-card", tmp_path / "model-card.toml", "-o", tmp_path / "run")
    result = holdfast("fit", first, *options)
    assert result.exit_code == 0, result.output
    result = holdfast("update", tmp_path / "run", later, "-o", tmp_path / "run2", "--why", "a new year")
    assert result.exit_code == 0, result.output
    page = json.loads((tmp_path / "run2" / "report.json").read_text(encoding="utf-8"))["sections"]
    assert ["Owner", "Ward 5"] in page["use"]["tables"][0]["rows"]
    periods, columns = (table["rows"] for table in page["data"]["tables"])
    assert periods[1][1].startswith("160 ")
    assert [row[2] == "unknown" for row in columns] == [False, False]
    # A column that is no feature makes subgroups all the same.
    assert [row[0] for row in page["performance"]["tables"][0]["rows"]] == ["all rows", "sex = f", "sex = m"]
