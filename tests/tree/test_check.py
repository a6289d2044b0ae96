from dataclasses import replace

import numpy as np
import pytest

from holdfast.data.schema import Feature, Schema, Target
from holdfast.errors import BrokenTreeError
from holdfast.tree.check import check_schema, check_tree
from holdfast.tree.tree import Tree

AGE = Feature("age", low=18.0, high=90.0)
STAGE = Feature("stage", "ordered", high=2.0, categories=("early", "middle", "late"))
SITE = Feature("site", "nominal", categories=("colon", "lung", "skin"))
QUESTION = Feature("age ** 2 < 900", "question", categories=(False, True))
SCHEMA = Schema((AGE, STAGE, SITE, QUESTION), Target("outcome", classes=("died", "lived")))


def tree_of_four_questions() -> Tree:
    """0 asks age; 1 asks site; 2, 3 are its leaves; 4 asks the question; 5 asks stage; 6, 7, 8 are leaves."""
    nan = np.nan
    return Tree(
        schema=SCHEMA,
        feature=np.array([0, 2, -1, -1, 3, 1, -1, -1, -1], np.int32),
        threshold=np.array([50.5, nan, nan, nan, nan, 0.5, nan, nan, nan]),
        left=np.array([1, 2, -1, -1, 5, 6, -1, -1, -1], np.int32),
        right=np.array([4, 3, -1, -1, 8, 7, -1, -1, -1], np.int32),
        missing_left=np.array([True, False, False, False, False, True, False, False, False]),
        set_start=np.array([-1, 0, -1, -1, 3, -1, -1, -1, -1], np.int64),
        in_set=np.array([True, False, True, False, True]),
        value=np.repeat([[0.25, 0.75]], 9, axis=0),
        count=np.array([10, 4, 1, 3, 6, 5, 2, 3, 1], np.float64),
        weight=np.array([10, 4, 1, 3, 6, 5, 2, 3, 1], np.float64),
        impurity=np.zeros(9),
    )


def with_entry(name: str, place: int | tuple[int, int], entry: float) -> Tree:
    """The tree with one number of one array changed."""
    tree = tree_of_four_questions()
    array = getattr(tree, name).copy()
    array[place] = entry
    return tree.replace(**{name: array})


def chain(n_splits: int) -> Tree:
    """A tree whose every right child is a leaf: the deepest shape there is."""
    n_nodes = 2 * n_splits + 1
    split = np.arange(n_nodes) < n_splits
    nodes = np.arange(n_nodes, dtype=np.int32)
    weight = np.where(split, n_splits + 1 - nodes, 1.0)
    return Tree(
        schema=Schema((AGE,), Target("cost")),
        feature=np.where(split, 0, -1).astype(np.int32),
        threshold=np.where(split, 50.0, np.nan),
        left=np.where(split, nodes + 1, -1).astype(np.int32),
        right=np.where(split, n_nodes - 1 - nodes, -1).astype(np.int32),
        missing_left=split,
        set_start=np.full(n_nodes, -1, np.int64),
        in_set=np.zeros(0, np.bool_),
        value=weight[:, None],
        count=weight,
        weight=weight,
        impurity=np.zeros(n_nodes),
    )


def test_a_sound_tree_passes() -> None:
    check_tree(tree_of_four_questions())
    check_tree(chain(0))
    check_tree(chain(50_000))


@pytest.mark.parametrize(
    ("name", "place", "entry", "message"),
    [
        ("feature", 0, 4, r"feature\[0\] is 4: the schema has 4 features"),
        ("feature", 3, -2, r"feature\[3\] is -2: the schema has 4 features"),
        ("feature", 2, 0, "feature ends after 9 nodes: 2 subtrees are missing"),
        ("feature", 4, -1, "feature has 9 nodes: the tree is complete after node 4"),
        ("feature", 0, -1, "feature has 9 nodes: the tree is complete after node 0"),
        ("left", 0, 0, r"left\[0\] is 0, not 1: nodes are in preorder"),
        ("left", 4, 8, r"left\[4\] is 8, not 5"),
        ("left", 2, 3, r"left\[2\] is 3, not -1"),
        ("right", 0, 0, r"right\[0\] is 0, not 4: nodes are in preorder"),
        ("right", 5, 8, r"right\[5\] is 8, not 7"),
        ("right", 1, 1_000_000, r"right\[1\] is 1000000, not 3"),
        ("right", 8, 0, r"right\[8\] is 0, not -1"),
        ("threshold", 0, np.nan, r"threshold\[0\] is nan: it must be finite"),
        ("threshold", 5, np.inf, r"threshold\[5\] is inf: it must be finite"),
        ("threshold", 1, 0.5, r"threshold\[1\] is 0.5: it must be NaN"),
        ("threshold", 8, 0.5, r"threshold\[8\] is 0.5: it must be NaN"),
        ("set_start", 1, 1, r"set_start\[1\] is 1, not 0"),
        ("set_start", 4, 2, r"set_start\[4\] is 2, not 3"),
        ("set_start", 4, -1, r"set_start\[4\] is -1, not 3"),
        ("set_start", 0, 0, r"set_start\[0\] is 0, not -1"),
        ("value", (2, 0), np.nan, r"value\[2\] is .*: every number must be finite"),
        ("value", (2, 0), -0.25, r"value\[2\] is .*: fractions of classes are not negative"),
        ("value", (2, 0), 0.26, r"value\[2\] is .*: fractions of classes sum to 1"),
        ("count", 3, np.inf, r"count\[3\] is inf: it must be finite"),
        ("count", 3, -1, r"count\[3\] is -1.0: it must be finite and not negative"),
        ("weight", 3, np.nan, r"weight\[3\] is nan"),
        ("weight", 4, 6.1, r"weight\[0\] is 10.0, not 10.1: it is the sum of the children's weights"),
        ("impurity", 7, -0.5, r"impurity\[7\] is -0.5"),
        ("impurity", 7, np.nan, r"impurity\[7\] is nan"),
    ],
)
def test_one_wrong_number_is_named_with_its_array_and_node(
    name: str, place: int | tuple[int, int], entry: float, message: str
) -> None:
    with pytest.raises(BrokenTreeError, match=message):
        check_tree(with_entry(name, place, entry))


def test_children_that_cross_are_no_preorder() -> None:
    # Every node has one parent and no cycle exists, yet the subtree of 1 is {1, 2, 4}: not a range.
    tree = chain(2).replace(right=np.array([3, 4, -1, -1, -1], np.int32))
    with pytest.raises(BrokenTreeError, match=r"right\[0\] is 3, not 4"):
        check_tree(tree)


def test_rounding_of_weights_shares_and_impurities_is_accepted() -> None:
    check_tree(with_entry("weight", 0, 10 * (1 + 5e-7)))
    check_tree(with_entry("value", (0, 0), 0.25 + 5e-7))
    check_tree(with_entry("impurity", 2, -1e-12))


def test_weights_too_large_to_be_summed_are_refused() -> None:
    weight = np.full(9, 1.7e308)
    with pytest.raises(BrokenTreeError, match=r"weight\[0\] is 1.7e\+308, not inf"):
        check_tree(tree_of_four_questions().replace(weight=weight))


@pytest.mark.parametrize(
    "name",
    ["threshold", "left", "right", "missing_left", "set_start", "value", "count", "weight", "impurity"],
)
def test_arrays_of_other_lengths_are_refused(name: str) -> None:
    tree = tree_of_four_questions()
    with pytest.raises(BrokenTreeError, match=f"{name} has 8 nodes and feature has 9"):
        check_tree(tree.replace(**{name: getattr(tree, name)[:-1]}))


def test_a_tree_without_nodes_is_refused() -> None:
    tree = chain(0)
    names = ("feature", "threshold", "left", "right", "missing_left", "set_start", "value", "count", "weight")
    empty = {name: getattr(tree, name)[:0] for name in (*names, "impurity")}
    with pytest.raises(BrokenTreeError, match="at least one node"):
        check_tree(tree.replace(**empty))


@pytest.mark.parametrize("flags", [4, 6])
def test_the_flags_of_all_sets_fill_in_set(flags: int) -> None:
    with pytest.raises(BrokenTreeError, match=f"in_set has {flags} flags: the nodes' sets need 5"):
        check_tree(tree_of_four_questions().replace(in_set=np.zeros(flags, np.bool_)))


@pytest.mark.parametrize(
    ("name", "array", "message"),
    [
        ("feature", np.zeros(9, np.int64), "feature holds int64: it must be an array of int32"),
        ("threshold", np.zeros(9, np.float32), "threshold holds float32"),
        ("in_set", np.zeros(5, np.uint8), "in_set holds uint8"),
        ("left", [1, 2, 3], "left holds list"),
        ("value", np.zeros(9), "value has 1 dimensions: it must have 2"),
        ("count", np.zeros((9, 1)), "count has 2 dimensions"),
        ("value", np.ones((9, 1)), "value has 1 columns: the target needs 2"),
    ],
)
def test_arrays_of_other_types_and_shapes_are_refused(name: str, array: object, message: str) -> None:
    with pytest.raises(BrokenTreeError, match=message):
        check_tree(tree_of_four_questions().replace(**{name: array}))


@pytest.mark.parametrize(
    ("feature", "message"),
    [
        (Feature("stage"), r"schema.features\[1\] is 'stage', which equals the earlier 'stage'"),
        (Feature("a", low=2.0, high=1.0), r"features\[0\] \('a'\): low is 2.0 and high is 1.0"),
        (Feature("a", low=np.nan), "low is nan: a range has finite ends"),
        (Feature("a", high=np.inf), "high is inf: a range has finite ends"),
        (Feature("a", "round"), r"features\[0\].kind is 'round'"),  # type: ignore[arg-type]
        (Feature("a", categories=("b",)), "the feature is numeric and has none"),
        (
            Feature("a", "nominal", categories=("b", "b")),
            r"categories\[1\] is 'b', which equals the earlier 'b'",
        ),
        (
            Feature("a", "nominal", categories=(1, True)),
            r"categories\[1\] is True, which equals the earlier 1",
        ),
        (Feature("a", "nominal", categories=(np.nan,)), r"categories\[0\] is nan: a number must be finite"),
        (Feature("a", "nominal", categories=(2**63,)), "must be finite and fit 64 bits"),
        (Feature("a", "nominal", categories=(10**400,)), "must be finite and fit 64 bits"),
        (Feature("a", "nominal", categories=(np.float64(1),)), r"categories\[0\] is a float64"),
        (Feature("a", "nominal", categories=(None,)), r"categories\[0\] is a NoneType"),  # type: ignore[arg-type]
        (Feature("a", "nominal", categories=("\ud800",)), "half of a surrogate pair"),
        (Feature("\ud800"), "half of a surrogate pair"),
        (Feature(3), r"features\[0\].name is 3: it must be text"),  # type: ignore[arg-type]
        (Feature("late < 3", "question", categories=(True, False)), r"a custom feature has \(False, True\)"),
        (Feature("late < 3", "question", categories=(0, 1)), r"a custom feature has \(False, True\)"),
        (Feature("late < 3", "question", categories=(False, True)), "custom features come last"),
    ],
)
def test_a_feature_that_is_no_scale_is_refused(feature: Feature, message: str) -> None:
    with pytest.raises(BrokenTreeError, match=message):
        check_schema(Schema((feature, STAGE), SCHEMA.target))


@pytest.mark.parametrize(
    ("target", "message"),
    [
        (Target(classes=("no", "yes", "no")), r"schema.target.classes\[2\] is 'no'"),
        (Target(classes=(0, False)), r"schema.target.classes\[1\] is False"),
        (Target(low=1.0, high=0.0), "schema.target: low is 1.0 and high is 0.0"),
        (Target(name=None), "schema.target.name is None"),  # type: ignore[arg-type]
    ],
)
def test_a_target_that_is_no_scale_is_refused(target: Target, message: str) -> None:
    with pytest.raises(BrokenTreeError, match=message):
        check_schema(Schema((AGE,), target))


def test_a_question_that_cannot_be_asked_is_refused() -> None:
    stranger = Feature("bmi ** 2 < 900", "question", categories=(False, True))
    with pytest.raises(
        BrokenTreeError, match=r"schema.features\[1\] is no custom feature: .*'bmi'.* is not a column"
    ):
        check_schema(Schema((AGE, stranger)))
    code = Feature("__import__('os').system('true')", "question", categories=(False, True))
    with pytest.raises(BrokenTreeError, match=r"schema.features\[1\] is no custom feature"):
        check_schema(Schema((AGE, code)))


def test_a_nominal_column_that_was_always_missing_may_stay_but_not_be_asked() -> None:
    empty = replace(SITE, categories=())
    check_tree(chain(0).replace(schema=Schema((empty,), Target("cost"))))
    asked = tree_of_four_questions().replace(schema=replace(SCHEMA, features=(AGE, STAGE, empty, QUESTION)))
    with pytest.raises(BrokenTreeError, match=r"feature\[1\] is 2: it has no categories"):
        check_tree(asked)


def test_notes_and_criterion_are_text() -> None:
    with pytest.raises(BrokenTreeError, match=r"notes\[1\] is 7"):
        check_tree(tree_of_four_questions().replace(notes=("fine", 7)))
    with pytest.raises(BrokenTreeError, match="criterion is None"):
        check_tree(tree_of_four_questions().replace(criterion=None))
