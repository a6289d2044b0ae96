"""An update run: the model in use from now on, how it came to be, and what changed."""

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from holdfast.distance.diff.tree_diff import TreeDiff
from holdfast.governance.register import ChangeRecord
from holdfast.governance.verdict import PolicyVerdict
from holdfast.runs.deployed import Updating
from holdfast.runs.folder import new_run
from holdfast.runs.update_files import write_update_files
from holdfast.stability.update.update import TreeUpdate
from holdfast.text.view import View, ViewMixin


@dataclass(frozen=True, eq=False, repr=False)
class UpdateRun(ViewMixin):
    """An update of a deployed model by new rows. `update_run` makes one; `str()` tells it in words."""

    facts: dict[str, Any]  # plain data, as in update.json
    model: Updating  # in use from now on: the updated one, or the deployed one if a policy forbids it
    update: TreeUpdate  # the path, and the step that is taken
    diff: TreeDiff  # from the deployed tree to that of the step, on the new rows
    change: ChangeRecord  # what a register is told of it
    model_content: bytes  # of the model file; of a deployed model that stays, as it was
    proposal_content: bytes | None  # of the model that a policy forbids
    record: ChangeRecord | None = None  # the change as it stands in the register, if there is one

    @property
    def verdict(self) -> PolicyVerdict | None:
        """The verdict of the policy, if there is one."""
        return self.update.verdict

    @property
    def is_taken(self) -> bool:
        """False if the policy forbids the update, so that the deployed model stays in use."""
        return self.update.is_taken

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write the run to a folder, all or nothing: a new one, an empty one, or an earlier run.

        `model.json` is the model in use from now on. An earlier run is replaced in one step, and files that
        others have put there stay.
        """
        with new_run(Path(folder)) as draft:
            write_update_files(self, draft)

    def registered(self, append: Callable[[ChangeRecord], ChangeRecord]) -> "UpdateRun":
        """The same with its record, once it is added to a register."""
        return replace(self, record=append(self.change))

    def __repr__(self) -> str:
        steps = f"step {self.update.taken} of 0 to {len(self.update.steps) - 1}"
        return f"<UpdateRun: {steps}, {'taken' if self.is_taken else 'not taken'}>"

    def _view(self) -> View:
        from holdfast.show.update_run import update_run_view

        return update_run_view(self)
