"""How a tree is carried through stages."""

from dataclasses import dataclass
from numbers import Integral, Real

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
        if self.memory not in MEMORIES:
            raise ParameterError(f"memory={self.memory!r} is unknown: choose one of {listed(MEMORIES)}.")
        self._check_number("half_life", above=True)
        self._check_number("tolerance")
        self._check_number("prior_rows")
        self._check_number("movement_weight")
        if self.half_life is not None and self.memory != "all":
            raise ParameterError(
                f"half_life={self.half_life!r} weighs rows of stages before, and memory={self.memory!r} "
                "forgets them: take memory='all', or leave out half_life."
            )
        self._check_unused()
        n = self.min_rows
        if not isinstance(n, Integral) or isinstance(n, bool) or n < 1:
            raise ParameterError(f"min_rows={n!r} is out of range: it must be an integer of at least 1.")

    @property
    def weight(self) -> float:
        """The fit that one unit of distance is worth."""
        return MOVEMENT_WEIGHT if self.movement_weight is None else float(self.movement_weight)

    @property
    def update_tolerance(self) -> float:
        """What the fit of an updated tree may fall short."""
        return UPDATE_TOLERANCE if self.tolerance is None else float(self.tolerance)

    def _check_number(self, name: str, *, above: bool = False) -> None:
        value = getattr(self, name)
        if value is None:
            return
        is_number = isinstance(value, Real) and not isinstance(value, bool)
        if not is_number or not (0 < value < float("inf") or (value == 0 and not above)):
            limit = "above 0" if above else "at least 0"
            raise ParameterError(f"{name}={value!r} is out of range: it must be a number, {limit}, or None.")

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
