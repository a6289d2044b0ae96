"""The public names of the package that are not in `holdfast` itself."""

from holdfast.runs.status import RunStatus as RunStatus
from holdfast.runs.status import run_status as run_status
