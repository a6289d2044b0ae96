"""Memory and work in proportion to the file: a few bytes cannot ask for much."""

import json
import tracemalloc
from collections.abc import Callable
from typing import Any

import msgspec
import numpy as np
import pytest

from holdfast.data.schema import Feature, Schema, Target
from holdfast.errors import BrokenTreeError, ModelFileError
from holdfast.io import content as file_content
from holdfast.io import document
from holdfast.io.model_file import model_from_json, model_to_json
from holdfast.tree import check
from holdfast.tree.ensemble import Ensemble
from reference.trees import AGE, SURVIVED, leaf, split, tree_of

STUMP = tree_of(split("age", 50.0, leaf(3, 1.0, 0.0), leaf(2, 0.0, 1.0)), (AGE,), SURVIVED)
TEXT = model_to_json(STUMP).decode()


def peak_of(action: Callable[[], object]) -> int:
    """Bytes that Python and numpy held at most."""
    tracemalloc.start()
    try:
        action()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def refused(data: str, message: str) -> Callable[[], None]:
    def load() -> None:
        with pytest.raises(ModelFileError, match=message):
            model_from_json(data.encode(), edited=True)

    return load


# -- arrays -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("edited", [True, False])
@pytest.mark.parametrize(
    "name", ["feature", "threshold", "missing_left", "categories_left", "weight", "value"]
)
def test_an_array_that_is_longer_than_the_others_is_refused_unread(name: str, edited: bool) -> None:
    content = json.loads(TEXT)
    entry = content["nodes"][name][0]
    content["nodes"][name] = 400_000 * [entry]
    data = json.dumps(content).encode()

    def load() -> None:
        with pytest.raises(ModelFileError, match=r"at nodes: .* has 400000 nodes|feature has 400000"):
            model_from_json(data, edited=edited)

    assert peak_of(load) < 4 * len(data) + 2**20


def test_a_row_of_zeros_without_end_is_refused_unread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(document, "LONGEST_ENTRY", 2**16)
    monkeypatch.setattr(document, "PIECE", 2**16)
    data = TEXT.replace('"value": [[', '"value": [[' + 500_000 * "0,")
    assert peak_of(refused(data, "nodes.value: an entry takes")) < 4 * len(data)


def test_millions_of_empty_lists_are_refused_unread() -> None:
    data = TEXT.replace('"value": [[', '"value": [' + 300_000 * "[]," + "[")
    assert peak_of(refused(data, "value has 300003 nodes and feature has 3")) < 4 * len(data)


def test_rows_without_numbers_cannot_ask_for_the_room_of_many_classes() -> None:
    content = json.loads(TEXT)
    content["schema"]["target"]["classes"] = [f"class {i}" for i in range(30_000)]
    content["schema"]["target"]["positive"] = "class 0"
    content["nodes"]["value"] = [[], [], []]
    data = json.dumps(content)
    assert peak_of(refused(data, "value has too few numbers: 3 nodes need 30000 each")) < 20 * len(data)


def test_arrays_read_in_pieces_are_the_arrays(monkeypatch: pytest.MonkeyPatch) -> None:
    dice = np.random.default_rng(0)
    lists: list[Any] = [None if dice.random() < 0.3 else list(range(dice.integers(0, 5))) for _ in range(200)]
    numbers = [None if dice.random() < 0.2 else float(each) for each in dice.normal(size=300)]
    for piece in (1, 7, 100, 10**6):
        monkeypatch.setattr(document, "PIECE", piece)
        for form, entries in ((document.GAPPED_LISTS, lists), (document.GAPPED_NUMBERS, numbers)):
            for text in (
                json.dumps(entries),
                json.dumps(entries, indent=3),
                json.dumps(entries).replace(" ", ""),
            ):
                raw = msgspec.Raw(text.encode())
                found = [entry for some in document.read_pieces(raw, form, "here") for entry in some]
                assert found == entries
                assert document.count_entries(raw, form) == len(entries)


def test_the_place_of_a_wrong_entry_counts_all_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(document, "PIECE", 10)
    raw = msgspec.Raw(json.dumps([*range(50), "x", 1]).encode())
    with pytest.raises(ModelFileError, match=r"at here\[50\]: Expected `int`, got `str`"):
        list(document.read_pieces(raw, document.INDICES, "here"))


# -- numbers of things --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda content: content.update(notes=4000 * ["a"]), "texts, too many for its"),
        (
            lambda content: content["schema"]["features"][0].update(
                kind="nominal", categories=[*range(4000)]
            ),
            "it holds 4002 categories and classes, too many",
        ),
    ],
)
def test_more_things_than_bytes_can_pay_for_are_refused(
    change: Callable[[dict[str, Any]], None], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_content, "LEAST", 0)
    content = json.loads(TEXT)
    change(content)
    with pytest.raises(ModelFileError, match=message):
        model_from_json(json.dumps(content).encode(), edited=True)


def test_trees_of_one_leaf_without_end_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    lone = tree_of(leaf(1, 0.5, 0.5), (AGE,), SURVIVED)
    many = Ensemble(lone.schema, 500 * (lone,), np.ones(500), np.zeros(500), [0.0, 0.0], "mean")
    data = model_to_json(many)
    assert len(model_from_json(data)) == 500
    monkeypatch.setattr(file_content, "LEAST", 0)
    with pytest.raises(ModelFileError, match="it holds 500 trees, too many for its"):
        model_from_json(data)


def test_what_could_not_be_loaded_is_not_saved(monkeypatch: pytest.MonkeyPatch) -> None:
    site = Feature("site", "nominal", categories=tuple(range(3000)))
    tree = tree_of(split("site", (1,), leaf(3, 1.0, 0.0), leaf(2, 0.0, 1.0)), (site,), SURVIVED)
    monkeypatch.setattr(file_content, "LEAST", 0)
    monkeypatch.setattr(file_content, "FLAGS_FACTOR", 0)
    with pytest.raises(BrokenTreeError, match="need 3000 flags"):
        model_to_json(tree)


# -- work ---------------------------------------------------------------------------------------------


def test_features_are_checked_once_however_many_trees_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    features = tuple(Feature(f"f{i}") for i in range(50))
    lone = tree_of(leaf(1, 0.5), features, Target("left over"))
    own = lone.replace(schema=Schema(features, Target("left over", low=-1.0)))
    boosted = Ensemble(
        Schema(features, SURVIVED), (lone, own, lone), np.ones(3), np.zeros(3), [0.0], "logistic"
    )
    calls = []
    checked = check._check_feature
    monkeypatch.setattr(check, "_check_feature", lambda *given: (calls.append(given), checked(*given)))
    data = model_to_json(boosted)
    assert len(calls) == 100  # of the ensemble, and of all its trees
    calls.clear()
    assert len(model_from_json(data)) == 3
    assert len(calls) == 50


# -- prediction ---------------------------------------------------------------------------------------


def test_votes_for_thousands_of_classes_take_room_in_proportion_to_file_and_rows() -> None:
    n_classes = 5_000
    target = Target("y", classes=tuple(f"c{i}" for i in range(n_classes)))
    shares = np.zeros(n_classes)
    shares[7] = 1.0
    lone = tree_of(leaf(1, *shares), (AGE,), target)
    votes = Ensemble(
        lone.schema, 3 * (lone,), np.ones(3), np.zeros(3), np.zeros(n_classes), "mean", votes=True
    )
    X = np.zeros((4_000, 1))
    votes.predict(X[:1])
    assert votes.predict(X).tolist() == 4_000 * ["c7"]
    # The scores of all rows at once would take 160 MB, and one vote for every class by every other 200 MB.
    assert peak_of(lambda: Ensemble(**vars_of(votes)).predict(X)) < 110 * 10**6


def vars_of(ensemble: Ensemble) -> dict[str, Any]:
    names = ("schema", "trees", "weights", "outputs", "start", "link", "votes", "notes")
    return {name: getattr(ensemble, name) for name in names}


def test_rows_in_blocks_have_the_same_predictions(monkeypatch: pytest.MonkeyPatch) -> None:
    from holdfast.tree import ensemble as module

    forest = Ensemble(STUMP.schema, (STUMP, STUMP), np.ones(2), np.zeros(2), [0.0, 0.0], "mean")
    X = np.linspace(0, 100, 57)[:, None]
    whole, classes = forest.values(X), forest.predict(X)
    monkeypatch.setattr(module, "NUMBERS_AT_A_TIME", 10)
    assert np.array_equal(forest.values(X), whole)
    assert np.array_equal(forest.predict(X), classes)


def test_one_long_class_does_not_make_all_as_long() -> None:
    target = Target("y", classes=("a" * 100_000, "b"))
    lone = tree_of(leaf(1, 0.0, 1.0), (AGE,), target)
    assert lone.predict(np.zeros((1000, 1))).tolist() == 1000 * ["b"]
    assert peak_of(lambda: lone.predict(np.zeros((1000, 1)))) < 10**7
