import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

import holdfast
from holdfast import DensityTree, ForestClassifier, TreeClassifier, export, exports
from holdfast.errors import ExportError
from holdfast.exports import formats, sklearn

X = np.arange(40.0)[:, None]
Y = np.where(X[:, 0] < 17, "low", "high")
MODEL = TreeClassifier().fit(X, Y)


@pytest.mark.parametrize("model", [MODEL, MODEL.tree_, ForestClassifier(3, random_state=0).fit(X, Y)])
def test_a_model_is_exported_by_the_name_of_the_format(model: object) -> None:
    assert export(model, "sklearn").predict(X).tolist() == Y.tolist()


def test_the_function_and_the_folder_of_one_name_do_not_hide_each_other() -> None:
    assert holdfast.export is export
    assert exports.to_sklearn is sklearn.to_sklearn
    assert isinstance(export(MODEL, to="sklearn"), DecisionTreeClassifier)


def test_an_unknown_format_is_refused_with_those_there_are() -> None:
    with pytest.raises(ExportError, match="There is no format 'fortran': choose one of sklearn"):
        export(MODEL, "fortran")


def test_an_object_is_not_written_to_a_file(tmp_path) -> None:
    with pytest.raises(ExportError, match="'sklearn' is an object, not a file"):
        export(MODEL, "sklearn", tmp_path / "model.bin")
    assert not (tmp_path / "model.bin").exists()


def test_bytes_are_written_to_a_file_or_come_back(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(formats.FORMATS, "text", ("sklearn", "as_text"))
    monkeypatch.setattr(
        sklearn, "as_text", lambda model, ending="": f"{model}{ending}".encode(), raising=False
    )
    assert export("a model", "text") == b"a model"
    assert export("a model", "text", tmp_path / "model.txt", verify=False, ending="!") is None
    assert (tmp_path / "model.txt").read_bytes() == b"a model!"


def test_a_model_that_is_not_fitted_is_refused() -> None:
    with pytest.raises(TypeError, match="Cannot export a TreeClassifier"):
        export(TreeClassifier(), "sklearn")


def test_every_format_has_its_function() -> None:
    from importlib import import_module

    for file, function in formats.FORMATS.values():
        assert callable(getattr(import_module(f"holdfast.exports.{file}"), function))


def test_the_tree_of_clusters_is_a_tree_like_any_other() -> None:
    model = DensityTree().fit(np.concatenate([X, X + 1000]))
    assert export(model, "sklearn").predict(X).tolist() == model.predict(X).tolist()


def test_the_command_offers_every_format_that_is_a_file() -> None:
    from holdfast._choices import EXPORT_ENDINGS
    from holdfast.exports.formats import FORMATS, OBJECTS

    assert set(EXPORT_ENDINGS) == set(FORMATS) - set(OBJECTS)
