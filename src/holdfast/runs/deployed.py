"""A model in use, ready to be updated: of a file, of a run folder, or as Python has it."""

import copy
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sklearn.utils.validation import check_is_fitted

from holdfast.adapters import as_tree
from holdfast.data.schema import Target
from holdfast.errors import ParameterError
from holdfast.estimators.base import build_estimator
from holdfast.estimators.density import DensityTree
from holdfast.estimators.stable import StableTreeClassifier, StableTreeRegressor
from holdfast.growth.rules import C45
from holdfast.runs.class_costs import loss_matrix, priors
from holdfast.runs.class_weight import class_weight
from holdfast.runs.folder import model_file
from holdfast.runs.growth_rules import label_of
from holdfast.runs.parsing import class_weights_of, losses_of, priors_of
from holdfast.runs.run_files import read_facts
from holdfast.scoring.metric import make_metric
from holdfast.storage.collection_file import load_trees
from holdfast.storage.model_file import load, model_to_json
from holdfast.text.numbers import counted
from holdfast.tree.ensemble import Ensemble
from holdfast.tree.positive import positive_class
from holdfast.tree.threshold import compute_threshold
from holdfast.tree.tree import Tree

Updating = StableTreeClassifier | StableTreeRegressor
# The settings of a run that are parameters of a stable tree.
PARAMETERS = (
    *("method", "max_depth", "max_leaf_nodes", "min_samples_leaf", "teacher", "n_estimators"),
    *("thresholds", "leaf_values"),
    *("early_fraction", "validation", "selection_rule", "tolerance", "tolerance_unit", "instability_weight"),
    *("random_state", "positive", "categories"),
)
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
    """The model of a file, a run folder, or a fitted estimator or tree; a ParameterError if it has no tree.

    A tree without the settings of an update is taken over by a stable tree, with those of its run or else
    the defaults.
    """
    if not isinstance(model, str | os.PathLike):
        return _of_python(model)
    path = model_file(Path(model))
    name = f"'{os.fspath(model)}'"
    loaded = load(path)
    _check_kind(loaded, name)
    content = path.read_bytes()
    summary = path.parent / "summary.json"
    if isinstance(loaded, Tree) and path.name == "model.json" and summary.is_file():
        return _of_run(os.fspath(model), content, loaded, path.parent)
    estimator, note = _taken_over(loaded, name)
    update = path.parent / "update.json"
    facts = read_facts(update) if path.name == "model.json" and update.is_file() else {}
    left_out = tuple(facts.get("columns", {}).get("left_out", ()))
    return Deployed(
        os.fspath(model),
        content,
        estimator,
        facts.get("reading", {}),
        left_out,
        note,
        profile=facts.get("profile"),
        model_card=facts.get("model_card"),
    )


def _of_python(model: Any) -> Deployed:
    _check_kind(model, "the model")
    estimator, note = _taken_over(model, "the model")
    content = model_to_json(model if isinstance(model, Updating) else estimator.tree_)
    return Deployed(f"a {type(model).__name__}", content, estimator, note=note)


def _of_run(source: str, content: bytes, tree: Tree, folder: Path) -> Deployed:
    """The tree of a run with the settings, the reference trees and the fit to the teacher that it had."""
    facts = read_facts(folder / "summary.json")
    columns, chosen = facts.get("columns", {}), facts.get("trees", {}).get("chosen", {})
    target, model = tree.schema.target, facts["settings"].get("model")
    said = _parameters(facts["settings"], target) if model == "stable" else {}
    estimator = _stable(target, **said).from_tree(tree)
    if facts["settings"].get("threshold") is not None and tree.loss_matrix is not None:
        place = positive_class(tree)
        assert place is not None
        estimator.decision_threshold_ = compute_threshold(tree.loss_matrix, place)
        estimator.positive_class_ = place
    if isinstance(choice := facts.get("size_choice"), dict):
        estimator.max_leaf_nodes_ = int(choice["chosen"])
    if isinstance(weights := facts.get("teacher_weights"), dict):
        estimator.teacher_weights_ = weights
    if isinstance(loss := chosen.get("teacher_loss"), int | float):
        estimator.teacher_loss_ = float(loss)
    references = folder / "collections" / "references.json"
    if references.is_file():
        estimator.reference_trees_ = load_trees(references)
    named = [*columns.get("drop", ()), *(columns.get(role) for role in ROLES)]
    left_out = tuple(name for name in named if name)
    note = "" if model == "stable" else _note(f"'{source}'", f"is a run of the kind {model}", target)
    return Deployed(
        source,
        content,
        estimator,
        facts["reading"],
        left_out,
        note,
        profile=facts.get("profile"),
        model_card=facts.get("model_card"),
    )


def _parameters(settings: Mapping[str, Any], target: Target) -> dict[str, Any]:
    """The parameters of a stable tree that the settings of its run come to."""
    said = {name: settings[name] for name in PARAMETERS if settings.get(name) is not None}
    said |= {"max_depth": settings.get("max_depth")}
    if settings.get("growth") == "c4.5":
        said["growth_rules"] = C45
    if signs := settings.get("monotonic_cst"):
        said["monotonic_cst"] = dict(signs)
        if target.is_classes:
            said["monotonic_class"] = label_of(settings.get("monotonic_class"), target)
    if weights := settings.get("class_weight"):
        said["class_weight"] = class_weight(class_weights_of(weights), target)
    if fractions := settings.get("priors"):
        said["priors"] = priors(priors_of(fractions), target)
    if losses := settings.get("loss"):
        said["loss_matrix"] = loss_matrix(losses_of(losses), target)
    try:
        make_metric(settings.get("scoring"), target)
        said["scoring"] = settings.get("scoring")
    except ParameterError:  # of another library, of which the run has the name alone
        pass
    return said


def _stable(target: Target, **parameters: Any) -> Updating:
    kind = StableTreeClassifier if target.is_classes else StableTreeRegressor
    model: Updating = build_estimator(kind, **parameters)
    return model


def _check_kind(model: Any, name: str) -> None:
    """Raise a ParameterError if the model is none of one tree that predicts."""
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


def _taken_over(model: Any, name: str) -> tuple[Updating, str]:
    """A copy of the estimator, or one that takes the tree over, and a note that says so."""
    if isinstance(model, Updating):
        check_is_fitted(model)
        return copy.copy(model), ""
    tree = as_tree(model)
    what = "holds a tree alone" if isinstance(model, Tree) else f"is a {type(model).__name__}"
    target = tree.schema.target
    return _stable(target).from_tree(tree), _note(name, what, target)


def _note(name: str, what: str, target: Target) -> str:
    kind = type(_stable(target)).__name__
    return f"{name} {what}: a {kind} with default settings takes it over."
