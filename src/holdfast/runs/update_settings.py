"""The settings of an update run, each declared once: what `holdfast update` and `update_run` take."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from holdfast.errors import ParameterError
from holdfast.runs.data_settings import CellSettings
from holdfast.runs.parsing import Nodes, as_it_is, fraction_or_none, node_numbers, nodes_of
from holdfast.runs.setting import Range, check_names, setting
from holdfast.runs.settings import jobs
from holdfast.stability.update.names import HOWS, UPDATE_TOLERANCE

if TYPE_CHECKING:
    from holdfast.data.files.reading_options import ReadingOptions

_COLUMNS = ("target", "groups", "weight", "drop", "drop_missing_target")
_WHO = ("register", "by", "why", "trigger", "model_card")  # facts of their own


@dataclass(frozen=True, kw_only=True)
class UpdateRunSettings(CellSettings):
    """All that an update run depends on, but for the model and the new rows."""

    target: str | None = setting(
        None, help="What is predicted.  [default: as the model calls it]", metavar="COLUMN"
    )
    strategy: str = setting(
        HOWS[0],
        help="The nearest tree that fits; the tree as it is; new values of its leaves alone; a tree trained "
        "anew; or the nearest of bootstrap trees that score well.  [default: nearest]",
        choices=HOWS,
    )
    tolerance: float = setting(
        UPDATE_TOLERANCE,
        kind=float,
        range=Range(0),
        help="How much less than a fresh tree it may explain, as a fraction.  [default: 0.02]",
    )
    take: int | None = setting(
        None, kind=int, range=Range(0), metavar="STEP", help="Take this step of the path instead."
    )
    frozen: Nodes = setting(
        (),
        help="Numbers of nodes that go on asking what they ask, or edited for those changed by hand.",
        metavar="NODES",
        from_text=node_numbers,
        from_python=nodes_of,
    )
    allow_new_values: bool = setting(False, kind=bool, help="Take in new columns, categories and classes.")
    drop: tuple[str, ...] = setting(
        (), help="With --allow-new-values: leave it out; may be repeated.", metavar="COLUMN", repeated=True
    )
    groups: str | None = setting(
        None, help="Rows of one patient, say, stay on one side. No feature.", metavar="COLUMN"
    )
    weight: str | None = setting(None, help="How much each row counts. No feature.", metavar="COLUMN")
    drop_missing_target: bool = setting(False, kind=bool, help="Leave out rows whose target is missing.")
    old: Any = setting(
        None, help="Rows of before, to learn from as well.", metavar="DATA", from_python=as_it_is
    )
    half_life: float | None = setting(
        None,
        kind=float,
        range=Range(0, low_open=True),
        help="With --old: the age at which a row counts half; old rows have the age 1.",
    )
    prior_rows: float | None = setting(
        None,
        kind=float,
        range=Range(0),
        help="How many rows the deployed tree stands for.  [default: those that it was trained on]",
    )
    validation: float | None = setting(
        1 / 3,
        kind=float,
        range=Range(0, 1, high_open=True),
        help="Fraction of the new rows that scores are measured on; 0 for none.  [default: a third]",
        from_python=fraction_or_none,
    )
    policy: Any = setting(
        None, help="A change policy: what breaks it is not taken.", metavar="TOML", from_python=as_it_is
    )
    force: bool = setting(
        False,
        kind=bool,
        help="Update even by few rows or one class, and take the update even if it breaks the policy.",
    )
    register: Any = setting(
        None, help="The change register to add a record to.", metavar="JSONL", from_python=as_it_is
    )
    by: str | None = setting(None, help="Who makes the change, for page and record.", metavar="NAME")
    why: str | None = setting(None, help="Why it is made, for page and record.", metavar="TEXT")
    trigger: str | None = setting(None, help="What led to it, for the page: a yearly review.", metavar="TEXT")
    model_card: Any = setting(
        None,
        help="What the model is for and who answers for it, for the page: see holdfast model-card init.  "
        "[default: what its run was told]",
        metavar="TOML",
        from_python=as_it_is,
    )
    n_jobs: int = setting(
        -1,
        kind=int,
        range=Range(-1),
        help="Threads, -1 for all cores: the tree is the same.",
        from_python=jobs,
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.half_life is not None and self.old is None:
            raise ParameterError("--half-life tells what old rows count: give these by --old.")
        if self.drop and not self.allow_new_values:
            raise ParameterError(
                "--drop goes with --allow-new-values: without it, columns that are new stay out."
            )

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> "UpdateRunSettings":
        """The settings with these values, and the defaults of the others; a TypeError for an unknown one."""
        check_names(cls, given)
        return cls(**given)

    @property
    def reading_options(self) -> "ReadingOptions":
        """How the rows are read; new columns that only tell rows apart are left out."""
        return self._reading_rules(keep_ids=False)

    @property
    def facts(self) -> dict[str, dict[str, Any]]:
        """The settings as plain data, in three parts; not the threads, nor what the record has."""
        cells = {each.name for each in fields(CellSettings)}
        parts: dict[str, dict[str, Any]] = {"settings": {}, "columns": {}, "reading": {}}
        for each in fields(self):
            part = "reading" if each.name in cells else "columns" if each.name in _COLUMNS else "settings"
            if each.name not in ("n_jobs", *_WHO):
                parts[part][each.name] = _plain(getattr(self, each.name))
        return parts


def _plain(value: Any) -> Any:
    """The value as JSON has it; of a frame or a policy, that it is one."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, tuple):
        return list(value)
    return os.fspath(value) if isinstance(value, os.PathLike) else f"a {type(value).__name__}"
