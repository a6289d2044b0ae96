"""How a tree is carried through stages."""

from dataclasses import dataclass

from holdfast._check import check_choice, check_integer, check_number
from holdfast.errors import ParameterError
from holdfast.stability.stages.names import MEMORIES, MIN_ROWS, MOVEMENT_WEIGHT, STAGE_HOWS, UPDATE
from holdfast.stability.update.names import UPDATE_TOLERANCE
from holdfast.text.lists import listed


@dataclass(frozen=True)
class StageSettings:
    """How a tree is carried through stages; None: what is usual for `strategy`."""

    strategy: str = UPDATE  # one of STAGE_HOWS
    memory: str = "all"  # rows that a stage learns from: those of "all" stages so far, or of the "stage"
    half_life: float | None = None  # in stages: the age at which a row counts half
    tolerance: float | None = None  # that the fit may fall short of a fresh student's
    prior_rows: float | None = None  # for "update": rows that the tree before stands for, besides those given
    movement_weight: float | None = None  # fit that one unit of distance is worth
    hindsight: bool = False  # a stage may use trees that later stages suggest
    compare: bool = False  # with a tree that is trained anew at each stage
    min_rows: int = MIN_ROWS  # of a stage
    strict_groups: bool = False  # forward scores are of groups that are new

    def __post_init__(self) -> None:
        if self.strategy not in STAGE_HOWS:
            raise ParameterError(
                f"strategy={self.strategy!r} is unknown: choose one of {listed(STAGE_HOWS)}."
            )
        check_choice("memory", self.memory, MEMORIES)
        check_number("half_life", self.half_life, is_open="low", none_ok=True)
        check_number("tolerance", self.tolerance, none_ok=True)
        check_number("prior_rows", self.prior_rows, none_ok=True)
        check_number("movement_weight", self.movement_weight, none_ok=True)
        if self.half_life is not None and self.memory != "all":
            raise ParameterError(
                f"half_life={self.half_life!r} weighs rows of stages before, and memory={self.memory!r} "
                "forgets them: take memory='all', or leave out half_life."
            )
        self._check_unused()
        check_integer("min_rows", self.min_rows)

    @property
    def weight(self) -> float:
        """The fit that one unit of distance is worth."""
        return MOVEMENT_WEIGHT if self.movement_weight is None else float(self.movement_weight)

    @property
    def update_tolerance(self) -> float:
        """What the fit of an updated tree may fall short."""
        return UPDATE_TOLERANCE if self.tolerance is None else float(self.tolerance)

    def _check_unused(self) -> None:
        """A ParameterError names a setting that is given and has no use."""
        if self.strategy != UPDATE:
            if self.prior_rows is not None:
                raise ParameterError(
                    f"prior_rows={self.prior_rows!r} is for strategy='update': leave it out."
                )
            return
        given = {"movement_weight": self.movement_weight is not None, "hindsight": self.hindsight}
        for name, is_given in given.items():
            if is_given:
                raise ParameterError(
                    f"{name}={getattr(self, name)!r} is for strategy='shortest-path': an update has a "
                    "tolerance, and knows nothing of later stages."
                )
