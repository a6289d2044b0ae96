import narwhals as nw
import numpy as np
import pytest

from holdfast.data.schema import Feature, Target
from holdfast.errors import DataError
from holdfast.tree import frame
from holdfast.tree.frame import BACKENDS, node_columns, node_frame
from holdfast.tree.stats import class_counts
from reference.trees import (
    AGE,
    FARE_KNOWN,
    FORTY_LEAVES,
    LONE_LEAF,
    NUMERIC,
    PRICE,
    SPECIES,
    SURVIVED,
    leaf,
    split,
    tree_of,
)


def cells(native):
    """The frame as plain lists, with None for every kind of missing entry."""
    columns = nw.from_native(native).to_dict(as_series=False)
    return {name: [None if cell != cell else cell for cell in column] for name, column in columns.items()}


def test_every_node_has_its_place_and_its_question():
    columns = node_columns(NUMERIC)
    assert columns["node"] == [0, 1, 2, 3, 4]
    assert columns["depth"] == [0, 1, 2, 2, 1]
    assert columns["parent"] == [-1, 0, 1, 1, 0]
    assert columns["left"] == [1, 2, -1, -1, -1]
    assert columns["right"] == [4, 3, -1, -1, -1]
    assert columns["split"] == ["age <= 50", "age <= 30", None, None, None]
    assert columns["condition"] == [None, "age <= 50", "age <= 30", "age > 30", "age > 50"]
    assert columns["missing_goes"] == ["right", "left", None, None, None]


def test_questions_and_conditions_name_every_category():
    ward = Feature("ward", "nominal", categories=tuple(f"w{number}" for number in range(100)))
    tree = tree_of(
        split("ward", ward.categories[:30], leaf(1, 1.0, 0.0), leaf(1, 0.0, 1.0)), (ward,), SURVIVED
    )
    columns = node_columns(tree)
    assert columns["split"][0] == columns["condition"][1] == f"ward in {{{', '.join(ward.categories[:30])}}}"
    assert columns["condition"][2] == f"ward in {{{', '.join(ward.categories[30:])}}}"


def test_every_node_has_its_outcome_and_its_rows():
    columns = node_columns(NUMERIC)
    assert columns["outcome"] == ["no", "no", "no", "yes", "no"]
    assert columns["p(yes)"] == pytest.approx([0.28, 28 / 60, 0.25, 0.9, 0.0])
    assert columns["rows"] == [100, 60, 40, 20, 40]
    assert columns["observed(yes)"] == columns["p(yes)"]
    taught = NUMERIC.replace(observed=class_counts(NUMERIC), value=np.full((5, 2), 0.5))
    assert node_columns(taught)["p(yes)"] == [0.5] * 5
    assert node_columns(taught)["observed(yes)"] == pytest.approx(columns["p(yes)"])
    assert columns["fraction"] == [1.0, 0.6, 0.4, 0.2, 0.4]


def test_gain_is_the_weighted_decrease_of_impurity():
    columns = node_columns(NUMERIC)
    # gini: 0.4032 at the root; 0.497778 and 0 below it; 0.375 and 0.18 below that
    first = 0.4032 - 0.6 * (1 - (32 / 60) ** 2 - (28 / 60) ** 2)
    second = 0.6 * (1 - (32 / 60) ** 2 - (28 / 60) ** 2) - 0.4 * 0.375 - 0.2 * 0.18
    assert columns["gain"][:2] == pytest.approx([first, second])
    assert columns["gain"][2:] == [None, None, None]


def test_a_regression_tree_has_means_and_no_probabilities():
    columns = node_columns(PRICE)
    assert columns["outcome"] == pytest.approx([25.029134, 20.0364175, 22.6, 12.34567, 45.0])
    assert not [name for name in columns if name.startswith("p(")]


def test_shares_of_the_leaves_sum_to_one():
    columns = node_columns(FORTY_LEAVES)
    leaves = [
        share for share, question in zip(columns["fraction"], columns["split"], strict=True) if not question
    ]
    assert len(leaves) == 40
    assert sum(leaves) == pytest.approx(1.0)


@pytest.mark.parametrize("tree", [NUMERIC, FARE_KNOWN, SPECIES, PRICE, LONE_LEAF, FORTY_LEAVES])
def test_all_backends_hold_the_same_table(tree):
    tables = [cells(node_frame(tree, backend)) for backend in BACKENDS]
    assert tables[0] == tables[1] == tables[2] == node_columns(tree)


@pytest.mark.parametrize("backend", BACKENDS)
def test_the_types_do_not_depend_on_the_tree(backend):
    lone, large = (nw.from_native(node_frame(tree, backend)).schema for tree in (LONE_LEAF, NUMERIC))
    assert lone == large


@pytest.mark.parametrize(
    ("classes", "outcome"), [((0, 1), 1), ((0.5, 1.5), 1.5), ((False, True), True), ((1, "one"), "one")]
)
def test_outcomes_keep_the_type_of_the_classes(classes, outcome):
    tree = tree_of(leaf(10, 0.2, 0.8), (AGE,), Target("y", classes=classes))
    assert cells(node_frame(tree, "polars"))["outcome"] == [outcome]


def test_classes_that_read_alike_have_a_column_each():
    tree = tree_of(leaf(10, 0.2, 0.8), (AGE,), Target("y", classes=(1, "1")))
    assert node_columns(tree)["p(1)"] == [0.2]
    assert node_columns(tree)["p('1')"] == [0.8]


def test_the_first_installed_backend_is_taken(monkeypatch):
    monkeypatch.setattr(frame, "find_spec", lambda name: None if name == "pandas" else name)
    assert type(NUMERIC.to_frame()).__module__.startswith("polars")


def test_without_any_backend_the_message_names_what_to_install(monkeypatch):
    monkeypatch.setattr(frame, "find_spec", lambda name: None)
    with pytest.raises(
        ImportError, match=r"pandas or polars or pyarrow is not installed.*pip install pandas"
    ):
        node_frame(NUMERIC)


def test_an_unknown_backend_is_refused_by_name():
    with pytest.raises(DataError, match=r"'excel'.*pandas, polars, pyarrow"):
        node_frame(NUMERIC, "excel")
