"""The class that matters, where there are two: what drawings, rules and pages tell the risk of."""

import numpy as np

from holdfast.data.schema import Label
from holdfast.errors import ParameterError
from holdfast.tree.tree import Tree


def positive_class(tree: Tree, positive: Label | None = None) -> int | None:
    """Index of the positive class: the one asked for, or the rarer one; None unless there are two classes.

    Of two classes alike in number the second is taken, as scikit-learn does.
    """
    classes = tree.schema.target.classes
    if positive is not None and positive not in classes:
        raise ParameterError(
            f"positive={positive!r} is no class of {tree.schema.target.name!r}: {list(classes)}."
        )
    if len(classes) != 2:
        return None
    if positive is not None:
        return classes.index(positive)
    return int(np.argmin(np.round(tree.value[0][::-1], 9)) == 0)
