"""The public names of the package that are not in `holdfast` itself."""

from holdfast.io.model_file import model_file_schema as model_file_schema
