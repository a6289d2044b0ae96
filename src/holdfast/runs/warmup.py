"""The kernels of all models made ready at once, for images and clusters."""

from holdfast.data.schema import Target
from holdfast.runs.kernels import Ready, ready_kernels, train_smallest
from holdfast.runs.model_fit import MODELS, fit_smallest
from holdfast.runs.settings import RunSettings

TARGETS = (Target("y", ("no", "yes")), Target("y"))


def warm_up() -> Ready:
    """The kernels of stable trees, and of every other model of classes and of numbers."""
    return ready_kernels(_train_and_fit)


def _train_and_fit() -> None:
    train_smallest(RunSettings(target="y"))
    for name in MODELS:
        for target in TARGETS:
            fit_smallest(RunSettings(target="y", model=name), target)
