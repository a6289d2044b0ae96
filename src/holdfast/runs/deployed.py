"""A model in use, ready to be updated: of a file, of a run folder, or as Python has it."""

import copy
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sklearn.utils.validation import check_is_fitted

from holdfast.adapters import as_tree
from holdfast.errors import ParameterError
from holdfast.estimators.density import DensityTree
from holdfast.estimators.stable import StableTreeClassifier, StableTreeRegressor
from holdfast.runs.folder import model_file
from holdfast.runs.run_files import COLLECTIONS, find_earlier_run
from holdfast.storage.collection_file import load_trees
from holdfast.storage.model_file import load, model_to_json
from holdfast.text.numbers import counted
from holdfast.tree.ensemble import Ensemble
from holdfast.tree.tree import Tree

Updating = StableTreeClassifier | StableTreeRegressor
ROLES = ("stage", "groups", "weight")  # of columns that were no features


@dataclass(frozen=True, eq=False)
class Deployed:
    """A model in use."""

    source: str  # its path, or what it is
    content: bytes  # of its file, to be kept as it is
    estimator: Updating
    reading: Mapping[str, Any] = field(default_factory=dict)  # how the files of its run were written
    left_out: tuple[str, ...] = ()  # columns of its run that were no features
    note: str = ""  # where its settings are from, if not from itself
    profile: Mapping[str, Any] | None = None  # of the rows that its run has learnt from
    model_card: Mapping[str, Any] | None = None  # what its run was told of it


def deployed_model(model: Any) -> Deployed:
    """Load the model of a file or a run folder, or take a fitted estimator or tree.

    A model of one tree that cannot update itself is adopted by a stable tree with default settings.
    """
    if not isinstance(model, str | os.PathLike):
        estimator, note = _updating(model, "the model")
        content = model_to_json(model if isinstance(model, Updating) else estimator.tree_)
        return Deployed(f"a {type(model).__name__}", content, estimator, note=note)
    path = model_file(Path(model))
    loaded = load(path)
    estimator, note = _updating(loaded, f"'{os.fspath(model)}'")
    facts = (find_earlier_run(path.parent) if path.name == "model.json" else None) or {}
    references = path.parent / "collections" / f"{COLLECTIONS[0]}.json"
    if facts and references.is_file() and isinstance(loaded, Updating):
        estimator.reference_trees_ = load_trees(references)
    columns = facts.get("columns", {})
    named = [*columns.get("drop", ()), *(columns.get(role) for role in ROLES)]
    return Deployed(
        os.fspath(model),
        path.read_bytes(),
        estimator,
        facts.get("reading", {}),
        tuple(columns.get("left_out", [name for name in named if name])),
        note,
        profile=facts.get("profile"),
        model_card=facts.get("model_card"),
    )


def _updating(model: Any, name: str) -> tuple[Updating, str]:
    """A copy of the estimator, or one that adopts the tree, and a note that says so."""
    ensemble = getattr(model, "ensemble_", model)
    if isinstance(ensemble, Ensemble):
        raise ParameterError(
            f"Cannot update {name}: it is an ensemble of {counted(len(ensemble.trees), 'tree')}, and an "
            "update is for a model of one tree."
        )
    if isinstance(model, DensityTree):
        raise ParameterError(
            f"Cannot update {name}: it is a density tree, which predicts nothing, and an update is for a "
            "tree that predicts."
        )
    if isinstance(model, Updating):
        check_is_fitted(model)
        return copy.copy(model), ""
    tree = as_tree(model)
    estimator = StableTreeClassifier() if tree.schema.target.is_classes else StableTreeRegressor()
    estimator.from_tree(tree)
    for attribute in ("decision_threshold_", "positive_class_"):
        if hasattr(model, attribute):
            setattr(estimator, attribute, getattr(model, attribute))
    what = "holds a tree alone" if isinstance(model, Tree) else f"is a {type(model).__name__}"
    return estimator, f"{name} {what}: a {type(estimator).__name__} with default settings takes it over."
