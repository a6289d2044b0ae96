"""Between models and the parts of their documents."""

from collections.abc import Sequence
from dataclasses import fields
from itertools import chain
from typing import Any, get_args, get_type_hints

import msgspec
import numpy as np
from msgspec import UNSET, UnsetType
from msgspec.structs import asdict
from numpy.typing import NDArray

from holdfast._arrays import BoolArray, FloatArray, IntArray, LongArray, freeze
from holdfast.data.schema import Feature, Schema, Target
from holdfast.ensembles.max_features import MaxFeaturesTable
from holdfast.ensembles.out_of_bag import Curve
from holdfast.errors import BrokenTreeError, ModelFileError, ParameterError
from holdfast.growth.density import Density, HeldOutGain
from holdfast.growth.density_model import ClusterModel, StandardUnits
from holdfast.growth.size_search import SizeTable
from holdfast.io.content import document_in, kind_of, refusals_of
from holdfast.io.document import (
    FORMAT,
    FORMS,
    GAPPED_LISTS,
    GAPPED_NUMBERS,
    LISTS,
    VERSION,
    DensityPart,
    EditedNodePart,
    EditPart,
    Edits,
    EnsembleDocument,
    EstimatorPart,
    FeaturePart,
    Losses,
    MemberPart,
    MetricPart,
    MonotonePart,
    NodesPart,
    Promise,
    SchemaPart,
    TablePart,
    TargetPart,
    TreeDocument,
    TreePart,
    TreesDocument,
    array_in,
    n_entries,
    pieces,
    raw_array,
    text_of,
)
from holdfast.io.limits import check_flags, max_flags
from holdfast.scoring.metric import Metric, make_metric
from holdfast.stable.consensus.size import SizeChoice
from holdfast.stable.frontier import Frontier
from holdfast.tree.build import Node
from holdfast.tree.check import SetSizes, check_features, check_nodes, check_schema, check_target, check_trees
from holdfast.tree.edit import Edit
from holdfast.tree.ensemble import Ensemble
from holdfast.tree.monotone import Monotone
from holdfast.tree.stats import set_outcome
from holdfast.tree.tree import Tree

_ATTRIBUTES = {"categories_left": "in_set", "categories_seen": "seen"}  # where a tree has another name

# -- from a model to its document -------------------------------------------------------------------------


def document_of(tree: Tree) -> TreeDocument:
    """The document of a sound tree; its checksum comes with its text."""
    schema = _schema_part(tree.schema)
    return TreeDocument(**_head("tree"), schema=schema, **_tree_fields(tree))


def collection_of(trees: Sequence[Tree]) -> TreesDocument:
    """The document of one or more sound trees that share a schema; its checksum comes with its text."""
    parts = [TreePart(**_tree_fields(tree)) for tree in trees]
    return TreesDocument(**_head("trees"), schema=_schema_part(trees[0].schema), trees=parts)


def ensemble_document_of(ensemble: Ensemble) -> EnsembleDocument:
    """The document of a sound ensemble; its checksum comes with its text."""
    target, members = ensemble.schema.target, []
    for tree in ensemble.trees:
        # By their text: 1, 1.0 and True are equal in Python, but not the same class.
        is_shared = tree.schema.target is target or repr(tree.schema.target) == repr(target)
        own = None if is_shared else _target_part(tree.schema.target)
        members.append(MemberPart(target=own, **_tree_fields(tree)))
    return EnsembleDocument(
        **_head("ensemble"),
        link=ensemble.link,
        votes=bool(ensemble.votes),
        start=raw_array(ensemble.start.tolist()),
        weights=raw_array(ensemble.weights.tolist()),
        outputs=raw_array(ensemble.outputs.tolist()),
        notes=tuple(map(str, ensemble.notes)),
        loss_matrix=_loss_part(ensemble.loss_matrix),
        schema=_schema_part(ensemble.schema),
        trees=members,
    )


def _head(kind: str) -> dict[str, Any]:
    return {"format": FORMAT, "version": VERSION, "kind": kind, "checksum": ""}


def _tree_fields(tree: Tree) -> dict[str, Any]:
    """What the document has of every tree, alone or among others."""
    return {
        "criterion": str(tree.criterion),
        "notes": tuple(map(str, tree.notes)),
        "loss_matrix": _loss_part(tree.loss_matrix),
        "edits": tuple(map(_edit_part, tree.edits)) or UNSET,
        "monotone": _monotone_part(tree.monotone),
        "nodes": _nodes_part(tree),
    }


def _loss_part(loss_matrix: FloatArray | None) -> Losses:
    """The losses as the document has them."""
    return UNSET if loss_matrix is None else tuple(map(tuple, loss_matrix.tolist()))


def _schema_part(schema: Schema) -> SchemaPart:
    features = [
        FeaturePart(
            name=str(feature.name),
            kind=feature.kind,
            low=float(feature.low),
            high=float(feature.high),
            categories=feature.categories,
        )
        for feature in schema.features
    ]
    return SchemaPart(features=tuple(features), target=_target_part(schema.target))


def _target_part(target: Target) -> TargetPart:
    return TargetPart(
        name=str(target.name),
        classes=target.classes,
        low=float(target.low),
        high=float(target.high),
        positive=msgspec.UNSET if target.positive is None else target.positive,
    )


def _nodes_part(tree: Tree) -> NodesPart:
    arrays = {}
    for name in NodesPart.__struct_fields__:
        array = getattr(tree, _ATTRIBUTES.get(name, name))
        if array is None:
            continue
        if FORMS[name] is GAPPED_LISTS:
            arrays[name] = _raw_sets(tree, array)
        elif FORMS[name] is GAPPED_NUMBERS:
            arrays[name] = raw_array([None if number != number else number for number in array.tolist()])
        elif name == "outcome" and not tree.schema.target.is_classes:
            arrays[name] = raw_array([-1] * tree.n_nodes)
        else:
            arrays[name] = raw_array(array.tolist())
    return NodesPart(**arrays)


def _raw_sets(tree: Tree, flags: BoolArray) -> msgspec.Raw:
    """The categories that are flagged at every node; null where it has no set."""
    categories: list[list[int] | None] = [None] * tree.n_nodes
    for node in np.flatnonzero(tree.set_start >= 0).tolist():
        start = int(tree.set_start[node])
        own = flags[start : start + len(tree.schema.features[tree.feature[node]].categories)]
        categories[node] = np.flatnonzero(own).tolist()
    return raw_array(categories)


def _edit_part(edit: Edit) -> EditPart:
    return EditPart(
        kind=edit.kind,
        path=edit.path,
        before=_edited_node_part(edit.before),
        after=_edited_node_part(edit.after),
        by=str(edit.by),
        why=str(edit.why),
        when=str(edit.when),
        stale=edit.stale,
    )


def _edited_node_part(node: Node) -> EditedNodePart:
    value: Any = node.value
    is_classes = isinstance(value, dict)
    return EditedNodePart(
        feature=None if node.feature is None else str(node.feature),
        threshold=node.threshold,
        categories=None if node.categories is None else tuple(node.categories),
        missing_left=node.missing_left,
        classes=tuple(value) if is_classes else (),
        value=tuple(value.values()) if is_classes else () if value is None else (value,),
    )


def _monotone_part(monotone: Monotone | None) -> Promise:
    if monotone is None:
        return UNSET
    names, directions = zip(*monotone.directions, strict=True)
    return MonotonePart(features=names, directions=directions, outcome=monotone.outcome)


# -- from a document to its model -------------------------------------------------------------------------


def schema_in(part: SchemaPart) -> Schema:
    """The schema as the document says it is: whether it is a sound one remains to be checked."""
    features = tuple(Feature(**asdict(feature)) for feature in part.features)
    return Schema(features, target_in(part.target))


def target_in(part: TargetPart) -> Target:
    """The target as the document says it is."""
    said = {name: entry for name, entry in asdict(part).items() if entry is not msgspec.UNSET}
    return Target(**said)


def trees_in(
    parts: Sequence[TreePart | MemberPart], schema: Schema, targets: Sequence[Target], max_flags: int
) -> list[Tree]:
    """The trees of the parts, each with its target, on the features of one schema; all checked in full.

    The features are checked once, however many trees there are.
    """
    check_schema(schema)
    sizes, shared = SetSizes.of(schema), schema
    trees: list[Tree] = []
    for position, (part, target) in enumerate(zip(parts, targets, strict=True)):
        try:
            own = shared if target is schema.target else Schema(schema.features, target)
            if own is not shared:
                check_target(target)
            tree = tree_in(part, own, sizes, max_flags, f"trees[{position}].nodes")
            tree = sound_tree(tree, sizes)
        except BrokenTreeError as error:
            raise ModelFileError(f"its tree {position} is not sound: {error}") from error
        if own is shared:  # an old file may lack the positive class: all trees then have that of the first
            shared = tree.schema
        max_flags -= len(tree.in_set)
        trees.append(tree)
    return trees


def tree_in(
    part: TreeDocument | TreePart | MemberPart, schema: Schema, sizes: SetSizes, max_flags: int, place: str
) -> Tree:
    """The tree as the document says it is: whether it is a sound one remains to be checked.

    Its sets of categories may need `max_flags` flags: a few bytes can ask for a thousand million.
    """

    arrays: dict[str, Any] = {}
    width = max(len(schema.target.classes), 1)
    for name in NodesPart.__struct_fields__:  # the features come first
        array, form = getattr(part.nodes, name), FORMS[name]
        if array is UNSET:
            continue
        if name == "observed" and not schema.target.is_classes:
            raise BrokenTreeError("observed counts rows of classes: the target is a number.")
        attribute = _ATTRIBUTES.get(name, name)
        if form is GAPPED_LISTS:
            sets = _sets_in(array, name, arrays["feature"], sizes, max_flags, place)
            arrays["set_start"], arrays[attribute] = sets
        elif form is LISTS:
            arrays[attribute] = _lists_in(array, name, 3 if name == "not_recorded" else width, place)
        else:
            arrays[attribute] = array_in(array, form, f"{place}.{name}")
        if name == "feature":
            check_features(schema, arrays["feature"])
    return Tree(
        schema,
        given_outcome=arrays.pop("outcome"),
        criterion=part.criterion,
        notes=part.notes,
        edits=_edits_in(part.edits),
        loss_matrix=losses_in(part.loss_matrix),
        monotone=_monotone_in(part.monotone),
        **arrays,
    )


def sound_tree(tree: Tree, sizes: SetSizes) -> Tree:
    """The tree of a document, checked in full, with the classes of its nodes where ties need them."""
    outcome = tree.given_outcome
    assert outcome is not None
    if not tree.schema.target.is_classes and (outcome == -1).all():
        tree = tree.replace(given_outcome=None)
    check_nodes(tree, sizes)
    return tree if tree.given_outcome is None else set_outcome(tree, outcome)


def _sets_in(
    array: msgspec.Raw, name: str, feature: IntArray, sizes: SetSizes, max_flags: int, place: str
) -> tuple[LongArray, BoolArray]:
    has_set, lengths = sizes.of_nodes(feature)
    # A few bytes are enough for that: many categories, and many nodes with an empty set.
    if lengths.sum() > max_flags:
        raise BrokenTreeError(f"{name} needs {lengths.sum()} flags: the limit is {max_flags}.")
    starts = np.cumsum(lengths) - lengths
    in_set = np.zeros(lengths.sum(), np.bool_)
    sets = chain.from_iterable(pieces(array, FORMS[name], f"{place}.{name}"))
    for node, (indices, is_set) in enumerate(zip(sets, has_set.tolist(), strict=True)):
        if (indices is not None) != is_set:
            found = "null" if indices is None else _clipped(indices)
            split = "a split on categories" if is_set else "no split on categories"
            raise BrokenTreeError(f"{name}[{node}] is {found}: node {node} is {split}.")
        if indices:
            if indices != sorted(set(indices)) or indices[-1] >= lengths[node]:
                raise BrokenTreeError(
                    f"{name}[{node}] is {_clipped(indices)}: it must list categories, each once and in "
                    f"order, and there are {lengths[node]} of them."
                )
            in_set[starts[node] + np.array(indices)] = True
    return np.where(has_set, starts, -1), in_set


def _lists_in(array: msgspec.Raw, name: str, width: int, place: str) -> FloatArray:
    """The numbers of every node, `width` each."""
    n_nodes = n_entries(array, FORMS[name])
    if 2 * n_nodes * width > len(bytes(array)):
        raise BrokenTreeError(f"{name} has too few numbers: {n_nodes} nodes need {width} each.")
    numbers = np.empty((n_nodes, width))
    node = 0
    for rows in pieces(array, FORMS[name], f"{place}.{name}"):
        for row in rows:
            if len(row) != width:
                raise BrokenTreeError(f"{name}[{node}] has {len(row)} numbers: the target needs {width}.")
            node += 1
        numbers[node - len(rows) : node] = rows
    return numbers


def _clipped(indices: list[int]) -> str:
    return str(indices) if len(indices) <= 20 else f"{str(indices[:20])[:-1]}, ...]"


def losses_in(part: Losses) -> FloatArray | None:
    """The losses as the document says they are."""
    if isinstance(part, UnsetType):
        return None
    if len({len(row) for row in part}) > 1:
        raise BrokenTreeError("loss_matrix has rows of different lengths.")
    return np.array(part, np.float64)


def _edits_in(parts: Edits) -> tuple[Edit, ...]:
    if isinstance(parts, UnsetType):
        return ()
    return tuple(
        Edit(
            **{
                **asdict(part),
                "before": _edited_node_in(f"edits[{position}].before", part.before),
                "after": _edited_node_in(f"edits[{position}].after", part.after),
            }
        )
        for position, part in enumerate(parts)
    )


def _edited_node_in(place: str, part: EditedNodePart) -> Node:
    value: Any = None
    if part.classes:
        if len(part.classes) != len(part.value):
            raise BrokenTreeError(
                f"{place} has {len(part.classes)} classes and {len(part.value)} fractions: one for each."
            )
        value = dict(zip(part.classes, part.value, strict=True))
        if len(value) < len(part.classes):
            raise BrokenTreeError(f"{place}.classes has one of them twice.")
    elif part.value:
        if len(part.value) > 1:
            raise BrokenTreeError(f"{place}.value has {len(part.value)} numbers, and there are no classes.")
        value = part.value[0]
    return Node(part.feature, part.threshold, part.categories, missing_left=part.missing_left, value=value)


def _monotone_in(part: Promise) -> Monotone | None:
    if isinstance(part, UnsetType):
        return None
    if len(part.features) != len(part.directions) or len(set(part.features)) != len(part.features):
        raise BrokenTreeError("monotone must have one direction for each of its features, each there once.")
    return Monotone(tuple(zip(part.features, part.directions, strict=True)), part.outcome)


# -- The model file of an ensemble ---------------------------------------------------------------------------


def ensemble_to_json(
    ensemble: Ensemble, estimator: EstimatorPart | msgspec.UnsetType = msgspec.UNSET
) -> bytes:
    """The content of the model file of an ensemble, or of the estimator of one; always the same bytes."""
    check_schema(ensemble.schema)
    check_trees(ensemble.trees, "trees[{}]")
    data = text_of(msgspec.structs.replace(ensemble_document_of(ensemble), estimator=estimator))
    check_flags(sum(len(tree.in_set) for tree in ensemble.trees), len(data))
    return data


def ensemble_from_json(data: bytes, *, edited: bool = False) -> Ensemble:
    """The ensemble that the bytes describe. See `load`."""
    with refusals_of("the model"):
        return read_ensemble(data, edited)[0]


def read_ensemble(data: bytes, edited: bool) -> tuple[Ensemble, EstimatorPart | None]:
    """The ensemble that the bytes describe, and its estimator if they have one, which is not checked yet.

    A ModelFileError says what is wrong where, not of which model.
    """
    if (kind := kind_of(data)) != "ensemble":
        raise ModelFileError(f"its kind is {kind!r}, not 'ensemble': use load(path) or load_trees(path).")
    document = document_in(data, EnsembleDocument, edited)
    schema = schema_in(document.schema)
    targets = [target_in(part.target) if part.target else schema.target for part in document.trees]
    try:
        trees = trees_in(document.trees, schema, targets, max_flags(len(data)))
        ensemble = Ensemble(
            schema,
            tuple(trees),
            array_in(document.weights, FORMS["weights"], "weights"),
            array_in(document.outputs, FORMS["outputs"], "outputs"),
            array_in(document.start, FORMS["start"], "start"),
            document.link,
            document.votes,
            document.notes,
            losses_in(document.loss_matrix),
        )
    except BrokenTreeError as error:
        raise ModelFileError(f"it holds no sound ensemble: {error}") from error
    return ensemble, document.estimator or None


# -- The tables that fit leaves behind, and what their scores were measured by, to the file and back ---------

# The attributes that are tables: each is a dataclass of columns, texts and perhaps a metric.
TABLES: dict[str, Any] = {
    "frontier_": Frontier,
    "max_features_table_": MaxFeaturesTable,
    "oob_curve_": Curve,
    "size_choice_": SizeChoice,
    "size_table_": SizeTable,
}
# What becomes of the entries of a column, and which they may be.
_TYPES: dict[Any, tuple[type, tuple[type, ...]]] = {
    FloatArray: (np.float64, (int, float)),
    LongArray: (np.int64, (int,)),
    BoolArray: (np.bool_, (bool,)),
}
_TYPES |= {kind | None: entries for kind, entries in _TYPES.items()}  # columns that may be missing
# One row for each entry.
_MATRICES = (("max_features_table_", "scores"), ("size_table_", "scores"))
_APART = ("metric", "chosen", "compared", "baseline")  # fields that another part of the document has
_GAPPED = ("oob_curve_",)  # a few trees may have no score


def table_part(table: Any) -> TablePart:
    """The part of the document on a table."""
    found = {field.name: getattr(table, field.name) for field in fields(table)}
    metric = found.get("metric")
    return TablePart(
        columns={name: gapped(entry) for name, entry in found.items() if isinstance(entry, np.ndarray)},
        texts={name: entry for name, entry in found.items() if isinstance(entry, str)},
        metric=None if metric is None else metric_part(metric),
    )


def table_in(name: str, part: TablePart, target: Target) -> Any:
    """The table of the attribute `name` that the part describes."""
    kind, place = TABLES[name], f"at estimator.tables.{name}"
    types = get_type_hints(kind)  # field.type is a string in modules with postponed annotations
    known = [field for field in fields(kind) if types[field.name] in _TYPES]
    texts = [field for field in fields(kind) if field not in known and field.name not in _APART]
    columns = [field for field in known if field.default is not None or field.name in part.columns]
    for found, wanted in ((part.columns, columns), (part.texts, texts)):
        if set(found) != {field.name for field in wanted}:
            raise ModelFileError(f"{place}: it needs {', '.join(field.name for field in wanted)}.")
    content: dict[str, Any] = {
        field.name: _column(name, field.name, types[field.name], part.columns[field.name])
        for field in columns
    }
    lengths = {len(column) for column in content.values()}
    if len(lengths) > 1 or 0 in lengths:
        raise ModelFileError(f"{place}: all columns must have as many entries, and at least one.")
    for field in texts:
        content[field.name] = part.texts[field.name]
        if (allowed := get_args(types[field.name])) and content[field.name] not in allowed:
            raise ModelFileError(f"{place}: {field.name} must be one of {', '.join(map(str, allowed))}.")
    if any(field.name == "metric" for field in fields(kind)):
        if part.metric is None:
            raise ModelFileError(f"{place}: it needs a metric.")
        content["metric"] = metric_in(part.metric, target)
    return kind(**content)


def _column(table: str, name: str, column_type: Any, entries: tuple[Any, ...]) -> NDArray[Any]:
    kind, allowed = _TYPES[column_type]
    is_matrix = (table, name) in _MATRICES
    rows = entries if is_matrix else (entries,)
    width = len(rows[0]) if rows and isinstance(rows[0], tuple) else 0
    allowed = (*allowed, type(None)) if table in _GAPPED else allowed
    for row in rows:
        is_sound = isinstance(row, tuple) and len(row) == width > 0
        if not is_sound or any(type(entry) not in allowed for entry in row):
            raise ModelFileError(f"at estimator.tables.{table}.{name}: its entries are of another kind.")
    return np.array(entries, kind)


# -- metrics and arrays -----------------------------------------------------------------------------------


def metric_part(metric: Metric) -> MetricPart:
    """The part of the document on a metric."""
    return MetricPart(name=metric.name, title=metric.title, is_loss=bool(metric.is_loss))


def metric_in(part: MetricPart, target: Target) -> Metric:
    """The metric of that name; one that others wrote has its name and no formula."""
    try:
        return make_metric(part.name, target)
    except ParameterError:
        return Metric(part.name, part.title, part.is_loss)


def gapped(array: NDArray[Any]) -> tuple[Any, ...]:
    """The entries of an array, None for NaN; the rows of a matrix."""
    if array.ndim > 1:
        return tuple(map(gapped, array))
    return tuple(None if entry != entry else entry for entry in array.tolist())


# -- The clusters of a density tree, to the file and back ----------------------------------------------------

_ROUNDING = 1e-6  # by which fractions may miss 1
_LEAST_EIGENVALUE = 1e-9  # of correlations: growth leaves none below 1e-6


def density_part(density: Density) -> DensityPart:
    """The part of the document on the clusters."""
    units, models = density.units, density.models
    full = models[0].full
    return DensityPart(
        numeric=tuple(units.numeric.tolist()),
        categorical=tuple(units.categorical.tolist()),
        centre=tuple(units.centre.tolist()),
        scale=tuple(units.scale.tolist()),
        measurement_variance=tuple(units.measurement_variance.tolist()),
        fractions=tuple(density.fractions.tolist()),
        mean=tuple(tuple(model.mean.tolist()) for model in models),
        full=full,
        covariance=tuple(
            tuple((model.covariance if full else np.diagonal(model.covariance)).ravel().tolist())
            for model in models
        ),
        log_frequency=tuple(tuple(model.log_frequency.tolist()) for model in models),
        evidence=tuple(
            (int(each.node), *gapped(np.array([each.count, each.gain, each.standard_error])))
            for each in density.evidence
        ),
    )


def density_in(part: DensityPart, tree: Tree) -> Density:
    """The clusters that the part describes, which must be those of the leaves of the tree."""
    n_clusters = tree.n_leaves
    _check(tree.schema.target.classes == tuple(range(n_clusters)), "the classes of its tree are no clusters")
    units = _units(part, tree.schema)
    fractions = _numbers("fractions", [part.fractions], (1, n_clusters))[0]
    _check((fractions > 0).all() and abs(fractions.sum() - 1.0) < _ROUNDING, "fractions do not sum to 1")
    _check(all(each[0] < tree.n_nodes for each in part.evidence), "evidence is of nodes that are not there")
    evidence = tuple(
        HeldOutGain(node, *np.array(figures, np.float64).tolist()) for node, *figures in part.evidence
    )
    return Density(
        tree, units, freeze(fractions), _models(part, units, n_clusters), evidence, size_table=None
    )


def _units(part: DensityPart, schema: Schema) -> StandardUnits:
    kinds = [feature.kind for feature in schema.features]
    for name, places in (("numeric", part.numeric), ("categorical", part.categorical)):
        in_order = list(places) == sorted(set(places)) and all(place < len(kinds) for place in places)
        _check(in_order, f"{name} must list features, each once and in order")
        is_sound = all((kinds[place] == "numeric") == (name == "numeric") for place in places)
        _check(is_sound, f"{name} lists features of the other kind")
    n_numeric = len(part.numeric)
    centre, scale, measurement_variance = (
        _numbers(name, [getattr(part, name)], (1, n_numeric))[0]
        for name in ("centre", "scale", "measurement_variance")
    )
    _check(
        (scale > 0).all() and (measurement_variance >= 0).all(),
        "scale and measurement_variance must be above 0",
    )
    sizes = [len(schema.features[place].categories) for place in part.categorical]
    start = np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)]).astype(np.int64)
    return StandardUnits(
        _places(part.numeric), _places(part.categorical), centre, scale, measurement_variance, start
    )


def _models(part: DensityPart, units: StandardUnits, n_clusters: int) -> tuple[ClusterModel, ...]:
    n_numeric, n_codes = len(units.numeric), int(units.start[-1])
    mean = _numbers("mean", part.mean, (n_clusters, n_numeric))
    width = n_numeric**2 if part.full else n_numeric
    covariance = _numbers("covariance", part.covariance, (n_clusters, width))
    if part.full:
        covariance = covariance.reshape(n_clusters, n_numeric, n_numeric)
        gap = np.abs(covariance - covariance.swapaxes(1, 2)).max(initial=0.0)
        _check(gap <= _ROUNDING * np.abs(covariance).max(initial=1.0), "covariance must be symmetric")
    else:
        covariance = covariance[:, :, None] * np.eye(n_numeric)
    _check(_is_positive(covariance), "covariance must have eigenvalues above 0")
    log_frequency = _numbers("log_frequency", part.log_frequency, (n_clusters, n_codes))
    for first, last in zip(units.start[:-1].tolist(), units.start[1:].tolist(), strict=True):
        totals = np.exp(np.minimum(log_frequency[:, first:last], 1.0)).sum(axis=1)
        _check(first == last or (abs(totals - 1.0) < _ROUNDING).all(), "frequencies do not sum to 1")
    return tuple(
        ClusterModel(*parts, units.measurement_variance, part.full)
        for parts in zip(mean, covariance, log_frequency, strict=True)
    )


def _is_positive(covariance: FloatArray) -> bool:
    """True if no combination of the numbers is without variance."""
    variance = np.diagonal(covariance, axis1=1, axis2=2)
    if not (variance > 0).all():
        return False
    deviation = np.sqrt(variance)
    correlation = covariance / deviation[:, :, None] / deviation[:, None, :]
    return bool(np.linalg.eigvalsh(correlation).min(initial=1.0) > _LEAST_EIGENVALUE)


def _places(entries: Sequence[int]) -> LongArray:
    return np.array(entries, np.int64)


def _numbers(name: str, rows: Sequence[Sequence[float]], shape: tuple[int, int]) -> FloatArray:
    """The rows as an array of that shape."""
    fits = len(rows) == shape[0] and all(len(row) == shape[1] for row in rows)
    _check(fits, f"{name} must be of {shape[0]} times {shape[1]} numbers")
    return np.array(rows, np.float64).reshape(shape)


def _check(is_sound: Any, problem: str) -> None:
    if not is_sound:
        raise ModelFileError(f"at estimator.density: {problem}.")
