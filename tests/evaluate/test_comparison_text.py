"""The comparison of models as text and HTML, and the sentences below it."""

from dataclasses import replace

import numpy as np

from reference.comparisons import FOUR_FOLDS, comparison


def test_the_table_has_one_line_per_model_the_best_first() -> None:
    found = comparison(np.array(FOUR_FOLDS)[[2, 0, 1]], names=("tree", "forest", "stable"))
    assert found.text().splitlines()[0].split() == ["model", "AUC", "to", "forest", "size", "fit", "predict"]
    assert [line.split()[0] for line in found.text().splitlines()[1:]] == ["forest", "stable", "tree"]


def test_a_line_has_the_score_the_difference_the_size_and_the_times() -> None:
    # Errors 0.032, 0.025 and 0.032: two digits of the one in the middle are three decimals.
    lines = comparison(FOUR_FOLDS).text().splitlines()
    assert lines[1].split("  ")[-1].strip() == "2 ms"
    assert " ".join(lines[1].split()) == "forest 0.875 ± 0.032 100 trees 1.0 s 2 ms"
    assert " ".join(lines[2].split()) == "stable 0.845 ± 0.025 -0.030 ± 0.014 8 leaves 1.0 s 2 ms"
    assert " ".join(lines[3].split()) == "tree 0.575 ± 0.032 -0.300 ± 0.000 90 leaves 1.0 s 2 ms"


def test_the_table_without_times_says_nothing_of_them() -> None:
    lines = comparison(FOUR_FOLDS).text(times=False).splitlines()
    assert lines[0].split() == ["model", "AUC", "to", "forest", "size"]
    assert lines[1].endswith("100 trees")


def test_a_loss_is_shown_as_people_say_it_and_a_worse_one_is_greater() -> None:
    found = comparison(-np.array(FOUR_FOLDS)[::-1], scoring=("log_loss",), names=("good", "poor", "poorer"))
    lines = [" ".join(line.split()) for line in found.text().splitlines()]
    assert lines[1].startswith("good 0.575 ± 0.032")
    assert lines[3].startswith("poorer 0.875 ± 0.032 +0.300 ± 0.000")
    assert "By log loss, of which lower is better" in found.reading


def test_a_fold_that_compiled_for_a_minute_does_not_make_the_time() -> None:
    found = comparison(FOUR_FOLDS, fit_seconds=np.array([[60.0, 2.0, 2.5, 1.5]] * 3))
    assert "2.2 s" in found.text()


def test_other_metrics_have_a_table_of_their_own() -> None:
    found = comparison([FOUR_FOLDS, -np.array(FOUR_FOLDS)], scoring=("auc", "brier"))
    first, second = found.text().split("\n\n")
    assert "Brier" not in first
    assert second.splitlines()[0].split() == ["model", "Brier", "score", "(lower", "is", "better)"]


def test_the_sentences_say_what_is_within_noise_and_what_can_be_read() -> None:
    reading = comparison(FOUR_FOLDS).reading
    assert "over the same 4 folds, each of about 5 rows held out" in reading
    # The error 0.01394 of 5 folds above, times Student's 3.182 of three degrees of freedom.
    assert "Within noise of the best, forest: stable (up to 0.044 may be chance)." in reading
    assert "Readable among these: stable (8 leaves), a single tree." in reading
    far = comparison([[0.9, 0.8, 0.9], [0.5, 0.4, 0.5], [0.3, 0.1, 0.2]]).reading
    assert "forest is the best, by more than noise." in far
    assert "the best readable tree, stable (8 leaves), is 0.4 behind" in far
    none = comparison(FOUR_FOLDS, leaves=np.full((3, 4), 500.0)).reading
    assert "None is a single tree of up to 40 leaves" in none
    alone = comparison(FOUR_FOLDS[:1], names=("forest",)).reading
    assert "One model only" in alone


def test_names_are_text_in_a_notebook_and_never_markup() -> None:
    found = comparison(FOUR_FOLDS, names=("<script>", "b", "c"))
    assert "<script>" not in found._repr_html_()
    assert "&lt;script&gt;" in found._repr_html_()


def test_differences_print_themselves() -> None:
    text = repr(comparison(FOUR_FOLDS).differences("tree"))
    assert text.splitlines()[0].split() == ["model", "AUC,", "to", "tree"]
    assert "+0.270" in text
    assert repr(replace(comparison(FOUR_FOLDS).differences(), baseline="stable")).count("within noise") == 1
