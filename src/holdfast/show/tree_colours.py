"""The colours of a drawn tree: by class, by risk or by mean."""

import numpy as np

from holdfast.arrays import FloatArray
from holdfast.show.node_texts import NodeTexts
from holdfast.show.palette import BLUE, EDGE, OUTLINE, lighter, nth_colour, risk_colour
from holdfast.tree.tree import LEAF


def class_colour(texts: NodeTexts, place: int) -> str:
    """Of the positive class the end of the scale of risks; of the other one a quiet grey."""
    if texts.positive is None:
        return nth_colour(place)
    return BLUE if place == texts.positive else EDGE


def leaf_colours(texts: NodeTexts, node: int) -> tuple[str, str]:
    """Inside and border: by risk or mean; of three or more classes by the class, the deeper the surer."""
    tree = texts.tree
    if texts.positive is not None:
        return colour_of_risk(texts, float(tree.value[node, texts.positive])), OUTLINE
    if not tree.schema.target.is_classes:
        return mean_colour(texts, float(tree.value[node, 0])), OUTLINE
    colour, least = nth_colour(int(tree.outcome[node])), 1 / len(tree.schema.target.classes)
    sure = (float(tree.value[node, tree.outcome[node]]) - least) / (1 - least) if least < 1 else 1.0
    return lighter(colour, 0.1 + 0.45 * sure), colour


def colour_of_risk(texts: NodeTexts, risk: float) -> str:
    """The place of the risk on the scale of the drawing."""
    return risk_colour(risk / highest_risk(texts))


def highest_risk(texts: NodeTexts) -> float:
    """The end of the scale of risks: 1, or where all are small the first of 0.5, 0.2, 0.1, ... above them."""
    assert texts.positive is not None
    highest = float(_leaf_values(texts, texts.positive).max())
    ends = [step * 10.0**power for power in range(-4, 0) for step in (1, 2, 5)]
    return next((end for end in ends if highest <= end), 1.0)


def mean_colour(texts: NodeTexts, mean: float) -> str:
    """The place of the mean between the lowest and the highest one."""
    low, high = ends_of_means(texts)
    return risk_colour((mean - low) / (high - low) if high > low else 1.0)


def ends_of_means(texts: NodeTexts) -> tuple[float, float]:
    """The ends of the scale of means."""
    means = _leaf_values(texts, 0)
    return float(means.min()), float(means.max())


def _leaf_values(texts: NodeTexts, place: int) -> FloatArray:
    """What all leaves say: of the tree and of those drawn beside it."""
    trees = [texts.tree, *texts.beside]
    return np.concatenate([tree.value[tree.feature == LEAF, place] for tree in trees])
