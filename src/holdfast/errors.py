"""Exceptions and warnings."""


class HoldfastError(Exception):
    """Base class of the errors of holdfast."""


class DataError(HoldfastError, ValueError):
    """The data cannot be used."""


class SchemaMismatch(DataError):  # noqa: N818 (the name says what is wrong)
    """Data or a tree does not fit a schema."""


class CustomFeatureError(HoldfastError, ValueError):
    """A custom feature is not a valid expression."""


class ParameterError(HoldfastError, ValueError):
    """A parameter is invalid."""


class BrokenTreeError(HoldfastError, ValueError):
    """A tree or its schema is inconsistent."""


class EditError(HoldfastError, ValueError):
    """An edit is impossible for this tree."""


class ModelFileError(HoldfastError, ValueError):
    """A file is not a model that this version can load."""


class PolicyError(HoldfastError, ValueError):
    """A change policy is invalid, or does not fit the models or the data."""


class ModelCardError(HoldfastError, ValueError):
    """The model card has an unknown or malformed field."""


class RegisterError(HoldfastError, ValueError):
    """A change register is broken, in use, or rejects the record."""


class ExportError(HoldfastError, ValueError):
    """The model cannot be exported to this format."""


class EngineError(ExportError):
    """No engine is installed to verify an export."""


class ModelError(HoldfastError):
    """A model under evaluation failed."""


class FullDiskError(HoldfastError, OSError):
    """The disk is full; the work can be resumed later."""


class ClusterError(HoldfastError):
    """A cluster is unreachable, has other versions, or lost its tasks."""


class DataWarning(UserWarning):
    """Something in the data was changed or is questionable."""


class GrowthWarning(UserWarning):
    """Growth stopped early at a limit."""


class ModelFileWarning(UserWarning):
    """A model file lacks parts of the estimator."""


class ReportWarning(UserWarning):
    """A report could not be written."""


class CacheWarning(UserWarning):
    """Compiled kernels cannot be cached on disk."""


class StoreWarning(UserWarning):
    """Stored results cannot be used or written."""
