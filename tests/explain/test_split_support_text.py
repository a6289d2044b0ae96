"""What the text of a tree's split support says."""

from holdfast.explain.split_support import split_support
from holdfast.tree.tree import KNOWN, Tree
from reference.trees import AGE, FARE, HEAVY, PAIN, SEX, SLOPE, SURVIVED, Node, leaf, split, tree_of
from snapshots import check_snapshot

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


def test_the_support_of_every_split_is_told() -> None:
    numbers = asking("fare", *(float(cut) for cut in range(1, 41)))
    alike, slopes = asking("age", 50.00001, 50.00002), asking("slope", 1.5, 0.5, 2.5)
    known = asking("age", KNOWN, 50.0, 60.0)
    found = [
        split_support(CHOSEN, [*asking("age", 45.25, 55.0), NOTHING], [CHOSEN]),
        split_support(numbers[0], numbers[:7], numbers[7:]),
        split_support(alike[0], alike[1:], alike[:1]),
        split_support(slopes[0], slopes[1:], ()),
        split_support(known[1], known, ()),
        split_support(NOTHING, [CHOSEN], ()),
    ]
    check_snapshot("split-support", "\n\n\n".join(map(str, found)))
