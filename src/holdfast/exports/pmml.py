"""A model in PMML 4.4: a TreeModel, or a MiningModel of several.

Every split has a child for missing values (`defaultChild`), categories are compared by sets, never by order,
and an unseen category counts as missing. Boosted models are a chain: sums of trees, and a regression that is
the link.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from xml.etree import ElementTree

import numpy as np

from holdfast._files import replace_file
from holdfast._version import __version__
from holdfast.data.schema import Feature, Label
from holdfast.errors import EngineError, ExportError
from holdfast.exports.check import EnginePredictions, Rows
from holdfast.exports.plain_model import PlainLeaf, PlainModel, PlainSplit, PlainTree, make_plain_model

NAMESPACE = "http://www.dmg.org/PMML-4_4"
SCORE = "score"  # name of the sum of the trees of an output
_NOT_IN_ARRAYS = '"\\\n\r\t'  # evaluators read these in quotes each in its own way
Element = ElementTree.Element


def to_pmml(model: Any) -> bytes:
    """Export as a PMML 4.4 file with the same predictions.

    It is read by evaluators in Java, Python and R. Fields have the names of the columns; a missing value is a
    missing field. Of survival models, the outputs are `risk` and, say, `survival_365`.

    Parameters
    ----------
    model : Tree, Ensemble or fitted estimator

    Returns
    -------
    bytes

    Examples
    --------
    >>> from holdfast import Table, grow
    >>> tree = grow(Table.from_arrays([[1.0], [2.0], [3.0]], ["no", "no", "yes"]))
    >>> b'missingValueStrategy="defaultChild"' in to_pmml(tree)
    True
    """
    plain = make_plain_model(model)
    _check_texts(plain)
    root = Element("PMML", xmlns=NAMESPACE, version="4.4")
    header = _child(root, "Header")
    header.attrib |= {"description": "; ".join(map(": ".join, plain.notes.items()))} if plain.notes else {}
    _child(header, "Application", name="holdfast", version=__version__)
    dictionary = _child(root, "DataDictionary")
    _field(dictionary, plain.target.name, plain.target.classes)
    for feature in plain.columns:
        _field(dictionary, feature.name, feature.categories)
    root.append(_single_tree(plain) if plain.link is None else _ensemble(plain))
    if plain.notes:
        _survival_outputs(root[-1], plain)
    ElementTree.indent(root)
    return bytes(ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)) + b"\n"


def _child(parent: Element, tag: str, **attributes: str) -> Element:
    return ElementTree.SubElement(parent, tag, attributes)


# -- fields -----------------------------------------------------------------------------------------------


def _field(parent: Element, name: str, labels: Sequence[Label]) -> None:
    if not labels:
        _child(parent, "DataField", name=name, optype="continuous", dataType="double")
        return
    field = _child(parent, "DataField", name=name, optype="categorical", dataType=_type(name, labels))
    for label in labels:
        _child(field, "Value", value=_text(label))


def _type(name: str, labels: Sequence[Label]) -> str:
    kinds = {bool if isinstance(label, bool) else type(label) for label in labels}
    if kinds == {int, float}:
        kinds = {float}
    if len(kinds) > 1:
        raise ExportError(
            f"the categories of {name!r} are of several types, and a field of PMML has one: turn all into "
            "text, and grow the model again."
        )
    return {bool: "boolean", int: "integer", float: "double", str: "string"}[kinds.pop()]


def _text(label: Label) -> str:
    return str(label).lower() if isinstance(label, bool) else str(label)


def _mining_schema(
    parent: Element, plain: PlainModel, columns: Sequence[Feature], *, target: bool = True
) -> None:
    schema = _child(parent, "MiningSchema")
    if target:
        _child(schema, "MiningField", name=plain.target.name, usageType="target")
    for feature in columns:
        invalid = "asMissing" if feature.categories else "asIs"
        _child(schema, "MiningField", name=feature.name, invalidValueTreatment=invalid)


def _columns(plain: PlainModel, tree: PlainTree) -> list[Feature]:
    used = {split.feature.name for split in tree.splits.values()}
    return [feature for feature in plain.columns if feature.name in used]


# -- trees ------------------------------------------------------------------------------------------------


def _single_tree(plain: PlainModel) -> Element:
    tree = plain.trees[0]
    if not plain.target.is_classes:
        return _number_tree(plain, tree, 0)
    return _class_tree(plain, tree, target=True, outputs=True)


def _tree_model(plain: PlainModel, tree: PlainTree, function: str, *, target: bool) -> Element:
    model = Element(
        "TreeModel",
        functionName=function,
        missingValueStrategy="defaultChild",
        splitCharacteristic="binarySplit",
    )
    _mining_schema(model, plain, _columns(plain, tree), target=target)
    return model


def _class_tree(plain: PlainModel, tree: PlainTree, *, target: bool, outputs: bool = False) -> Element:
    """Make a tree of class fractions."""
    model = _tree_model(plain, tree, "classification", target=target)
    if outputs:
        _outputs(model, plain)

    def describe(node: Element, leaf: PlainLeaf) -> None:
        node.set("score", _text(plain.target.classes[leaf.outcome]))
        for label, value in zip(plain.target.classes, leaf.values, strict=True):
            share = repr(value / tree.weight)
            _child(node, "ScoreDistribution", value=_text(label), recordCount=share, probability=share)

    _add_nodes(model, tree, describe)
    return model


def _number_tree(
    plain: PlainModel, tree: PlainTree, place: int, *, target: bool = True, divided: bool = False
) -> Element:
    """Make a tree of one of the numbers of its leaves."""
    model = _tree_model(plain, tree, "regression", target=target)

    def describe(node: Element, leaf: PlainLeaf) -> None:
        node.set("score", repr(leaf.values[place] / tree.weight if divided else leaf.values[place]))

    _add_nodes(model, tree, describe)
    return model


def _add_nodes(model: Element, tree: PlainTree, describe: Any) -> None:
    root = _child(model, "Node", id="0")
    _child(root, "True")
    places = {0: root}
    for number, node in enumerate(tree.nodes):  # preorder: a parent stands before its children
        element = places[number]
        if isinstance(node, PlainLeaf):
            describe(element, node)
            continue
        element.set("defaultChild", str(node.yes if node.missing_yes else node.no))
        for child, is_yes in ((node.yes, True), (node.no, False)):
            places[child] = _child(element, "Node", id=str(child))
            _predicate(places[child], node, is_yes)


def _predicate(parent: Element, split: PlainSplit, is_yes: bool) -> None:
    name = split.feature.name
    if split.threshold is not None:
        operator = "lessOrEqual" if is_yes else "greaterThan"
        _child(parent, "SimplePredicate", field=name, operator=operator, value=repr(split.threshold))
        return
    has_missing = split.missing_yes == is_yes
    labels = (split.in_yes or ()) if is_yes else split.in_no
    is_whole = is_yes if split.in_yes is None else len(labels) == len(split.feature.categories)
    if is_whole:
        _known(parent, name, None if has_missing else "isNotMissing")
    elif not labels:
        _known(parent, name, "isMissing" if has_missing else "")
    elif any(mark in _text(label) for label in labels for mark in _NOT_IN_ARRAYS):
        _is_one_of(parent, name, labels)
    else:
        found = _child(parent, "SimpleSetPredicate", field=name, booleanOperator="isIn")
        kind = _type(name, split.feature.categories)
        array_type = {"integer": "int", "double": "real"}.get(kind, "string")
        array = _child(found, "Array", type=array_type, n=str(len(labels)))
        array.text = " ".join(f'"{label}"' if isinstance(label, str) else _text(label) for label in labels)


def _is_one_of(parent: Element, name: str, labels: Sequence[Label]) -> None:
    if len(labels) > 1:
        parent = _child(parent, "CompoundPredicate", booleanOperator="or")
    for label in labels:
        _child(parent, "SimplePredicate", field=name, operator="equal", value=_text(label))


def _known(parent: Element, name: str, operator: str | None) -> None:
    """Accept all rows (None), no rows (empty), or those with or without a value."""
    if operator:
        _child(parent, "SimplePredicate", field=name, operator=operator)
    else:
        _child(parent, "True" if operator is None else "False")


# -- ensembles --------------------------------------------------------------------------------------------


def _ensemble(plain: PlainModel) -> Element:
    if plain.link == "mean":
        return _mean(plain)
    if plain.link == "identity":
        return _sum(plain, 0, target=True)
    function = "classification" if plain.target.is_classes else "regression"
    model = _mining_model(plain, function)
    if plain.target.is_classes:
        _outputs(model, plain)
    segments = _child(
        model, "Segmentation", multipleModelMethod="modelChain", missingPredictionTreatment="returnMissing"
    )
    for output in range(plain.n_outputs):
        _segment(segments, output).append(_sum(plain, output, target=False))
    _segment(segments, plain.n_outputs).append(_link(plain, function))
    return model


def _mean(plain: PlainModel) -> Element:
    classes = plain.target.is_classes
    model = _mining_model(plain, "classification" if classes else "regression")
    if classes:
        _outputs(model, plain)
    is_weighted = len({tree.weight for tree in plain.trees}) > 1
    method = "weightedAverage" if is_weighted else "average"  # also of votes, whose ties are then ours
    segments = _child(model, "Segmentation", multipleModelMethod=method)
    for place, tree in enumerate(plain.trees):
        segment = _segment(segments, place, tree.weight if is_weighted else None)
        if classes:
            segment.append(_class_tree(plain, tree, target=False))
        else:
            segment.append(_number_tree(plain, tree, 0, target=False, divided=True))
    return model


def _sum(plain: PlainModel, output: int, *, target: bool) -> Element:
    """Sum what the trees add to one of the scores."""
    model = _mining_model(plain, "regression", target=target)
    if target:
        field = plain.target.name
        targets = _child(model, "Targets")
        _child(targets, "Target", field=field, rescaleConstant=repr(plain.start[output]))
    else:
        outputs = _child(model, "Output")
        _child(
            outputs,
            "OutputField",
            name=f"{SCORE}{output}",
            optype="continuous",
            dataType="double",
            feature="predictedValue",
            isFinalResult="false",
        )
    segments = _child(model, "Segmentation", multipleModelMethod="sum")
    for place, (tree, value) in enumerate(_adding_to(plain, output)):
        _segment(segments, place).append(_number_tree(plain, tree, value, target=False))
    return model


def _adding_to(plain: PlainModel, output: int) -> Iterator[tuple[PlainTree, int]]:
    """List the trees that add to the score, with the position of the value in their leaves."""
    for tree in plain.trees:
        width = len(next(iter(tree.leaves.values())).values)
        if tree.output <= output < tree.output + width:
            yield tree, output - tree.output


def _link(plain: PlainModel, function: str) -> Element:
    """Make a regression on the scores, whose normalisation is the link."""
    method = {"softmax": "softmax", "exp": "exp"}.get(plain.link or "", "logit")
    model = Element("RegressionModel", functionName=function, normalizationMethod=method)
    schema = _child(model, "MiningSchema")
    _child(schema, "MiningField", name=plain.target.name, usageType="target")
    for output in range(plain.n_outputs):
        _child(schema, "MiningField", name=f"{SCORE}{output}")
    coefficient = 2.0 if plain.link == "double_logistic" else 1.0
    labels = [_text(label) for label in plain.target.classes]
    if method == "logit":
        _table(model, plain, 0, coefficient, targetCategory=labels[1])
        _child(model, "RegressionTable", intercept="0", targetCategory=labels[0])
    elif method == "softmax":
        for output, label in enumerate(labels):
            _table(model, plain, output, coefficient, targetCategory=label)
    else:
        _table(model, plain, 0, coefficient)
    return model


def _table(model: Element, plain: PlainModel, output: int, coefficient: float, **attributes: str) -> None:
    start = repr(coefficient * plain.start[output])
    table = _child(model, "RegressionTable", intercept=start, **attributes)
    _child(table, "NumericPredictor", name=f"{SCORE}{output}", coefficient=repr(coefficient))


def _mining_model(plain: PlainModel, function: str, *, target: bool = True) -> Element:
    model = Element("MiningModel", functionName=function)
    _mining_schema(model, plain, plain.columns, target=target)
    return model


def _segment(parent: Element, place: int, weight: float | None = None) -> Element:
    attributes = {} if weight is None else {"weight": repr(weight)}
    segment = _child(parent, "Segment", id=str(place + 1), **attributes)
    _child(segment, "True")
    return segment


def _outputs(model: Element, plain: PlainModel) -> None:
    outputs = _child(model, "Output")
    for label in plain.target.classes:
        name = f"probability({_text(label)})"
        _child(
            outputs,
            "OutputField",
            name=name,
            optype="continuous",
            dataType="double",
            feature="probability",
            value=_text(label),
        )


def _survival_outputs(model: Element, plain: PlainModel) -> None:
    """Add the risk, which is the predicted value, and survival, which is computed from it."""
    outputs = Element("Output")
    model.insert(1, outputs)  # after the mining schema
    kind = {"optype": "continuous", "dataType": "double"}
    risk, survival = plain.numbers
    _child(outputs, "OutputField", name=risk, feature="predictedValue", **kind)
    computed = _child(outputs, "OutputField", name=survival, feature="transformedValue", **kind)
    product = _child(_child(computed, "Apply", function="exp"), "Apply", function="*")
    _child(product, "Constant", dataType="double").text = repr(-(plain.hazard_at_horizon or 0.0))
    _child(product, "FieldRef", field=risk)


# -- texts that XML cannot hold ----------------------------------------------------------------------------


def _check_texts(plain: PlainModel) -> None:
    fields = [
        (plain.target.name, plain.target.classes),
        *((each.name, each.categories) for each in plain.columns),
    ]
    names = [*plain.notes, *(name for name, _ in fields)]
    if len(set(names)) < len(names) or any(
        name.startswith(SCORE) and name[len(SCORE) :].isdigit() for name in names
    ):
        raise ExportError(f"PMML needs one name for each field, and none like {SCORE}0: rename a column.")
    for name, labels in fields:
        texts = [_text(label) for label in labels]
        if len(set(texts)) < len(texts):
            raise ExportError(f"two labels of {name!r} are one text, and PMML has texts only: rename one.")
        for text in (name, *texts):
            if not text or not all(_is_xml(letter) for letter in text):
                raise ExportError(f"PMML has no field and no value {text!r}: rename it.")


def _is_xml(letter: str) -> bool:
    return (
        letter in "\t\n\r"
        or "\x20" <= letter <= "\ud7ff"
        or "\ue000" <= letter <= "\ufffd"
        or letter > "\uffff"
    )


# -- running it -------------------------------------------------------------------------------------------


def predict_rows(exported: bytes, plain: PlainModel, rows: Rows) -> EnginePredictions:
    """Predict with the evaluator of JPMML, which needs Java."""
    try:
        import jpmml_evaluator
        import pandas as pd
    except ImportError as error:
        raise EngineError(
            "the format 'pmml' is verified in Java: install it, and pip install jpmml-evaluator jpype1."
        ) from error
    with TemporaryDirectory() as folder:
        path = Path(folder) / "model.pmml"
        replace_file(path, exported)
        evaluator = jpmml_evaluator.make_evaluator(str(path)).verify()
    frame = pd.DataFrame({name: pd.Series(values, dtype=object) for name, values in rows.items()})
    predicted = evaluator.evaluateAll(frame, nan_as_missing=True)
    engine = f"JPMML-Evaluator {jpmml_evaluator.__version__}"
    target = plain.target
    if not target.is_classes:
        names = [*plain.notes] or [target.name]
        return EnginePredictions(predicted[names].to_numpy(np.float64), None, engine)
    names = [f"probability({_text(label)})" for label in target.classes]
    return EnginePredictions(
        predicted[names].to_numpy(np.float64),
        [each.item() if isinstance(each, np.generic) else each for each in predicted[target.name]],
        engine,
    )
