from itertools import combinations
from xml.etree import ElementTree

import pytest

from holdfast.data.schema import Feature, Target
from holdfast.show.palette import PALETTE
from holdfast.show.svg import text_width
from holdfast.show.tree_svg import tree_svg
from reference.trees import (
    AGE,
    FARE_KNOWN,
    FORTY_LEAVES,
    LONE_LEAF,
    NUMERIC,
    ORDERED,
    PRICE,
    QUESTION,
    SPECIES,
    SUBSET,
    SURVIVED,
    balanced,
    leaf,
    split,
    tree_of,
)

SVG = "{http://www.w3.org/2000/svg}"
ALL = [NUMERIC, SUBSET, QUESTION, ORDERED, FARE_KNOWN, SPECIES, PRICE, LONE_LEAF, FORTY_LEAVES]
ALL += [balanced(leaves, regression) for leaves in (4, 8, 16) for regression in (False, True)]


def parsed(tree):
    return ElementTree.fromstring(tree_svg(tree))


def boxes(tree, kind=None):
    """For every node, or those of one kind, the rectangle it is drawn in: left, upper, right, lower side."""
    places = {}
    for group in parsed(tree).iter(f"{SVG}g"):
        if "data-node" in group.attrib and kind in (None, group.get("data-kind")):
            x, y, width, height = (
                float(group.find(f"{SVG}rect").get(name)) for name in ("x", "y", "width", "height")
            )
            places[int(group.get("data-node"))] = (x, y, x + width, y + height)
    return places


def overlap(one, other):
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


def texts(element):
    return [text.text for text in element.iter(f"{SVG}text")]


def node_group(tree, node):
    return next(group for group in parsed(tree).iter(f"{SVG}g") if group.get("data-node") == str(node))


def test_forty_leaves_do_not_overlap():
    places = boxes(FORTY_LEAVES, "leaf")
    assert len(places) == 40
    assert not any(overlap(one, other) for one, other in combinations(places.values(), 2))


@pytest.mark.parametrize("tree", ALL)
def test_no_two_boxes_overlap_and_none_leaves_the_picture(tree):
    root = parsed(tree)
    places = boxes(tree)
    assert len(places) == tree.n_nodes
    assert not any(overlap(one, other) for one, other in combinations(places.values(), 2))
    width, height = float(root.get("width")), float(root.get("height"))
    assert root.get("viewBox") == f"0 0 {width:.0f} {height:.0f}"
    shift = root.find(f"{SVG}g").get("transform").removeprefix("translate(").removesuffix(")").split()
    across, down = map(float, shift)
    assert min(place[0] for place in places.values()) + across >= 0
    assert max(place[2] for place in places.values()) + across <= width
    assert max(place[3] for place in places.values()) + down <= height


@pytest.mark.parametrize("tree", ALL)
def test_texts_are_legible_and_estimated_to_fit_their_boxes(tree):
    places = boxes(tree)
    for group in parsed(tree).iter(f"{SVG}g"):
        for text in group.iter(f"{SVG}text") if "data-node" in group.attrib else ():
            left, _, right, _ = places[int(group.get("data-node"))]
            assert text_width(text.text, float(text.get("font-size"))) <= right - left
    assert min(float(text.get("font-size")) for text in parsed(tree).iter(f"{SVG}text")) >= 11


def test_yes_is_left_in_a_tree_that_grows_downwards():
    places = boxes(SUBSET)
    assert places[1][2] < places[4][0]  # the root's children side by side
    assert places[1][1] == places[4][1] > places[0][3]


def test_yes_is_above_in_a_tree_that_grows_to_the_right():
    places = boxes(FORTY_LEAVES)
    yes, no = int(FORTY_LEAVES.left[0]), int(FORTY_LEAVES.right[0])
    assert places[yes][3] < places[no][1]
    assert places[yes][0] == places[no][0] > places[0][2]


def test_a_parent_stands_midway_between_its_children():
    places = boxes(NUMERIC)
    middle = {node: (left + right) / 2 for node, (left, _, right, _) in places.items()}
    assert middle[1] == pytest.approx((middle[2] + middle[3]) / 2, abs=0.2)
    assert middle[0] == pytest.approx((middle[1] + middle[4]) / 2, abs=0.2)


def test_edges_are_labelled_and_as_thick_as_their_share_of_rows():
    root = parsed(NUMERIC)
    assert texts(root.find(f"{SVG}g"))[:4] == ["yes", "yes", "no", "no"]
    widths = [float(path.get("stroke-width")) for path in root.iter(f"{SVG}path")]
    assert widths == pytest.approx([1.5 + 8.5 * share for share in (0.6, 0.4, 0.2, 0.4)], abs=0.05)


def test_an_inner_node_shows_its_question_and_rows():
    assert texts(node_group(NUMERIC, 1)) == ["age <= 30", "60 rows"]


def test_a_leaf_shows_its_outcome_its_certainty_and_a_bar_of_its_classes():
    group = node_group(NUMERIC, 3)
    assert texts(group) == ["yes", "90 % · 20 rows"]
    _, no, yes = group.findall(f"{SVG}rect")
    assert (no.get("fill"), yes.get("fill")) == PALETTE[:2]
    assert float(yes.get("width")) == pytest.approx(9 * float(no.get("width")), rel=0.02)


def test_a_leaf_that_is_nearly_certain_does_not_claim_to_be_certain():
    tree = tree_of(leaf(1000, 0.001, 0.999), (AGE,), SURVIVED)
    assert texts(node_group(tree, 0)) == ["yes", "> 99 % · 1000 rows"]


def test_a_surer_leaf_has_a_deeper_colour():
    def lightness(node):
        fill = node_group(NUMERIC, node).find(f"{SVG}rect").get("fill")
        return sum(int(fill[start : start + 2], 16) for start in (1, 3, 5))

    assert lightness(4) < lightness(2)  # no with 100 %, no with 75 %


def test_a_regression_leaf_shows_its_mean():
    assert texts(node_group(PRICE, 3)) == ["12.35", "20 rows"]


def test_the_legend_names_the_target_and_its_classes():
    assert texts(parsed(SPECIES))[:4] == ["species", "setosa", "versicolor", "virginica"]


def test_a_tooltip_tells_the_whole_rule_of_a_leaf():
    assert node_group(SPECIES, 3).find(f"{SVG}title").text.splitlines() == [
        "petal length > 2.45",
        "petal width <= 1.75",
        "species = versicolor",
        "p(setosa) = 0.02",
        "p(versicolor) = 0.90",
        "p(virginica) = 0.08",
        "54 rows, 36.0 %",
    ]


def test_a_tooltip_tells_both_sides_of_a_question_and_where_missing_values_go():
    assert node_group(SUBSET, 0).find(f"{SVG}title").text.splitlines() == [
        "yes: pain in {atypical, none} or missing",
        "no: pain in {other, typical}",
        "100 rows, 100.0 %",
    ]


def test_a_shortened_question_is_whole_in_its_tooltip():
    long = Feature("a" * 500, low=0.0, high=1.0)
    tree = tree_of(split(long.name, 0.25, leaf(1, 1.0, 0.0), leaf(1, 0.0, 1.0)), (long,), SURVIVED)
    group = node_group(tree, 0)
    assert "…" in "".join(texts(group))
    assert f"yes: {long.name} <= 0.25" in group.find(f"{SVG}title").text


def test_long_column_names_break_at_their_underscores():
    name = "number_of_prior_admissions_last_year"
    tree = tree_of(split(name, 2.5, leaf(1, 1.0, 0.0), leaf(1, 0.0, 1.0)), (Feature(name),), SURVIVED)
    lines = texts(node_group(tree, 0))[:-1]
    assert len(lines) > 1
    assert "".join(lines).replace(" ", "") == f"{name}<=2.5"


def test_names_and_labels_are_shown_as_text_and_never_run():
    script = "<script>alert('x')</script> & \"more\""
    features = (Feature(script, "nominal", categories=(script, "b")),)
    tree = tree_of(
        split(script, (script,), leaf(1, 1.0, 0.0), leaf(1, 0.0, 1.0)),
        features,
        Target(script, classes=(script, "c\x00\ud800")),
        notes=(script,),
    )
    text = tree_svg(tree)
    assert "<script" not in text
    root = ElementTree.fromstring(text.encode())  # an unescaped control character would not parse
    assert {element.tag for element in root.iter()} <= {
        SVG + tag for tag in ("svg", "g", "rect", "path", "text", "title")
    }
    assert f"yes: {script} = {script}" in node_group(tree, 0).find(f"{SVG}title").text


def test_the_picture_is_a_file_of_its_own():
    text = tree_svg(NUMERIC)
    assert text.startswith('<svg xmlns="http://www.w3.org/2000/svg"')
    assert "max-width:100%" in text
    assert " id=" not in text  # several pictures on one page must not clash
    assert parsed(NUMERIC)[0].get("fill") == "#ffffff"  # its own paper, for dark pages
    assert text == NUMERIC.to_svg() == NUMERIC._repr_html_()
