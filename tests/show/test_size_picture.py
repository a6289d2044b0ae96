from itertools import combinations, pairwise
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from holdfast.data.schema import Target
from holdfast.growth.size.table import SizeTable
from holdfast.scoring.metric import Metric, metric_of
from holdfast.show.axis import leaf_ticks, score_ticks, widened
from holdfast.show.size_picture import INSET, ROW, WIDTH, size_svg
from holdfast.show.svg import text_width

SVG = "{http://www.w3.org/2000/svg}"
CLASSES = Target(classes=("no", "yes"))
AUC, LOG_LOSS = metric_of("auc", CLASSES), metric_of("log_loss", CLASSES)
R2 = metric_of("r2", Target())


def table(n_leaves, scores, error=None, *, metric=AUC, selection_rule="cv-1se", parameter="ccp_alpha"):
    """Sizes with these mean scores on both of two folds, or the scores of each fold."""
    scores = np.array(scores, float)
    scores = np.repeat(scores[:, np.newaxis], 2, axis=1) if scores.ndim == 1 else scores
    alphas = np.linspace(0.0, 0.3, len(n_leaves))
    return SizeTable(
        parameter=parameter,
        values=np.array(n_leaves, float) if parameter == "max_leaf_nodes" else alphas,
        n_leaves=np.array(n_leaves),
        risks=alphas,
        scores=scores,
        error=np.zeros(len(n_leaves)) if error is None else np.array(error, float),
        selection_rule=selection_rule,
        metric=metric,
    )


def many_sizes(n_sizes=300, most=10_000):
    n_leaves = np.geomspace(1, most, n_sizes).round().astype(int) + np.arange(n_sizes)
    scores = 0.9 - 0.02 * (np.log10(n_leaves) - 2) ** 2
    return table(n_leaves[::-1], scores[::-1], np.full(n_sizes, 0.004))


SMALL = table([4, 3, 2, 1], [0.78, 0.9, 0.85, 0.5], [0.05, 0.06, 0.04, 0.0])
ALL = {
    "root alone": table([1], [0.5]),
    "two sizes": table([2, 1], [0.7, 0.5], [0.02, 0.0]),
    "four sizes": SMALL,
    "300 sizes": many_sizes(),
    "a loss": table([40, 10, 3, 1], [-34.0, -6.0, -0.4, -0.69], [3.0, 1.0, 0.05, 0.0], metric=LOG_LOSS),
    "negative scores": table(
        [9, 5, 1], [-1.4, -0.5, -0.3], [0.3, 0.1, 0.02], metric=R2, parameter="max_depth"
    ),
    "one fold": table([25, 7, 1], [[0.8], [0.83], [0.5]], [0.01, 0.01, 0.0]),
    "no errors": table([25, 7, 1], [0.8, 0.8, 0.8]),
    "huge numbers": table([7, 3, 1], [-1e300, -3e200, -1e299], [np.inf] * 3, metric=LOG_LOSS),
    "leaves": table([31, 8, 1], [0.8, 0.9, 0.5], [0.01] * 3, parameter="max_leaf_nodes"),
}
every_table = pytest.mark.parametrize("sizes", ALL.values(), ids=list(ALL))


def parsed(sizes):
    return ElementTree.fromstring(size_svg(sizes).encode())


def marks(sizes):
    """The groups of the sizes by their number of leaves."""
    groups = [
        group for group in parsed(sizes).iter(f"{SVG}g") if "size" in group.get("data-kind", "").split()
    ]
    return {int(group.find(f"{SVG}title").text.split()[0].replace(",", "")): group for group in groups}


def points(sizes):
    """The centres of the dots, by number of leaves."""
    dots = {n_leaves: group.find(f"{SVG}circle") for n_leaves, group in marks(sizes).items()}
    return {n_leaves: (float(dot.get("cx")), float(dot.get("cy"))) for n_leaves, dot in dots.items()}


def frame(sizes):
    """Left, upper, right and lower side."""
    side = next(rect for rect in parsed(sizes).iter(f"{SVG}rect") if rect.get("data-kind") == "frame")
    x, y, width, height = (float(side.get(name)) for name in ("x", "y", "width", "height"))
    return x, y, x + width, y + height


def texts(sizes):
    return [text.text for text in parsed(sizes).iter(f"{SVG}text")]


def bars(sizes):
    """The ends of the error bars, by number of leaves: upper, lower."""
    drawn = {n_leaves: group.find(f"{SVG}path") for n_leaves, group in marks(sizes).items()}
    lines = {n_leaves: path.get("d") for n_leaves, path in drawn.items() if path is not None}
    return {
        n: (float(line.split()[1].split("h")[0]), float(line.split("V")[1].split("m")[0]))
        for n, line in lines.items()
    }


def limit(sizes):
    line = next(path for path in parsed(sizes).iter(f"{SVG}path") if path.get("data-kind") == "limit")
    assert line.get("stroke-dasharray")
    return float(line.get("d").split()[1].split("H")[0])


@every_table
def test_every_size_has_one_mark_inside_the_frame(sizes):
    left, top, right, bottom = frame(sizes)
    found = points(sizes)
    assert sorted(found) == sorted(sizes.n_leaves.tolist())
    assert all(left < x < right and top < y < bottom for x, y in found.values())
    assert all(top < end < bottom for ends in bars(sizes).values() for end in ends)
    assert top < limit(sizes) < bottom


@every_table
def test_larger_trees_stand_further_right_and_greater_numbers_higher(sizes):
    found = points(sizes)
    across = [found[n_leaves][0] for n_leaves in sizes.n_leaves.tolist()]
    assert all(larger >= smaller for larger, smaller in pairwise(across))
    height = [found[n_leaves][1] for n_leaves in sizes.n_leaves.tolist()]
    order = np.argsort([sizes.metric.shown(score) for score in sizes.score], kind="stable")
    assert (np.diff(np.array(height)[order]) <= 0).all()  # pixels are counted from above


def test_three_sizes_stand_where_they_are_worked_out_to_stand():
    sizes = table([3, 2, 1], [0.9, 0.6, 0.5])
    left, top, right, bottom = frame(sizes)
    lowest, highest = bottom - INSET, top + ROW + INSET  # one row of words, as the best is chosen
    # Leaves 1 to 3 from left to right, scores 0.5 to 0.9 upwards: 2 is halfway, and 0.6 a quarter of the way.
    found = points(sizes)
    assert found[1] == pytest.approx((left + INSET, lowest), abs=0.11)
    assert found[2] == pytest.approx(((left + right) / 2, lowest + (highest - lowest) / 4), abs=0.11)
    assert found[3] == pytest.approx((right - INSET, highest), abs=0.11)
    # Beside the margin of 20 and the title's 24 stands the widest tick, "0.9": 12 * (2 * 0.63 + 0.41) pixels.
    assert left == pytest.approx(20 + 24 + 20.04, abs=0.06)
    assert right == pytest.approx(WIDTH - 20)


def test_many_leaves_stand_on_a_logarithmic_scale():
    found = points(table([100, 10, 1], [0.9, 0.8, 0.5]))
    assert found[10][0] - found[1][0] == pytest.approx(found[100][0] - found[10][0], abs=0.11)
    assert "number of leaves, logarithmic scale" in texts(table([100, 10, 1], [0.9, 0.8, 0.5]))
    assert "number of leaves" in texts(SMALL)


def test_bars_reach_one_standard_error_and_the_dashed_line_stands_one_off_the_best():
    # From 0.5 (the root, no error) to 0.96 (0.9 + 0.06).
    _, top, _, bottom = frame(SMALL)
    lowest, highest = bottom - INSET, top + 2 * ROW + INSET
    pixel = (highest - lowest) / 0.46
    assert bars(SMALL)[3] == pytest.approx((highest, lowest + 0.34 * pixel), abs=0.11)
    assert bars(SMALL)[2] == pytest.approx((lowest + 0.39 * pixel, lowest + 0.31 * pixel), abs=0.11)
    assert limit(SMALL) == pytest.approx(lowest + 0.34 * pixel, abs=0.11)
    assert set(bars(SMALL)) == {2, 3, 4}  # the root has no error to show


def test_of_a_loss_the_dashed_line_stands_above_the_best():
    sizes = ALL["a loss"]
    assert limit(sizes) < points(sizes)[3][1]
    assert "log loss by the size of the tree, less is better" in texts(sizes)
    assert "one standard error above the best" in texts(sizes)
    assert "best and chosen: 3 leaves, 0.4" in texts(sizes)


def test_the_best_and_the_chosen_size_are_marked_and_named():
    # 0.85 with 2 leaves is within 0.06 of 0.9 with 3.
    kinds = {n_leaves: group.get("data-kind") for n_leaves, group in marks(SMALL).items()}
    assert kinds == {4: "size", 3: "size best", 2: "size chosen", 1: "size"}
    assert {"best: 3 leaves, 0.9", "chosen: 2 leaves, 0.85"} <= set(texts(SMALL))
    by_mean = table([3, 1], [0.9, 0.5], [0.1, 0.1], selection_rule="cv")
    assert marks(by_mean)[3].get("data-kind") == "size best chosen"
    assert "best and chosen: 3 leaves, 0.9" in texts(by_mean)
    assert "best and chosen: 1 leaf, 0.5" in texts(ALL["root alone"])


@pytest.mark.parametrize(("chosen", "best"), list(combinations(range(1, 13), 2)))
def test_the_words_keep_clear_of_each_other_and_of_the_frame(chosen, best):
    n_leaves = np.arange(12, 0, -1)
    scores = np.where(n_leaves == best, 0.9, np.where(n_leaves == chosen, 0.89, 0.5))
    sizes = table(n_leaves, scores, np.full(12, 0.02))
    left, _, right, _ = frame(sizes)
    spans = {}
    for text in parsed(sizes).iter(f"{SVG}text"):
        if text.text.startswith(("best:", "chosen:")):
            x, width = float(text.get("x")), text_width(text.text, 12, bold=True)
            start = x if text.get("text-anchor") == "start" else x - width
            spans[text.text.split(":")[0]] = (start, start + width, float(text.get("y")))
    assert all(left <= start and end <= right for start, end, _ in spans.values())
    # The line up to the words of the upper row must not cross those of the lower one.
    upper, lower = sorted(spans, key=lambda word: spans[word][2])
    assert spans[upper][2] < spans[lower][2]
    x = points(sizes)[best if upper == "best" else chosen][0]
    assert not spans[lower][0] <= x <= spans[lower][1]


def test_a_tooltip_tells_all_of_a_size():
    assert marks(SMALL)[2].find(f"{SVG}title").text.splitlines() == [
        "2 leaves",
        "AUC 0.85 ± 0.04",
        "ccp_alpha 0.2",
        "chosen",
    ]
    assert marks(SMALL)[1].find(f"{SVG}title").text.splitlines() == ["1 leaf", "AUC 0.5", "ccp_alpha 0.3"]


def test_the_parameter_stands_above_unless_it_is_the_number_of_leaves_itself():
    assert {"ccp_alpha", "0.2", "0.3"} <= set(texts(SMALL))
    assert "max_leaf_nodes" not in texts(ALL["leaves"])


def test_bars_of_many_sizes_are_thinned_and_never_those_of_the_best_and_the_chosen():
    sizes = many_sizes()
    drawn = bars(sizes)
    assert len(marks(sizes)) == 300
    assert 20 < len(drawn) < 70
    assert {int(sizes.n_leaves[sizes.best]), int(sizes.n_leaves[sizes.chosen])} <= set(drawn)
    assert "mean of 2 folds ± one standard error (at some sizes)" in texts(sizes)
    assert "mean of 2 folds ± one standard error" in texts(SMALL)
    assert "rows held out ± one standard error" in texts(ALL["one fold"])


@every_table
def test_the_picture_is_a_file_of_its_own_that_a_screen_reader_can_tell(sizes):
    text, root = size_svg(sizes), parsed(sizes)
    assert text == sizes.to_svg()
    assert text in sizes._repr_html_()
    assert " id=" not in text  # several pictures on one page must not clash
    assert "nan" not in text
    assert "inf" not in text.replace(sizes.reason, "").replace("± inf", "")
    assert root.get("role") == "img"
    assert [part.tag for part in root[:3]] == [f"{SVG}title", f"{SVG}desc", f"{SVG}rect"]
    assert root[1].text == sizes.reason
    assert root[2].get("fill") == "#ffffff"  # its own paper, for dark pages


def test_an_odd_title_is_shown_as_text_and_never_run():
    title = "<script>alert('x')</script> & \x00\ud800 " + "long " * 100
    sizes = table([3, 2, 1], [0.9, 0.6, 0.5], metric=Metric("odd", title, False))
    text = size_svg(sizes)
    assert "<script" not in text
    assert {element.tag for element in parsed(sizes).iter()} <= {
        SVG + tag for tag in ("svg", "g", "rect", "path", "circle", "polyline", "text", "title", "desc")
    }
    assert max(len(line) for line in texts(sizes)) < 100
    assert "<script>alert('x')</script> & \\x00\\ud800 long" in marks(sizes)[3].find(f"{SVG}title").text


@pytest.mark.parametrize(
    "ends", [(0.48, 0.93), (-1.7, -0.2), (0.0, 34.0), (0.5, 0.5), (0.0, 0.0), (-1e300, 2e300)]
)
def test_ticks_are_different_round_numbers_between_the_ends(ends):
    low, high = widened(*ends)
    ticks = score_ticks(low, high)
    assert 4 <= len(ticks) <= 11
    assert all(low <= tick <= high for tick, _ in ticks)
    assert len({text for _, text in ticks}) == len(ticks)
    assert [float(text) for _, text in ticks] == pytest.approx([tick for tick, _ in ticks])


@pytest.mark.parametrize("most", [1, 2, 12, 13, 30, 31, 300, 2001, 10_000, 3_000_000])
def test_leaf_ticks_are_few_and_start_at_the_root(most):
    ticks = leaf_ticks(1, most)
    assert ticks == sorted(set(ticks))
    assert ticks[0] == 1
    assert most / 3.1 < ticks[-1] <= most
    assert len(ticks) <= 12


def test_the_picture_in_the_documentation_is_one_of_these():
    picture = Path(__file__).parents[2] / "docs" / "images" / "sizes.svg"
    root = ElementTree.parse(picture).getroot()
    kinds = [group.get("data-kind", "") for group in root.iter(f"{SVG}g")]
    assert sum("chosen" in kind.split() for kind in kinds) == 1
    assert root[0].text == "accuracy by the size of the tree"
