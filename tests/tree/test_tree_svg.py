from itertools import combinations
from xml.etree import ElementTree

import numpy as np
import pytest

from holdfast import CART, Table, grow
from holdfast._text import percent_range
from holdfast.data.schema import Feature, Target
from holdfast.errors import ParameterError
from holdfast.tree.stats import set_class_counts
from holdfast.tree.svg import INK, risk_colour, text_width, tree_svg
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


def parsed(tree, **options):
    return ElementTree.fromstring(tree_svg(tree, **options))


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


def node_group(tree, node, **options):
    groups = parsed(tree, **options).iter(f"{SVG}g")
    return next(group for group in groups if group.get("data-node") == str(node))


def edge_group(tree, node, **options):
    groups = parsed(tree, **options).iter(f"{SVG}g")
    return next(group for group in groups if group.get("data-edge") == str(node))


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
    assert texts(root.find(f"{SVG}g"))[:4] == ["<= 50", "<= 30", "> 30", "> 50"]
    widths = [float(path.get("stroke-width")) for path in root.iter(f"{SVG}path")]
    assert widths == pytest.approx([1.5 + 8.5 * share for share in (0.6, 0.4, 0.2, 0.4)], abs=0.05)


def test_an_inner_node_shows_what_it_asks_about_its_rows_its_risk_and_a_bar():
    group = node_group(NUMERIC, 1)
    assert texts(group) == ["age", "60 rows · 47 %"]  # 10 of 40 and 18 of 20
    assert len(group.findall(f"{SVG}rect")) == 3
    assert texts(node_group(SPECIES, 0)) == ["petal length", "150 rows"]
    assert texts(node_group(PRICE, 0))[1].startswith("100 rows · ")


def test_a_leaf_shows_its_risk_its_class_the_rows_that_were_positive_and_their_interval():
    group = node_group(NUMERIC, 3)
    assert texts(group) == ["90 %", "predicts yes", "18 of 20", "70–97 %"]  # noqa: RUF001 (Wilson: 0.699 to 0.972)
    _, yes, no = group.findall(f"{SVG}rect")
    assert float(yes.get("width")) == pytest.approx(9 * float(no.get("width")), rel=0.02)


def test_the_positive_class_is_the_rarer_or_the_one_that_is_asked_for():
    assert texts(node_group(NUMERIC, 2))[0] == "25 %"  # 28 of 100 are yes
    assert texts(node_group(NUMERIC, 2, positive="no"))[:3] == ["75 %", "predicts no", "30 of 40"]
    with pytest.raises(ParameterError, match=r"positive='perhaps' is no class of 'survived': .*'no', 'yes'"):
        NUMERIC.to_svg(positive="perhaps")
    with pytest.raises(ParameterError, match="'price' is a number"):
        PRICE.to_svg(positive="yes")


def test_a_leaf_that_is_nearly_certain_does_not_claim_to_be_certain():
    tree = tree_of(leaf(1000, 0.001, 0.999), (AGE,), SURVIVED)
    assert texts(node_group(tree, 0))[0] == "< 1 %"  # of no, the rarer one
    assert texts(node_group(tree, 0, positive="yes"))[:3] == ["> 99 %", "predicts yes", "999 of 1,000"]
    assert texts(node_group(tree, 0, positive="yes", decimals=1))[0] == "99.9 %"


def test_rows_that_were_seen_are_told_where_the_leaf_says_what_a_teacher_says():
    seen = np.array([[72.0, 28.0], [32.0, 28.0], [30.0, 10.0], [2.0, 18.0], [40.0, 0.0]])
    taught = NUMERIC.replace(value=np.array([[0.7, 0.3], [0.6, 0.4], [0.7, 0.3], [0.2, 0.8], [0.9, 0.1]]))
    # The interval is that of 0 of 40 rows, and the estimate of 10 % lies outside of it.
    assert texts(node_group(taught.replace(observed=seen), 4)) == [
        "10 %",
        "predicts no",
        "0 of 40: 0 %",
        "0\u20139 %",
    ]


def test_an_interval_that_ends_near_one_is_not_rounded_to_it():
    assert percent_range(0.996, 1.0) == "> 99 to 100 %"
    assert percent_range(1e-17, 0.09) == "0 to 9 %"


def test_of_three_classes_the_rows_are_told_where_the_estimate_is_another():
    counts = SPECIES.value * SPECIES.count[:, None]
    taught = SPECIES.replace(observed=counts, value=np.full(SPECIES.value.shape, [0.2, 0.2, 0.6]))
    assert texts(node_group(taught, 1)) == ["virginica", "60 % · 50 rows", "observed: 0 of 50, 0 %"]


def test_a_higher_risk_has_a_deeper_colour_that_dark_letters_stand_out_from():
    def luminance(fill):
        channels = [int(fill[start : start + 2], 16) / 255 for start in (1, 3, 5)]
        linear = [each / 12.92 if each <= 0.04045 else ((each + 0.055) / 1.055) ** 2.4 for each in channels]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    fills = {node: node_group(NUMERIC, node).find(f"{SVG}rect").get("fill") for node in (2, 3, 4)}
    light = {node: luminance(fill) for node, fill in fills.items()}
    assert light[3] < light[2] < light[4]  # 90 %, 25 %, 0 %
    contrast = (luminance(risk_colour(1.0)) + 0.05) / (luminance(INK) + 0.05)
    assert contrast > 4.5


def test_a_branch_says_its_condition_and_its_title_all_of_it():
    many = tuple(f"town {number:03d}" for number in range(200))
    town = Feature("town", "nominal", categories=many)
    tree = tree_of(split("town", many[:90], leaf(9, 1.0, 0.0), leaf(9, 0.0, 1.0), True), (town,), SURVIVED)
    group = edge_group(tree, 1)
    assert (group.get("data-parent"), group.get("data-side")) == ("0", "left")
    assert "more}" in "".join(texts(group))
    title = group.find(f"{SVG}title").text
    assert title == f"town in {{{', '.join(many[:90])}}} or not recorded"
    assert edge_group(tree, 2).find(f"{SVG}title").text == f"town in {{{', '.join(many[90:])}}}"


def test_branches_of_every_kind_of_question():
    assert [texts(edge_group(QUESTION, node)) for node in (1, 2)] == [["true"], ["false"]]
    assert texts(edge_group(SUBSET, 2)) == ["= atypical"]
    assert " ".join(texts(edge_group(SUBSET, 1, missing=True))) == "in {atypical, none} or not recorded"
    assert " ".join(texts(edge_group(QUESTION, 1, missing=True))) == "true or not recorded"


def test_nodes_that_changed_are_marked():
    group = node_group(NUMERIC, 1, changed={1: "was 45"})
    assert texts(group) == ["age", "was 45", "60 rows · 47 %"]
    assert group.get("data-changed") == "true"
    assert "was <b>" in texts(node_group(NUMERIC, 4, changed={4: "was <b>"}))
    assert node_group(NUMERIC, 0).get("data-changed") is None
    with pytest.raises(ParameterError, match="changed names node 9: the nodes of the tree are 0 to 4"):
        NUMERIC.to_svg(changed={9: "was 45"})


def test_the_title_and_the_width_are_those_that_are_asked_for():
    root = parsed(NUMERIC, title="Who <lives>", width=300)
    assert texts(root)[0] == "Who <lives>"
    assert float(root.get("width")) == 300
    across, down = map(float, root.get("viewBox").split()[2:])
    assert float(root.get("height")) == pytest.approx(300 * down / across, abs=1)
    for width in (0, -5, "wide", float("inf")):
        with pytest.raises(ParameterError, match="width="):
            NUMERIC.to_svg(width=width)
    for decimals in (-1, 7, 1.5, True):
        with pytest.raises(ParameterError, match="decimals="):
            NUMERIC.to_svg(decimals=decimals)


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


def test_tooltips_tell_the_rows_that_were_seen_and_where_missing_values_go():
    assert node_group(SUBSET, 2).find(f"{SVG}title").text.splitlines() == [
        "pain = atypical",
        "survived = yes",
        "p(no) = 0.20",
        "p(yes) = 0.80",
        "24 of 30 rows with yes: 80 %, 95 % interval 63–90 %",  # noqa: RUF001 (a dash between numbers)
        "30 rows, 30.0 %",
    ]
    edges = [edge_group(SUBSET, node).find(f"{SVG}title").text for node in (1, 4)]
    assert edges == ["pain in {atypical, none} or not recorded", "pain in {other, typical}"]


def test_a_shortened_question_is_whole_in_its_tooltip():
    long = Feature("a" * 500, low=0.0, high=1.0)
    tree = tree_of(split(long.name, 0.25, leaf(1, 1.0, 0.0), leaf(1, 0.0, 1.0)), (long,), SURVIVED)
    group = node_group(tree, 0)
    assert "…" in "".join(texts(group))
    assert long.name in group.find(f"{SVG}title").text
    assert edge_group(tree, 1).find(f"{SVG}title").text == f"{long.name} <= 0.25"


def test_long_column_names_break_at_their_underscores():
    name = "number_of_prior_admissions_last_year"
    tree = tree_of(split(name, 2.5, leaf(1, 1.0, 0.0), leaf(1, 0.0, 1.0)), (Feature(name),), SURVIVED)
    lines = texts(node_group(tree, 0))[:-1]
    assert len(lines) > 1
    assert "".join(lines) == name


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
    assert edge_group(tree, 1).find(f"{SVG}title").text == f"{script} = {script}"


def test_the_picture_is_a_file_of_its_own():
    text = tree_svg(NUMERIC)
    assert text.startswith('<svg xmlns="http://www.w3.org/2000/svg"')
    assert "max-width:100%" in text
    assert " id=" not in text  # several pictures on one page must not clash
    assert parsed(NUMERIC)[0].get("fill") == "#ffffff"  # its own paper, for dark pages
    assert text == NUMERIC.to_svg() == NUMERIC._repr_html_()


def test_one_colour_means_the_same_risk_in_trees_drawn_beside_each_other():
    low = NUMERIC.replace(value=np.column_stack([1 - 0.1 * NUMERIC.value[:, 1], 0.1 * NUMERIC.value[:, 1]]))
    alone, beside = (node_group(low, 2, beside=others).find(f"{SVG}rect") for others in ([], [NUMERIC]))
    highest = NUMERIC.value[NUMERIC.feature < 0, 1].max()
    assert highest > 0.5, "the scale of the two ends at 1"
    assert beside.get("fill") == risk_colour(float(low.value[2, 1]))
    assert alone.get("fill") != beside.get("fill")
    scale = [text for text in texts(parsed(low, beside=[NUMERIC])) if text and text.endswith("100 %")]
    assert scale == ["100 %"]


def test_one_colour_means_the_same_mean_in_trees_drawn_beside_each_other():
    high = PRICE.replace(value=PRICE.value + 1000)
    leaf_of_least = int(np.flatnonzero(PRICE.feature < 0)[PRICE.value[PRICE.feature < 0, 0].argmin()])
    assert node_group(PRICE, leaf_of_least, beside=[high]).find(f"{SVG}rect").get("fill") == risk_colour(0.0)
    assert node_group(high, leaf_of_least, beside=[PRICE]).find(f"{SVG}rect").get("fill") != risk_colour(0.0)


def test_trees_of_another_target_have_no_common_scale():
    with pytest.raises(ParameterError, match="same classes"):
        NUMERIC.to_svg(beside=[SPECIES])


def test_a_leaf_of_few_rows_moves_no_figure_of_the_others():
    rng = np.random.default_rng(0)
    x = np.concatenate([rng.uniform(0, 9, 300), np.full(8, 9.5)])
    y = np.array(["a", "b", "c"])[np.digitize(x + rng.normal(0, 1, 308), [3.0, 6.0])]
    rules = CART.replace(max_depth=3, min_samples_leaf=8)
    tree = grow(Table.from_arrays(x[:, None], y), rules)
    tree = tree.replace(value=0.8 * tree.value + 0.2 / 3, observed=tree.observed)  # as a teacher predicts
    tree = set_class_counts(tree, np.rint((tree.value - 0.2 / 3) / 0.8 * tree.count[:, None]))
    picture = ElementTree.fromstring(tree_svg(tree))
    texts = [(each.text, float(each.get("x"))) for each in picture.iter() if each.tag.endswith("text")]
    assert any(text == "few rows" for text, _ in texts)
    ends = sorted(x for text, x in texts if text and text.startswith("observed"))
    own = sorted(x for text, x in texts if text and " · " in text)
    assert len(ends) == len(own) == tree.n_leaves
    assert [b - a for a, b in zip(own, ends, strict=True)] == pytest.approx([ends[0] - own[0]] * len(own))
