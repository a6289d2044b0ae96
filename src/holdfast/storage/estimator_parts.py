"""What the document of an estimator has besides its tree or ensemble."""

from typing import Annotated

import msgspec

from holdfast.storage.part import Integer, LabelEntry, Part

# -- parameters -------------------------------------------------------------------------------------------

Scalar = LabelEntry | None
Key = LabelEntry | tuple[LabelEntry, ...]  # a pair of classes, too
List = tuple[Scalar | tuple[Scalar, ...], ...]  # also of lists, such as sets of columns


class InnerMappingPart(Part):
    """A mapping within a mapping, such as the class weights of growth rules."""

    keys: tuple[Key, ...]
    values: tuple[Scalar | List, ...]


class MappingPart(Part):
    """A mapping. Its keys are labels of any type, which the keys of a JSON object are not."""

    keys: tuple[Key, ...]
    values: tuple[Scalar | List | InnerMappingPart, ...]


Parameter = Scalar | List | MappingPart

# -- what fit left behind ---------------------------------------------------------------------------------

Index = Annotated[int, msgspec.Meta(ge=0, le=2**31 - 1)]
Numbers = tuple[float, ...]
GappedNumbers = tuple[float | None, ...]  # null where the array has NaN


class MetricPart(Part):
    """What scores were measured by."""

    name: str
    title: str
    is_loss: bool


class PermutationPart(Part):
    """The importances by permutation, one number for each feature."""

    metric: MetricPart
    mean: GappedNumbers
    deviation: GappedNumbers
    error: GappedNumbers


class ChoicePart(Part):
    """The choice of a stable tree from its frontier."""

    candidate: Index
    selection_rule: str
    reason: str


class TablePart(Part):
    """A table: its columns and its texts by name."""

    columns: dict[str, tuple[Integer | float | bool | tuple[float, ...] | None, ...]]
    texts: dict[str, str]
    metric: MetricPart | None


class DensityPart(Part):
    """The clusters of a density tree, in standard units."""

    numeric: tuple[Index, ...]  # features that are numbers
    categorical: tuple[Index, ...]  # features that are categories
    centre: Numbers
    scale: Numbers
    measurement_variance: Numbers
    fractions: Numbers
    mean: tuple[Numbers, ...]
    full: bool  # with correlations; else each covariance is the variances alone
    covariance: tuple[Numbers, ...]
    log_frequency: tuple[Numbers, ...]
    evidence: tuple[
        tuple[Index, float | None, float | None, float | None], ...
    ]  # node, count, gain, standard error


class EstimatorPart(Part):
    """The estimator whose tree or ensemble the document holds."""

    name: str
    parameters: dict[str, Parameter]
    left_out: tuple[str, ...]  # parameters and attributes that the file does not hold
    has_feature_names: bool  # it was fitted to columns with names
    label_type: str  # of classes_; empty if it has none
    attributes: dict[str, Integer | float | GappedNumbers | dict[str, float]]
    tables: dict[str, TablePart]
    permutation: PermutationPart | None
    choice: ChoicePart | None
    density: DensityPart | None
