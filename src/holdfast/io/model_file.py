"""The model file: flat JSON that a person can read and git can compare. Loading it never runs code."""

import os
import warnings
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any, get_args

import msgspec
from msgspec import UNSET, UnsetType

from holdfast._files import replace_file
from holdfast._text import quoted
from holdfast.data.schema import Schema
from holdfast.errors import DataError, ModelFileError, ModelFileWarning, SchemaMismatch
from holdfast.explain.firmness import ReferenceTrees
from holdfast.io.content import (
    MAX_BYTES,
    check_flags,
    loading,
    max_flags,
    read_bytes,
    read_document,
    read_kind,
)
from holdfast.io.convert import (
    build_candidates,
    build_ensemble,
    build_references,
    build_tree,
    build_trees,
    make_document,
    make_trees_document,
)
from holdfast.io.document import (
    FORMS,
    Document,
    EnsembleDocument,
    EstimatorPart,
    TreeDocument,
    TreesDocument,
    write_text,
)
from holdfast.stable.frontier import Frontier
from holdfast.tree.check import check_schema, check_tree, check_trees
from holdfast.tree.ensemble import Ensemble
from holdfast.tree.tree import Tree


def save(model: Any, path: str | os.PathLike[str], *, references: bool = True) -> None:
    """Save a tree, an ensemble or a fitted estimator as a JSON file.

    The file is written completely or not at all. A ModelFileWarning names parameters of an estimator that a
    file cannot hold, such as a function.

    Parameters
    ----------
    model : Tree, Ensemble or fitted estimator
    path : path-like
    references : bool
        Save what a stable tree needs for `predict_firmness`, `choose` and `split_support` after loading: its
        reference trees, packed into some 15 kB of text, and the other candidates of its frontier.

    Examples
    --------
    >>> from holdfast import TreeClassifier
    >>> model = TreeClassifier().fit([[1.0], [2.0], [3.0]], ["no", "no", "yes"])
    >>> path = Path(getfixture("tmp_path")) / "model.json"
    >>> save(model, path)
    >>> load(path).predict([[2.9]]).tolist()
    ['yes']
    """
    replace_file(path, model_to_json(model, references=references), ModelFileError)


def load(path: str | os.PathLike[str], *, edited: bool = False, max_bytes: int = MAX_BYTES) -> Any:
    """Load a tree, an ensemble or a fitted estimator from its file, without running any code of the file.

    Parameters
    ----------
    path : path-like
    edited : bool
        Accept a file that was changed after it was written, if its model is still sound.
    max_bytes : int
        Largest file to read.

    Returns
    -------
    Tree, Ensemble or fitted estimator

    Raises
    ------
    ModelFileError
        If the file is damaged or holds no sound model; it names the place.

    Examples
    --------
    See `save`.
    """
    return open_model(path, edited=edited, max_bytes=max_bytes).estimator


class StoredModel:
    """The model of a file; its estimator is built when it is first used, which imports scikit-learn."""

    def __init__(self, data: bytes, *, name: str, edited: bool = False) -> None:
        self._name, self._most = name, max_flags(len(data))
        with loading(name):
            self._document, self.model = _read(data, edited)

    @cached_property
    def frontier(self) -> Frontier | None:
        """The frontier of a stable tree, with its choice; None for another model."""
        part = self._document.estimator
        if isinstance(part, UnsetType) or not isinstance(self.model, Tree):
            return None
        from holdfast.io.tables import build_frontier

        with loading(self._name):
            return build_frontier(part, self.model)

    @cached_property
    def references_(self) -> ReferenceTrees | None:
        """The reference trees of the size of the tree; None if the file has none."""
        document = self._document
        if not isinstance(document, TreeDocument):
            return None
        with loading(self._name):
            references = build_references(document, self.model.schema, self._most)
        return None if references is None else references.of_size(_read_size(document.estimator))

    @cached_property
    def estimator(self) -> Any:
        """The fitted estimator; the tree or ensemble if the file has none."""
        document, schema = self._document, self.model.schema
        if isinstance(document.estimator, UnsetType):
            return self.model
        from holdfast.io.estimator import build_estimator, set_references

        with loading(self._name):
            estimator = build_estimator(document.estimator, self.model)
            if isinstance(document, TreeDocument):
                references = build_references(document, schema, self._most)
                set_references(estimator, references, build_candidates(document, schema, self._most))
        return estimator


def open_model(
    path: str | os.PathLike[str], *, edited: bool = False, max_bytes: int = MAX_BYTES
) -> StoredModel:
    """Load the tree or ensemble in a file, and what its estimator is built from."""
    name = f"the model file '{os.fspath(path)}'"
    with loading(name):
        data = read_bytes(Path(path), max_bytes)
    return StoredModel(data, name=name, edited=edited)


def load_model(
    path: str | os.PathLike[str], *, edited: bool = False, max_bytes: int = MAX_BYTES
) -> Tree | Ensemble:
    """Load the tree or ensemble in a file, without its estimator.

    Parameters
    ----------
    path : path-like
    edited, max_bytes
        See `load`.

    Returns
    -------
    Tree or Ensemble

    Examples
    --------
    >>> from holdfast import TreeClassifier
    >>> model = TreeClassifier().fit([[1.0], [2.0], [3.0]], ["no", "no", "yes"])
    >>> path = Path(getfixture("tmp_path")) / "model.json"
    >>> save(model, path)
    >>> load_model(path).n_leaves
    2
    """
    with loading(f"the model file '{os.fspath(path)}'"):
        return _read(read_bytes(Path(path), max_bytes), edited)[1]


def _read_size(estimator: EstimatorPart | UnsetType) -> int | None:
    """Read the most leaves of the candidate that is in use; None unless the file states it."""
    fitted = None if isinstance(estimator, UnsetType) else estimator.fitted
    if (
        fitted is None
        or UNSET in (fitted.choice_, fitted.frontier_)
        or fitted.frontier_.max_leaf_nodes is UNSET
    ):
        return None
    sizes = fitted.frontier_.max_leaf_nodes.ravel().tolist()
    place = fitted.choice_.candidate
    return int(sizes[place]) if place < len(sizes) else None


def read_model_kind(path: str | os.PathLike[str], *, max_bytes: int = MAX_BYTES) -> str:
    """Read what kind of model the file holds: "tree", "trees" or "ensemble"."""
    with loading(f"the model file '{os.fspath(path)}'"):
        return read_kind(read_bytes(Path(path), max_bytes))


def model_to_json(model: Any, *, references: bool = True) -> bytes:
    """Write the content of the model file of a tree, an ensemble or a fitted estimator. See `save`."""
    if isinstance(model, Tree | Ensemble):
        return _write(model)
    ensemble = getattr(model, "ensemble_", None)
    found = ensemble if isinstance(ensemble, Ensemble) else _get_tree(model)
    # Here: trees and ensembles are saved and loaded without the estimators, which take a second to import.
    from holdfast.io.estimator import is_estimator, list_candidates, make_estimator_part

    if is_estimator(model):
        part = make_estimator_part(model, references=references, stacklevel=4)
        kept = vars(model).get("_references") if references else None
        return _write(found, part, kept, {} if kept is None else list_candidates(model))
    warnings.warn(
        f"A {type(model).__name__} is no estimator of holdfast itself: the file holds only its trees, and "
        "load returns those.",
        ModelFileWarning,
        stacklevel=3,
    )
    return _write(found)


def _write(
    model: Tree | Ensemble,
    estimator: EstimatorPart | UnsetType = UNSET,
    references: ReferenceTrees | None = None,
    candidates: Mapping[int, Tree] = MappingProxyType({}),
) -> bytes:
    if isinstance(model, Tree):
        check_tree(model)
        check_trees(candidates.values(), "candidate {}")
    else:
        check_schema(model.schema)
        check_trees(model.trees, "trees[{}]")
    data = write_text(make_document(model, estimator, references, candidates))
    trees = [model, *candidates.values()] if isinstance(model, Tree) else model.trees
    check_flags(sum(len(tree.in_set) for tree in trees), len(data))
    return data


def _get_tree(model: Any) -> Tree:
    """Return the model if it is a tree, or the tree of a fitted estimator."""
    tree = getattr(model, "tree_", model)
    if not isinstance(tree, Tree):
        raise TypeError(
            f"Cannot save a {type(model).__name__}: it is neither a tree nor an estimator with a "
            "fitted tree_. Fit it first, take it out of its search or pipeline (search.best_estimator_, "
            "pipeline[-1]), or turn another library's model into a tree: as_tree(model)."
        )
    return tree


def model_from_json(data: bytes, *, edited: bool = False) -> Any:
    """Read a tree, an ensemble or a fitted estimator. See `load`."""
    return StoredModel(data, name="the model", edited=edited).estimator


def _read(data: bytes, edited: bool) -> tuple[TreeDocument | EnsembleDocument, Tree | Ensemble]:
    """Read the document and its model, checked; other parts of the document are not checked yet."""
    document = read_document(data, edited=edited)
    if isinstance(document, TreesDocument):
        raise ModelFileError(
            f"it holds {len(document.trees)} trees, not one: give the model of the run, or use "
            "load_trees(path)."
        )
    build: Any = build_tree if isinstance(document, TreeDocument) else build_ensemble
    return document, build(document, max_flags(len(data)))


# -- Several trees on one schema -----------------------------------------------------------------------------


def save_trees(trees: Iterable[Any], path: str | os.PathLike[str]) -> None:
    """Save several trees, or those of fitted estimators, as one JSON file.

    Parameters
    ----------
    trees : iterable of Tree or fitted estimator
        At least one; all on one schema.
    path : path-like

    Examples
    --------
    >>> from holdfast import TreeClassifier
    >>> model = TreeClassifier().fit([[1.0], [2.0], [3.0]], ["no", "no", "yes"])
    >>> path = Path(getfixture("tmp_path")) / "trees.json"
    >>> save_trees([model, model], path)
    >>> len(load_trees(path))
    2
    """
    replace_file(path, trees_to_json(trees), ModelFileError)


def load_trees(
    path: str | os.PathLike[str], *, edited: bool = False, max_bytes: int = MAX_BYTES
) -> list[Tree]:
    """Load the trees in a file of several trees, of an ensemble or of one tree.

    Parameters
    ----------
    path : path-like
    edited, max_bytes
        See `load`.

    Returns
    -------
    list of Tree
        In the order in which they were saved.

    Examples
    --------
    See `save_trees`.
    """
    with loading(f"the model file '{os.fspath(path)}'"):
        return _read_trees(read_bytes(Path(path), max_bytes), edited)


def trees_to_json(trees: Iterable[Any]) -> bytes:
    """Write the content of the model file of several trees; the same bytes for the same trees."""
    if isinstance(trees, Tree):
        raise TypeError("trees must be several trees, and this is one: use save(tree, path), or [tree].")
    models = [_get_tree(model) for model in trees]
    if not models:
        raise DataError(
            "Cannot save an empty list of trees: without a tree there is no schema. Give at least one."
        )
    check_trees(models, "tree {}")
    _check_one_schema(models)
    data = write_text(make_trees_document(models))
    check_flags(sum(len(tree.in_set) for tree in models), len(data))
    return data


def trees_from_json(data: bytes, *, edited: bool = False) -> list[Tree]:
    """Read trees. See `load_trees`."""
    with loading("the model"):
        return _read_trees(data, edited)


def _read_trees(data: bytes, edited: bool) -> list[Tree]:
    document, most = read_document(data, edited=edited), max_flags(len(data))
    if isinstance(document, TreeDocument):
        return [build_tree(document, most)]
    if isinstance(document, EnsembleDocument):
        return list(build_ensemble(document, most).trees)
    return build_trees(document, most)


def _check_one_schema(trees: Sequence[Tree]) -> None:
    first = trees[0].schema
    for position, tree in enumerate(trees):
        if tree.schema is not first and (difference := _describe_difference(first, tree.schema)):
            raise SchemaMismatch(
                f"Cannot save the trees in one file: tree 0 and tree {position} differ in {difference}. "
                "Put all on one schema. If the columns are the same: wide = "
                "first.schema.widen(second.schema), then [tree.with_schema(wide) for tree in trees]."
            )


def _describe_difference(one: Schema, other: Schema) -> str:
    """Describe the first difference, or nothing."""
    if one.names != other.names:
        return f"their columns ({quoted(one.names)}; {quoted(other.names)})"
    # By their text: 1, 1.0 and True are equal in Python, but not the same label.
    for mine, theirs in zip(one.features, other.features, strict=True):
        if repr(mine) != repr(theirs):
            return f"the kind, range or categories of column {mine.name!r}"
    return "" if repr(one.target) == repr(other.target) else f"the target ({one.target}; {other.target})"


# -- The JSON Schema of the model file -----------------------------------------------------------------------

DIALECT = "https://json-schema.org/draft/2020-12/schema"


def model_file_schema() -> dict[str, Any]:
    """Return the JSON Schema of model files.

    Returns
    -------
    dict

    Examples
    --------
    >>> schema = model_file_schema()
    >>> [part["$ref"].rpartition("/")[2] for part in schema["anyOf"]]
    ['TreeDocument', 'TreesDocument', 'EnsembleDocument']
    """
    documents, parts = msgspec.json.schema_components(
        get_args(Document), schema_hook=lambda kind: {"type": "array"}, ref_template="#/$defs/{name}"
    )
    for part in parts.values():
        for name, entry in part.get("properties", {}).items():
            # Of an array that is kept as text msgspec does not know the entries.
            if name in FORMS and not {"type", "anyOf", "$ref", "enum"} & set(entry):
                part["properties"][name] = {"type": "array", "items": msgspec.json.schema(FORMS[name].entry)}
    return {"$schema": DIALECT, "title": "A model file of holdfast", "anyOf": list(documents), "$defs": parts}
