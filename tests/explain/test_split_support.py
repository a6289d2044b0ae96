"""SplitSupports of hand-made trees, and of random ones against a walk that asks one tree at a time."""

from collections.abc import Iterator
from random import Random

import pytest

from holdfast.data.schema import Schema
from holdfast.errors import SchemaMismatch
from holdfast.explain.split_support import SplitSupport, split_support
from holdfast.tree.rules_text import branch_text
from holdfast.tree.tree import KNOWN, LEAF, Tree
from reference.random_trees import FEATURES, OUTCOMES, QUESTION, STAY, grown_trees, random_tree
from reference.trees import AGE, FARE, HEAVY, PAIN, SEX, SLOPE, SURVIVED, Node, leaf, split, tree_of

COLUMNS = (AGE, FARE, SEX, PAIN, SLOPE, HEAVY)
NO, YES = leaf(10, 1.0, 0.0), leaf(10, 0.0, 1.0)


def made(root: Node) -> Tree:
    return tree_of(root, COLUMNS, SURVIVED)


def asking(feature: str, *answers: object) -> list[Tree]:
    """A tree of one question for each answer."""
    return [made(split(feature, answer, NO, YES)) for answer in answers]


NOTHING = made(leaf(10, 0.5, 0.5))
# age <= 50 ? (fare <= 20 ? no : yes) : (sex = male ? no : yes)
CHOSEN = made(split("age", 50.0, split("fare", 20.0, NO, YES), split("sex", ("male",), NO, YES)))


# -- by hand ----------------------------------------------------------------------------------------------


def test_each_split_has_its_support_in_preorder() -> None:
    found = split_support(CHOSEN, [NOTHING], [CHOSEN])
    assert [(each.node, each.depth, each.place) for each in found] == [
        (0, 0, ()),
        (1, 1, (True,)),
        (4, 1, (False,)),
    ]
    assert [each.split for each in found] == ["age <= 50", "fare <= 20", "sex = male"]
    assert [each.feature for each in found] == ["age", "fare", "sex"]


def test_shares_are_counted_in_each_collection() -> None:
    references = [*asking("age", 45.0, 55.0), *asking("fare", 20.0), NOTHING]
    candidates = [CHOSEN, *asking("age", 60.0)]
    root, yes, no = split_support(CHOSEN, references, candidates)
    assert (root.references, root.candidates, root.same_way) == (2 / 4, 1, 4 / 6)
    assert (root.n_trees_here, root.thresholds) == (4, (45, 50, 60))
    assert (yes.references, yes.candidates, yes.same_way) == (0, 1 / 2, 1 / 6)
    assert (no.n_trees_here, no.categories) == (1, (("female", 1), ("male", 1)))


def test_the_same_question_elsewhere_in_the_tree_does_not_count() -> None:
    mirrored = made(split("age", 50.0, split("sex", ("male",), NO, YES), split("fare", 20.0, NO, YES)))
    root, yes, no = split_support(CHOSEN, [mirrored], [mirrored])
    assert root.references == 1
    assert (yes.references, no.references) == (0, 0)


def test_the_same_place_reached_by_other_questions_is_not_the_same_way() -> None:
    by_fare = made(split("fare", 30.0, split("fare", 10.0, NO, YES), YES))
    _, yes, _ = split_support(CHOSEN, [by_fare], [CHOSEN, CHOSEN, CHOSEN])
    assert (yes.references, yes.candidates, yes.same_way) == (1, 1, 3 / 4)


def test_quantiles_are_thresholds_that_trees_ask_for() -> None:
    # Of 1, 2, ... 40: two are at most 2 (5 %), twenty at most 20 (50 %), 38 at most 38 (95 %).
    trees = asking("fare", *(float(cut) for cut in range(1, 41)))
    assert split_support(trees[0], trees[:7], trees[7:])[0].thresholds == (2, 20, 38)
    assert split_support(trees[0], trees[:1], trees[1:2])[0].thresholds == (1, 1, 2)


def test_asking_whether_a_value_is_known_is_asking_without_a_threshold() -> None:
    chosen, *others = asking("fare", 20.0, KNOWN, KNOWN, 30.0)
    (found,) = split_support(chosen, others[:2], others[2:])
    assert (found.references, found.candidates, found.n_trees_here, found.n_known) == (1, 1, 3, 2)
    assert found.thresholds == (30, 30, 30)
    (found,) = split_support(chosen, others[:2], [NOTHING])
    assert (found.n_trees_here, found.thresholds) == (2, None)


def test_a_set_and_its_complement_ask_the_same() -> None:
    chosen, *others = asking("pain", ("atypical", "none"), ("other", "typical"), ("atypical", "none"))
    (found,) = split_support(chosen, others[:1], others[1:])
    assert found.categories == (("atypical", 1), ("none", 1), ("other", 1), ("typical", 1))
    assert found.thresholds is None


def test_each_category_has_the_share_of_trees_that_send_it_the_same_way() -> None:
    # Against {atypical, none}: {atypical} differs in none. {none, other, typical} is turned to {atypical},
    # and differs in none again. {atypical, other} agrees on two of four, a tie, and stays as it is: it
    # differs in none and other.
    chosen, *others = asking(
        "pain", ("atypical", "none"), ("atypical",), ("none", "other", "typical"), ("atypical", "other")
    )
    (found,) = split_support(chosen, [*others, chosen], [NOTHING])
    assert found.categories == (("atypical", 1), ("none", 1 / 4), ("other", 3 / 4), ("typical", 1))


def test_categories_that_cannot_reach_a_split_are_left_out() -> None:
    # Below pain in {atypical, none}, the set {none} asks what {atypical} asks, turned round.
    def nested(label: str) -> Tree:
        return made(split("pain", ("atypical", "none"), split("pain", (label,), NO, YES), YES))

    _, found = split_support(nested("atypical"), [nested("none")], [nested("atypical")])
    assert found.categories == (("atypical", 1), ("none", 1))


def test_a_question_of_the_user_has_neither_thresholds_nor_categories() -> None:
    trees = asking(HEAVY.name, (True,), (True,))
    (found,) = split_support(trees[0], trees, trees)
    assert (found.references, found.n_trees_here) == (1, 4)
    assert found.thresholds is None
    assert found.categories is None


def test_a_split_that_no_other_tree_has_says_so() -> None:
    (found,) = split_support(*asking("pain", ("none",)), [NOTHING], [NOTHING])
    assert (found.references, found.candidates, found.same_way, found.n_trees_here) == (0, 0, 0, 0)
    assert found.thresholds is None
    assert found.categories is None


def test_a_tree_without_splits_needs_no_support() -> None:
    assert split_support(NOTHING, [CHOSEN], [CHOSEN]) == []


def test_features_are_compared_by_name() -> None:
    reordered = tree_of(split("age", 45.0, NO, YES), (FARE, AGE), SURVIVED)
    assert split_support(CHOSEN, [reordered], [CHOSEN])[0].references == 1


def test_no_reference_and_another_schema_raise_errors() -> None:
    with pytest.raises(ValueError, match="at least one reference tree, and there are 0"):
        split_support(CHOSEN, [], [CHOSEN])
    regression = tree_of(leaf(10, 5.0, impurity=1.0), COLUMNS, STAY)
    with pytest.raises(SchemaMismatch, match="the target"):
        split_support(CHOSEN, [regression], [CHOSEN])


def test_without_candidates_the_references_alone_support_a_split() -> None:
    """Consensus trees: no candidate has a sample of its own."""
    alone, both = split_support(CHOSEN, [CHOSEN], []), split_support(CHOSEN, [CHOSEN], [CHOSEN])
    assert [each.references for each in alone] == [1.0] * len(both)
    assert {each.candidates for each in alone} == {None}
    assert "candidate" not in str(alone)
    assert "candidate" not in str(alone)


# -- against a walk of random trees -------------------------------------------------------------------------


def splits_below(tree: Tree, node: int = 0, place: tuple[bool, ...] = ()) -> Iterator[tuple[tuple, int]]:
    """Place and node of every split, in preorder."""
    if tree.feature[node] != LEAF:
        yield place, node
        yield from splits_below(tree, int(tree.left[node]), (*place, True))
        yield from splits_below(tree, int(tree.right[node]), (*place, False))


def asked_at(tree: Tree) -> dict[tuple[bool, ...], str]:
    return {place: tree.schema.names[tree.feature[node]] for place, node in splits_below(tree)}


def left_labels(tree: Tree, place: tuple[bool, ...]) -> set[object]:
    node = dict(splits_below(tree))[place]
    labels = tree.schema.features[tree.feature[node]].categories
    return {label for label, is_left in zip(labels, tree.left_categories(node), strict=True) if is_left}


def reaching_labels(tree: Tree, place: tuple[bool, ...], name: str) -> list[object]:
    """The categories that get to the place; all of them, if none does."""
    labels = list(tree.schema.features[tree.schema.names.index(name)].categories)
    reaching = labels
    for depth, answer in enumerate(place):
        if asked_at(tree)[place[:depth]] == name:
            lefts = left_labels(tree, place[:depth])
            reaching = [label for label in reaching if (label in lefts) == answer]
    return reaching or labels


def expected_categories(tree: Tree, others: list[Tree], place: tuple[bool, ...], name: str) -> list[tuple]:
    labels, own = reaching_labels(tree, place, name), left_labels(tree, place)
    agreements = []
    for other in others:
        same = {label for label in labels if (label in left_labels(other, place)) == (label in own)}
        agreements.append(set(labels) - same if len(same) < len(labels) - len(same) else same)
    return [(label, sum(label in same for same in agreements) / len(others)) for label in labels]


def expected_thresholds(thresholds: list[float]) -> tuple[float, ...]:
    """For each percentage, the smallest threshold that so many do not exceed."""
    counts = {cut: sum(other <= cut for other in thresholds) for cut in thresholds}
    return tuple(
        min(cut for cut, count in counts.items() if 100 * count >= percent * len(thresholds))
        for percent in (5, 50, 95)
    )


def assert_support_is_that_of_a_walk(
    tree: Tree, references: list[Tree], candidates: list[Tree], found: SplitSupport
) -> None:
    place, both = found.place, [*references, *candidates]
    own = asked_at(tree)
    way = [place[:depth] for depth in range(len(place) + 1)]
    asking = [other for other in both if asked_at(other).get(place) == own[place]]
    same_way = [other for other in both if all(asked_at(other).get(step) == own[step] for step in way)]
    assert found.n_trees_here == len(asking)
    assert found.same_way == pytest.approx(len(same_way) / len(both))
    for share, trees in ((found.references, references), (found.candidates, candidates)):
        assert share == pytest.approx(sum(other in asking for other in trees) / len(trees))
    kind = tree.schema.features[tree.feature[found.node]].kind
    cuts = [float(other.threshold[dict(splits_below(other))[place]]) for other in asking]
    numbers = [cut for cut in cuts if cut < KNOWN]
    has_quantiles = kind in ("numeric", "ordered") and numbers
    assert found.thresholds == (expected_thresholds(numbers) if has_quantiles else None)
    assert found.n_known == cuts.count(KNOWN)
    if kind == "nominal" and asking:
        expected = expected_categories(tree, asking, place, found.feature)
        assert [label for label, _ in found.categories] == [label for label, _ in expected]
        assert [share for _, share in found.categories] == pytest.approx([share for _, share in expected])
    else:
        assert found.categories is None


def assert_supports_are_those_of_a_walk(trees: list[Tree], n_references: int) -> None:
    tree, references, candidates = trees[-1], trees[:n_references], trees[n_references:]
    found = split_support(tree, references, candidates)
    assert [(each.place, each.node) for each in found] == list(splits_below(tree))
    for each in found:
        assert each.depth == len(each.place)
        assert each.split == branch_text(tree, each.node, True)
        assert_support_is_that_of_a_walk(tree, references, candidates, each)


@pytest.mark.parametrize("seed", range(6))
def test_supports_of_random_trees_are_those_of_a_walk(seed: int) -> None:
    random = Random(seed)
    others = random.sample(FEATURES[1:10], 2)  # few, so that trees often ask the same
    schema = Schema((FEATURES[0], *others, QUESTION), OUTCOMES)
    trees = [random_tree(random, schema, random.randint(1, 12)) for _ in range(24)]
    assert_supports_are_those_of_a_walk([*trees, random_tree(random, schema, 12)], n_references=9)


@pytest.mark.parametrize("seed", range(3))
def test_supports_of_grown_trees_are_those_of_a_walk(seed: int) -> None:
    assert_supports_are_those_of_a_walk(grown_trees(Random(seed), STAY, n_estimators=12), n_references=5)
