"""The kernels of all models made ready at once, for images and clusters."""

from holdfast.data.schema import Target
from holdfast.runs.kernels import Ready, fit_smallest, ready_kernels
from holdfast.runs.settings import MODELS, DataSettings, RunSettings

TARGETS = (Target("y", ("no", "yes")), Target("y"))


def warm_up() -> Ready:
    """The kernels of stable trees, and of every other model of classes and of numbers."""
    return ready_kernels(_train_and_fit)


def _train_and_fit() -> None:
    for name in MODELS:
        for target in TARGETS[:1] if name == "stable" else TARGETS:
            fit_smallest(RunSettings(data=DataSettings(target="y"), model=name), target)
