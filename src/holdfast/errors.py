"""One small family of exceptions: each message names the thing, both values, and the way out."""


class HoldfastError(Exception):
    """Every error that holdfast raises on purpose, apart from plain TypeErrors."""


class DataError(HoldfastError, ValueError):
    """The data cannot be used as it is."""


class SchemaMismatch(DataError):  # noqa: N818 (the name says what is wrong)
    """New data, or another tree, does not fit the schema it is measured against."""


class CustomFeatureError(HoldfastError, ValueError):
    """A custom feature is not a valid expression."""


class ParameterError(HoldfastError, ValueError):
    """A growth rule is outside its range."""


class BrokenTreeError(HoldfastError, ValueError):
    """A tree, or its schema, breaks what the type promises."""


class EditError(HoldfastError, ValueError):
    """A change by hand that this tree cannot take."""


class ModelFileError(HoldfastError, ValueError):
    """A file is not a model that this version can load."""


class PolicyError(HoldfastError, ValueError):
    """A change policy has a line that cannot be, or names what the models and the rows do not have."""


class ModelCardError(HoldfastError, ValueError):
    """The model card has an unknown or malformed field."""


class RegisterError(HoldfastError, ValueError):
    """A change register is broken, in use, or cannot take the record."""


class ExportError(HoldfastError, ValueError):
    """The model asks, or does, something that the other library cannot."""


class EngineError(ExportError):
    """Nothing is installed that could run an export, so that it cannot be verified."""


class ModelError(HoldfastError):
    """A model that is compared with others failed."""


class FullDiskError(HoldfastError, OSError):
    """The disk is full; what is kept of the work goes on when there is room."""


class ClusterError(HoldfastError):
    """A cluster is not there, has other versions, or lost what it was to do."""


class DataWarning(UserWarning):
    """Something in the data was handled, and the user would want to know."""


class GrowthWarning(UserWarning):
    """Growth ended early because a budget ran out."""


class ModelFileWarning(UserWarning):
    """A model file does not hold all that the estimator has."""


class ReportWarning(UserWarning):
    """A report could not be written; what it tells of is whole without it."""


class CacheWarning(UserWarning):
    """Compiled kernels cannot be kept on disk."""


class StoreWarning(UserWarning):
    """What was kept of a run that stopped cannot be used, and is computed anew; or nothing can be kept."""
