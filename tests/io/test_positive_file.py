"""The positive class and the rows of each class in a model file: optional, and checked if they are there."""

import contextlib
import json

import msgspec
import numpy as np
import pytest

from holdfast.data.schema import Schema
from holdfast.errors import ModelFileError
from holdfast.io.document import TreeDocument, checksum_of
from holdfast.io.model_file import model_from_json, model_to_json, trees_from_json, trees_to_json
from reference.trees import NUMERIC

SEEN = np.array([[72.0, 28.0], [32.0, 28.0], [30.0, 10.0], [2.0, 18.0], [40.0, 0.0]])
VALUE = np.array([[0.7, 0.3], [0.6, 0.4], [0.7, 0.3], [0.2, 0.8], [0.9, 0.1]])
SAID = NUMERIC.replace(
    schema=Schema(NUMERIC.schema.features, NUMERIC.schema.target.with_positive("no")),
    value=VALUE,
    observed=SEEN,
)


def edited(part, **changes):
    """The file with something else in it, and a checksum that fits as far as there can be one."""
    document = json.loads(model_to_json(SAID))
    (document["schema"]["target"] if part == "target" else document[part]).update(changes)
    with contextlib.suppress(msgspec.DecodeError, ModelFileError):
        document["checksum"] = checksum_of(msgspec.json.decode(json.dumps(document), type=TreeDocument))
    return json.dumps(document).encode()


def test_both_come_back() -> None:
    again = model_from_json(model_to_json(SAID))
    assert model_from_json(edited("nodes", observed=SEEN.tolist())).observed.tolist() == SEEN.tolist()
    assert again.schema.target.positive == "no"
    assert again.observed.tolist() == SEEN.tolist()


def test_an_old_file_without_a_positive_class_gets_the_rarer_one_once() -> None:
    document = json.loads(model_to_json(NUMERIC))
    del document["schema"]["target"]["positive"]
    assert "observed" not in document["nodes"]
    again = model_from_json(json.dumps(document).encode(), edited=True)
    assert again.observed is None
    assert again.schema.target.positive == "yes"  # 28 of 100
    assert json.loads(model_to_json(again))["schema"]["target"]["positive"] == "yes"


def test_the_trees_of_an_old_file_share_one_positive_class() -> None:
    mostly_yes = NUMERIC.replace(value=NUMERIC.value[:, ::-1])
    document = json.loads(trees_to_json([NUMERIC, mostly_yes]))
    del document["schema"]["target"]["positive"]
    again = trees_from_json(json.dumps(document).encode(), edited=True)
    assert [tree.schema.target.positive for tree in again] == ["yes", "yes"]


@pytest.mark.parametrize("positive", ["perhaps", 1, True, ["no"]])
def test_another_class_in_a_file_is_refused(positive) -> None:
    with pytest.raises(ModelFileError, match="positive"):
        model_from_json(edited("target", positive=positive))


@pytest.mark.parametrize(
    "observed",
    [[], [[1.0]], [[72.0, 28.0]] * 5, [[-1.0, 101.0], *SEEN[1:].tolist()], "many", None, [[None, 1.0]] * 5],
)
def test_other_rows_in_a_file_are_refused(observed) -> None:
    with pytest.raises(ModelFileError, match="observed"):
        model_from_json(edited("nodes", observed=observed))
