"""A model as an ONNX graph: one TreeEnsemble of ai.onnx.ml finds the leaves, tables hold their values.

Thresholds, values and sums are doubles, added up in our order. A column is an input of its own, named as in
the data; a LabelEncoder turns categories into numbers.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast._version import __version__, install_command
from holdfast.data.schema import Feature
from holdfast.errors import EngineError, ExportError
from holdfast.exports.check import EnginePredictions, Rows, count_rows
from holdfast.exports.plain_model import PlainLeaf, PlainModel, PlainSplit, PlainTree, make_plain_model

OPSET, ML_OPSET, IR_VERSION = 21, 5, 10
MOST_MEMBERS = 20_000  # categories of all sets: onnxruntime crashes near 40,000
LESS_OR_EQUAL, MEMBER = 0, 6  # modes of a node
ALWAYS = np.finfo(np.float64).max  # every number is at most this


def to_onnx(model: Any) -> bytes:
    """Export as an ONNX file with the same predictions.

    Inputs are columns of shape (rows, 1): doubles for numbers, NaN where missing; strings for categories of
    text, where any other text counts as missing; doubles for numeric and boolean categories. Outputs are
    `label` and `probabilities`, or `prediction`; of survival models `risk` and, say, `survival_365`.

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
    >>> content = to_onnx(tree)  # doctest: +SKIP
    """
    plain = make_plain_model(model)
    members = sum(len(split.in_yes) + 2 for split in plain.splits if split.in_yes is not None)
    if members > MOST_MEMBERS:
        raise ExportError(
            f"the sets of categories of the model have {members} entries in all, and onnxruntime crashes on "
            f"some tens of thousands: at most {MOST_MEMBERS} are exported. Group rare categories, prune the "
            "model, or export it to SQL or Python."
        )
    return bytes(_Graph(plain).model().SerializeToString())


class _Graph:
    """An ONNX graph being written."""

    def __init__(self, plain: PlainModel) -> None:
        try:
            from onnx import TensorProto, helper, numpy_helper
        except ImportError as error:
            raise ExportError(f"the format 'onnx' needs onnx: {install_command('export')}.") from error
        self.plain, self.helper, self.types = plain, helper, TensorProto
        self.from_array = numpy_helper.from_array
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self.inputs = [self._input(feature) for feature in plain.columns]
        self.used = {feature.name for feature in plain.columns}

    def model(self) -> Any:
        """Return the whole model."""
        leaves = self._leaves(self._features())
        outputs = self._single_tree(leaves) if self.plain.link is None else self._ensemble(leaves)
        graph = self.helper.make_graph(self.nodes, "holdfast", self.inputs, outputs, self.constants)
        graph.doc_string = "\n".join(f"{name}: {note}" for name, note in self.plain.notes.items())
        opsets = [self.helper.make_opsetid("", OPSET), self.helper.make_opsetid("ai.onnx.ml", ML_OPSET)]
        return self.helper.make_model(
            graph,
            opset_imports=opsets,
            ir_version=IR_VERSION,
            producer_name="holdfast",
            producer_version=__version__,
        )

    # -- parts ------------------------------------------------------------------------------------------

    def _node(self, operation: str, *inputs: str, name: str = "", domain: str = "", **attributes: Any) -> str:
        output = self._find_free(name or operation.lower())
        self.nodes.append(
            self.helper.make_node(operation, list(inputs), [output], domain=domain, **attributes)
        )
        return output

    def _constant(self, array: Any) -> str:
        name = self._find_free("constant")
        self.constants.append(self.from_array(np.asarray(array), name))
        return name

    def _find_free(self, name: str) -> str:
        number, free = 1, name
        while free in self.used:
            number, free = number + 1, f"{name}_{number + 1}"
        self.used.add(free)
        return free

    def _input(self, feature: Feature) -> Any:
        if not feature.name:
            raise ExportError("ONNX has no input without a name: name the column, and grow the model again.")
        kind = self.types.STRING if _is_text(feature) else self.types.DOUBLE
        return self.helper.make_tensor_value_info(feature.name, kind, ["rows", 1])

    def _output(self, result: str, name: str, kind: int, *shape: Any) -> Any:
        self.nodes.append(self.helper.make_node("Identity", [result], [self._find_free(name)]))
        return self.helper.make_tensor_value_info(self.nodes[-1].output[0], kind, ["rows", *shape])

    # -- leaves -----------------------------------------------------------------------------------------

    def _features(self) -> str:
        columns = [
            self._encoded(feature) if feature.categories else feature.name for feature in self.plain.columns
        ]
        if not columns:
            raise ExportError("the model has no split, and an ONNX file needs an input.")
        return self._node("Concat", *columns, name="features", axis=1)

    def _encoded(self, feature: Feature) -> str:
        labels = feature.categories if _is_text(feature) else list(map(float, feature.categories))
        keys = np.array(labels, object if _is_text(feature) else np.float64)
        return self._node(
            "LabelEncoder",
            feature.name,
            name="codes",
            domain="ai.onnx.ml",
            keys_tensor=self.from_array(keys, "keys"),
            values_tensor=self.from_array(np.arange(1.0, len(keys) + 1), "values"),
            default_tensor=self.from_array(np.array([len(keys) + 1.0]), "default"),
        )

    def _leaves(self, features: str) -> list[str]:
        """Return for each tree the leaf positions of all rows."""
        trees = self.plain.trees
        found = self._node(
            "TreeEnsemble", features, name="leaves", domain="ai.onnx.ml", **self._tree_attributes()
        )
        places = self._node("Cast", found, to=self.types.INT64)
        return [
            self._node("Gather", places, self._constant(np.int64(place)), axis=1)
            for place in range(len(trees))
        ]

    def _tree_attributes(self) -> dict[str, Any]:
        table = _NodeTable(self.plain)
        arrays: dict[str, NDArray[Any]] = {
            "nodes_modes": np.array(table.modes, np.uint8),
            "nodes_splits": np.array(table.splits, np.float64),
            "leaf_weights": np.array(table.leaf_weights, np.float64),
        }
        if table.members:
            arrays["membership_values"] = np.array(table.members, np.float64)
        return {
            "n_targets": len(self.plain.trees),
            "aggregate_function": 1,  # the sum: of one number, as every tree has a target of its own
            "post_transform": 0,
            "tree_roots": table.roots,
            "nodes_featureids": table.features,
            "nodes_truenodeids": table.true_nodes,
            "nodes_trueleafs": table.true_leaves,
            "nodes_falsenodeids": table.false_nodes,
            "nodes_falseleafs": table.false_leaves,
            "nodes_missing_value_tracks_true": table.missing_true,
            "leaf_targetids": table.leaf_targets,
            **{name: self.from_array(array, name) for name, array in arrays.items()},
        }

    # -- predictions -----------------------------------------------------------------------------------

    def _single_tree(self, leaves: Sequence[str]) -> list[Any]:
        of_tree = list(self.plain.trees[0].leaves.values())
        table = np.array([leaf.values for leaf in of_tree])
        if not self.plain.target.is_classes:
            columns = [self._constant(table[:, [place]]) for place in range(table.shape[1])]
            return self._numbers([self._node("Gather", column, leaves[0]) for column in columns])
        values = self._node("Gather", self._constant(table), leaves[0])
        outcomes = self._constant(np.array([leaf.outcome for leaf in of_tree], np.int64))
        return self._classes(self._node("Gather", outcomes, leaves[0]), values)

    def _numbers(self, values: Sequence[str]) -> list[Any]:
        names = zip(self.plain.numbers, values, strict=True)
        return [self._output(each, name, self.types.DOUBLE, 1) for name, each in names]

    def _classes(self, places: str, values: str) -> list[Any]:
        labels, kind = self._labels()
        label = self._output(self._node("Gather", labels, places), "label", kind)
        n_classes = len(self.plain.target.classes)
        return [label, self._output(values, "probabilities", self.types.DOUBLE, n_classes)]

    def _labels(self) -> tuple[str, int]:
        classes = self.plain.target.classes
        if all(isinstance(label, int) for label in classes):
            return self._constant(np.array(classes, np.int64)), self.types.INT64
        if any(isinstance(label, str) for label in classes):
            return self._constant(np.array(list(map(str, classes)), object)), self.types.STRING
        return self._constant(np.array(classes, np.float64)), self.types.DOUBLE

    def _ensemble(self, leaves: Sequence[str]) -> list[Any]:
        scores = self._constant(np.array([self.plain.start]))
        for tree, leaf in zip(self.plain.trees, leaves, strict=True):
            scores = self._node("Add", scores, self._node("Gather", self._constant(self._table(tree)), leaf))
        values = getattr(self, f"_link_{self.plain.link}")(scores)
        if self.plain.hazard_at_horizon is not None:
            power = self._node("Mul", values, self._constant(np.array(-self.plain.hazard_at_horizon)))
            return self._numbers([values, self._node("Exp", power)])
        if not self.plain.target.is_classes:
            return self._numbers([values])
        return self._classes(self._node("ArgMax", values, axis=1, keepdims=0), values)

    def _table(self, tree: PlainTree) -> NDArray[np.float64]:
        """Return what each leaf adds to every score."""
        table = np.zeros((len(tree.leaves), self.plain.n_outputs))
        for place, leaf in enumerate(tree.leaves.values()):
            table[place, tree.output : tree.output + len(leaf.values)] = leaf.values
        return table

    def _link_mean(self, scores: str) -> str:
        return self._node("Div", scores, self._constant(np.array(self.plain.total_weight)))

    def _link_identity(self, scores: str) -> str:
        return scores

    def _link_exp(self, scores: str) -> str:
        return self._node("Exp", self._node("Min", scores, self._constant(np.array(709.0))))

    def _link_softmax(self, scores: str) -> str:
        return self._node("Softmax", scores, axis=1)

    def _link_logistic(self, scores: str) -> str:
        both = self._node("Concat", self._node("Neg", scores), scores, axis=1)
        return self._node("Sigmoid", both)

    def _link_double_logistic(self, scores: str) -> str:
        return self._link_logistic(self._node("Mul", scores, self._constant(np.array(2.0))))


class _NodeTable:
    """Splits and leaves of all trees in the lists of a TreeEnsemble."""

    def __init__(self, plain: PlainModel) -> None:
        self.features: list[int] = []
        self.modes: list[int] = []
        self.splits: list[float] = []
        self.members: list[float] = []  # a NaN ends each set
        self.missing_true: list[int] = []
        self.true_nodes: list[int] = []
        self.true_leaves: list[int] = []
        self.false_nodes: list[int] = []
        self.false_leaves: list[int] = []
        self.leaf_weights: list[float] = []  # the place of the leaf among those of its tree
        self.leaf_targets: list[int] = []
        self.roots: list[int] = []
        for target, tree in enumerate(plain.trees):
            self._add(plain, tree, target)

    def _add(self, plain: PlainModel, tree: PlainTree, target: int) -> None:
        split_places = {number: len(self.modes) + place for place, number in enumerate(tree.splits)}
        leaf_places = {number: len(self.leaf_weights) + place for place, number in enumerate(tree.leaves)}
        self.leaf_weights += [float(place) for place in range(len(leaf_places))]
        self.leaf_targets += [target] * len(leaf_places)
        self.roots.append(len(self.modes))
        for split in tree.splits.values():
            self._add_split(plain, split)
            for child, nodes, leaves in (
                (split.yes, self.true_nodes, self.true_leaves),
                (split.no, self.false_nodes, self.false_leaves),
            ):
                is_leaf = isinstance(tree.nodes[child], PlainLeaf)
                leaves.append(int(is_leaf))
                nodes.append(leaf_places[child] if is_leaf else split_places[child])
        if not tree.splits:  # a tree of one leaf is a split whose children are that leaf
            self._add_node(0, LESS_OR_EQUAL, ALWAYS, True)
            for nodes, leaves in ((self.true_nodes, self.true_leaves), (self.false_nodes, self.false_leaves)):
                leaves.append(1)
                nodes.append(leaf_places[0])

    def _add_split(self, plain: PlainModel, split: PlainSplit) -> None:
        column = plain.columns.index(split.feature)
        if split.in_yes is None:
            threshold = ALWAYS if split.threshold is None else split.threshold
            self._add_node(column, LESS_OR_EQUAL, threshold, split.missing_yes)
            return
        categories = split.feature.categories
        codes = [place + 1.0 for place, label in enumerate(categories) if label in set(split.in_yes)]
        if split.missing_yes:
            codes.append(len(categories) + 1.0)
        if codes:
            self._add_node(column, MEMBER, np.nan, False)
            self.members += [*codes, np.nan]
        else:
            self._add_node(column, LESS_OR_EQUAL, 0.0, False)  # no code is 0

    def _add_node(self, column: int, mode: int, threshold: float, missing_true: bool) -> None:
        self.features.append(column)
        self.modes.append(mode)
        self.splits.append(threshold)
        self.missing_true.append(int(missing_true))


def _is_text(feature: Feature) -> bool:
    kinds = {isinstance(label, str) for label in feature.categories}
    if len(kinds) > 1:
        raise ExportError(
            f"the categories of column {feature.name!r} are text and numbers, and an input of ONNX holds one "
            "of them: turn all into text, and grow the model again."
        )
    return kinds == {True}


# -- running it -------------------------------------------------------------------------------------------


def predict_rows(exported: bytes, plain: PlainModel, rows: Rows) -> EnginePredictions:
    """Predict with onnxruntime."""
    try:
        import onnxruntime
    except ImportError as error:
        raise EngineError("the format 'onnx' is verified by onnxruntime: pip install onnxruntime.") from error
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(exported, options, providers=["CPUExecutionProvider"])
    columns = {feature.name: _column(feature, rows[feature.name]) for feature in plain.columns}
    engine = f"onnxruntime {onnxruntime.__version__}"
    results = session.run(None, columns if count_rows(rows) else {})
    if not plain.target.is_classes:
        return EnginePredictions(np.hstack(results), None, engine)
    by_name = {str(label): label for label in plain.target.classes}
    outcomes = [by_name[each] if isinstance(each, str) else each for each in results[0].tolist()]
    return EnginePredictions(results[1], outcomes, engine)


def _column(feature: Feature, values: Sequence[Any]) -> NDArray[Any]:
    if not feature.categories or not _is_text(feature):
        return np.array([[np.nan if value is None else float(value)] for value in values])
    missing = ""
    while missing in feature.categories:
        missing += "?"
    return np.array([[missing if value is None else value] for value in values], object)
