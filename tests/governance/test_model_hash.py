"""A model and its file have one hash, by which the file is found again."""

import warnings
from pathlib import Path

import numpy as np
import pytest

from holdfast import ForestClassifier, Table, TreeClassifier, grow, save
from holdfast.errors import ModelFileError
from holdfast.governance import find_model, model_hash
from holdfast.governance.register import data_fingerprint
from holdfast.io.model_file import save_trees

X = np.array([[1.0, 5.0], [2.0, 5.5], [3.0, 6.0], [4.0, 7.0], [5.0, 8.0], [6.0, 8.5]])
Y = np.array(["no", "no", "yes", "no", "yes", "yes"])
TREE = grow(Table.from_arrays(X, Y))


@pytest.mark.parametrize(
    "model",
    [TREE, TreeClassifier(max_depth=2).fit(X, Y), ForestClassifier(n_estimators=3).fit(X, Y)],
    ids=["tree", "estimator", "forest"],
)
def test_a_model_and_its_file_have_one_hash(model: object, tmp_path: Path) -> None:
    save(model, tmp_path / "model.json")
    assert (
        model_hash(model) == model_hash(tmp_path / "model.json") == model_hash(str(tmp_path / "model.json"))
    )


def test_line_ends_change_no_hash_and_content_does(tmp_path: Path) -> None:
    save(TREE, tmp_path / "model.json")
    text = (tmp_path / "model.json").read_bytes()
    (tmp_path / "windows.json").write_bytes(text.replace(b"\n", b"\r\n"))
    assert model_hash(tmp_path / "windows.json") == model_hash(TREE)
    assert model_hash(TREE.replace(count=TREE.count + 1)) != model_hash(TREE)
    (tmp_path / "edited.json").write_bytes(text.replace(b'"gini"', b'"entropy"'))
    with pytest.raises(ModelFileError, match=r"edited\.json.*checksum does not match"):
        model_hash(tmp_path / "edited.json")


def test_what_has_no_model_has_no_hash(tmp_path: Path) -> None:
    (tmp_path / "data.csv").write_text("a,b\n1,2\n")
    with pytest.raises(ModelFileError, match=r"data\.csv"):
        model_hash(tmp_path / "data.csv")
    with pytest.raises(TypeError, match="Cannot save a int"):
        model_hash(5)
    with pytest.raises(FileNotFoundError):
        model_hash(tmp_path / "none.json")


def test_a_model_is_found_by_its_hash_or_its_first_digits(tmp_path: Path) -> None:
    other = TREE.replace(count=TREE.count + 1)
    (tmp_path / "june").mkdir()
    save(TREE, tmp_path / "model.json")
    save(other, tmp_path / "june" / "model.json")
    save_trees([TREE, other], tmp_path / "collection.json")
    (tmp_path / "facts.json").write_text("{}")
    assert find_model(model_hash(other), tmp_path) == tmp_path / "june" / "model.json"
    assert find_model(model_hash(TREE)[7:15].upper(), tmp_path) == tmp_path / "model.json"
    assert find_model(model_hash(tmp_path / "collection.json"), tmp_path) == tmp_path / "collection.json"
    with pytest.raises(ModelFileError, match="No file in"):
        find_model("0" * 64, tmp_path)
    with pytest.raises(ModelFileError, match="'12' is not a hash"):
        find_model("12", tmp_path)
    with pytest.raises(ModelFileError, match="is not a folder"):
        find_model(model_hash(TREE), tmp_path / "model.json")


# -- rows -------------------------------------------------------------------------------------------------


def rows(**more: object) -> Table:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        features = [[1.0, "a"], [2.0, "b"], [2.0, None], [-0.0, "b"]]
        return Table.from_arrays(features, ["no", "yes", "no", "no"], **more)  # type: ignore[arg-type]


def test_the_order_of_rows_and_a_wider_schema_change_no_fingerprint() -> None:
    table = rows()
    wide = table.schema.widen(rows().schema)
    assert data_fingerprint(table.subset(np.array([3, 1, 0, 2]))) == data_fingerprint(table)
    assert data_fingerprint(Table(wide, table.columns, table.target)) == data_fingerprint(table)


def test_the_order_of_columns_changes_no_fingerprint() -> None:
    import pandas as pd

    frame = pd.DataFrame({"age": [1.0, 2.0], "ward": ["a", "b"], "outcome": ["no", "yes"]})
    turned = frame[["ward", "outcome", "age"]]
    assert data_fingerprint(Table.from_frame(frame)) == data_fingerprint(Table.from_frame(turned))


def test_every_cell_every_class_and_every_weight_counts() -> None:
    table = rows()
    others = [
        rows(sample_weight=[1.0, 1.0, 1.0, 2.0]),
        rows(target="died"),
        table.subset(np.array([0, 1, 2])),
    ]
    others.append(table.subset(np.array([0, 1, 2, 3, 3])))
    for place in range(4):
        for column in range(2):
            changed = [each.copy() for each in table.columns]
            changed[column][place] = 1.0 - changed[column][place] if column else 7.0
            others.append(Table(table.schema, tuple(changed), table.target))
        target = table.target.copy()
        target[place] = 1 - target[place]
        others.append(Table(table.schema, table.columns, target))
    prints = [data_fingerprint(other) for other in others]
    same = prints.count(data_fingerprint(table))
    assert same == 1  # 1 - NaN is missing still
