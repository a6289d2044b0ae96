"""The files of an update run: the model in use from now on, the path, what changed, facts and page."""

from pathlib import Path
from typing import TYPE_CHECKING

from holdfast.files import replace_file
from holdfast.runs.json_file import write_json
from holdfast.runs.run_files import write_run_report
from holdfast.storage.collection_file import save_trees

if TYPE_CHECKING:
    from holdfast.runs.update_result import UpdateRun


def write_update_files(run: "UpdateRun", folder: Path) -> None:
    """Fill the folder."""
    replace_file(folder / "model.json", run.model_content)
    if run.proposal_content is not None:
        replace_file(folder / "proposal.json", run.proposal_content)
    replace_file(folder / "tree.svg", run.model.tree_.to_svg().encode())
    save_trees([step.tree for step in run.update.steps], folder / "path.json")
    replace_file(folder / "diff.txt", f"{run.diff}\n".encode())
    write_json(run.facts, folder / "update.json")
    write_page(run, folder)


def write_page(run: "UpdateRun", folder: Path) -> None:
    """Write the page and its facts, anew once the run has a record in a register."""
    write_run_report(run, folder / "report.html")
