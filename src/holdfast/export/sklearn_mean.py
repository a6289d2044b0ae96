"""Trees whose mean is predicted become a forest of scikit-learn, or a vote if they weigh differently."""

from typing import Any

import numpy as np

from holdfast.errors import ExportError
from holdfast.export.sklearn_tree import set_fitted_attributes, to_sklearn_tree
from holdfast.tree.ensemble import Ensemble
from holdfast.tree.tree import label_array


def to_mean(ensemble: Ensemble) -> Any:
    """Export as a random forest or, with unequal weights, as a VotingClassifier or VotingRegressor.

    A tree that votes has leaves that are certain of their class: the mean of these is the share of votes.
    """
    members = [_member(ensemble, position) for position in range(len(ensemble))]
    is_weighted = np.ptp(ensemble.weights) > 0
    return _voting(ensemble, members) if is_weighted else _forest(ensemble, members)


def _member(ensemble: Ensemble, position: int) -> Any:
    tree = ensemble[position]
    try:
        return to_sklearn_tree(
            tree.replace(value=np.eye(tree.value.shape[1])[tree.outcome]) if ensemble.votes else tree
        )
    except ExportError as error:
        raise ExportError(f"tree {position} of the ensemble: {error}") from error


def _forest(ensemble: Ensemble, members: list[Any]) -> Any:
    from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

    kind = RandomForestClassifier if ensemble.schema.target.is_classes else RandomForestRegressor
    forest = kind(n_estimators=len(members))
    set_fitted_attributes(forest, ensemble.schema, ensemble[0].criterion)
    for member in members:
        _make_nameless(member)
    forest.estimator_ = type(members[0])()
    forest.estimators_ = members
    return forest


def _make_nameless(member: Any) -> None:
    """Make a member predict numbers for classes from arrays, as the forest expects."""
    if hasattr(member, "classes_"):
        member.classes_ = np.arange(float(member.n_classes_))
    if hasattr(member, "feature_names_in_"):
        del member.feature_names_in_


def _voting(ensemble: Ensemble, members: list[Any]) -> Any:
    from sklearn.ensemble import VotingClassifier, VotingRegressor
    from sklearn.preprocessing import LabelEncoder
    from sklearn.utils import Bunch

    named = [(f"tree{position}", member) for position, member in enumerate(members)]
    weights = ensemble.weights.tolist()
    if ensemble.schema.target.is_classes:
        model = VotingClassifier(named, voting="soft", weights=weights)
        model.le_ = LabelEncoder()
        model.le_.classes_ = model.classes_ = label_array(ensemble.schema.target.classes)
    else:
        model = VotingRegressor(named, weights=weights)
    model.estimators_, model.named_estimators_ = members, Bunch(**dict(named))
    if hasattr(members[0], "feature_names_in_"):
        model.feature_names_in_ = members[0].feature_names_in_
    return model
