"""What `holdfast stages` depends on, but for the data. Light: `--help` waits for it."""

from dataclasses import dataclass
from typing import Any

from holdfast.runs.data_settings import DataSettings
from holdfast.runs.parsing import as_it_is
from holdfast.runs.setting import Range, setting
from holdfast.runs.settings import jobs
from holdfast.stability.centring.names import TEACHER_NAMES
from holdfast.stability.stages.names import MEMORIES, MIN_ROWS, STAGE_HOWS


@dataclass(frozen=True, kw_only=True)
class StagesSettings(DataSettings):
    """How a tree is carried through the stages of a file."""

    strategy: str = setting(
        STAGE_HOWS[0],
        help="update: each tree as near to the last as the rows allow; shortest-path: of all that the stages "
        "suggest, the sequence that loses and moves least.",
        choices=STAGE_HOWS,
    )
    memory: str = setting(
        MEMORIES[0],
        help="What a stage learns from: all rows so far, or those of the stage alone.",
        choices=MEMORIES,
    )
    half_life: float | None = setting(
        None,
        kind=float,
        range=Range(0, low_open=True),
        help="Age in stages at which a row counts half.",
    )
    tolerance: float | None = setting(
        None,
        kind=float,
        range=Range(0),
        help="Fit that a tree may lose against a fresh one.  [default: 0.02, of a shortest path no limit]",
    )
    movement_weight: float | None = setting(
        None,
        kind=float,
        range=Range(0),
        help="Of a shortest path: fit that one unit of distance is worth.  [default: 0.02]",
    )
    hindsight: bool = setting(
        False, kind=bool, help="Of a shortest path: let a stage ask what later ones suggest."
    )
    compare: bool = setting(False, kind=bool, help="Also train a tree anew at each stage.")
    min_rows: int = setting(
        MIN_ROWS, kind=int, range=Range(1), help="A stage with fewer rows is joined with the next."
    )
    strict_groups: bool = setting(
        False, kind=bool, help="With --groups: score only rows of groups that no earlier stage has."
    )
    max_leaf_nodes: int = setting(12, kind=int, range=Range(2), help="Most leaves.")
    max_depth: int = setting(5, kind=int, range=Range(1, 1000), help="Most questions in a row.")
    teacher: str = setting(TEACHER_NAMES[0], help="What the trees learn from.", choices=TEACHER_NAMES)
    scoring: Any = setting(
        None,
        help="auc, accuracy, log_loss, ...; r2, absolute_error, ... [default: auc, r2]",
        from_python=as_it_is,
    )
    random_state: int = setting(0, kind=int, range=Range(0), help="Same data, same seed, same trees.")
    n_jobs: int = setting(
        -1,
        kind=int,
        range=Range(-1),
        help="Threads, -1 for all cores: the trees are the same.",
        from_python=jobs,
    )
