"""What `holdfast stages` depends on, but for the data."""

from dataclasses import dataclass
from typing import Any

from holdfast.runs.settings import DataSettings


@dataclass(frozen=True, kw_only=True)
class StagesSettings(DataSettings):
    """How a tree is carried through the stages of a file."""

    strategy: str
    memory: str
    half_life: float | None
    tolerance: float | None
    movement_weight: float | None
    hindsight: bool
    compare: bool
    min_rows: int
    strict_groups: bool
    max_leaf_nodes: int
    max_depth: int
    teacher: str
    scoring: Any
    random_state: int
    n_jobs: int
