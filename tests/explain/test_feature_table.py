"""The table of the features that trees split on."""

from holdfast.data.schema import Feature, Target
from holdfast.explain.feature_use import feature_table, feature_use
from reference.trees import AGE, FARE, SEX, SURVIVED, leaf, split, tree_of
from snapshots import check_snapshot

COLUMNS = (AGE, FARE, SEX)
NO, YES = leaf(25, 1.0, 0.0), leaf(25, 0.0, 1.0)

# Half of the 100 rows lived: rows times gini is 100 * 1/2 at the root. Of the 75 young ones a third lived:
# 75 * 4/9 = 33.3 is left. So age brings 16.7 of the 50, a third, and fare brings the rest.
AGE_THEN_FARE = tree_of(
    split("age", 50.0, split("fare", 10.0, leaf(50, 1.0, 0.0), YES), YES), COLUMNS, SURVIVED
)
FARE_ALONE = tree_of(split("fare", 20.0, NO, YES), COLUMNS, SURVIVED)


def test_the_table_has_shares_and_importances_of_the_features_that_are_used() -> None:
    check_snapshot("feature-use", str(feature_use([AGE_THEN_FARE, FARE_ALONE])))
    assert "... and 1 more" in feature_table(feature_use([AGE_THEN_FARE]), most=1).to_text()


def test_long_names_are_cut_to_fit_the_table() -> None:
    features = tuple(Feature(f"{'very ' * 30}long {number}\n") for number in range(2))
    tree = tree_of(split(features[1].name, 0.5, NO, YES), features, Target("y", classes=("no", "yes")))
    lines = str(feature_use([tree])).splitlines()
    assert max(map(len, lines)) <= 80
    assert "…" in lines[1]
    assert "1\\n" in lines[1]  # the end tells it from its neighbour
