"""The public names of the package that are not in `holdfast` itself."""

from holdfast.exports.check import ExportCheck as ExportCheck
from holdfast.exports.check import check_export as check_export
from holdfast.exports.diagrams import to_dot as to_dot
from holdfast.exports.diagrams import to_mermaid as to_mermaid
from holdfast.exports.excel import to_excel as to_excel
from holdfast.exports.json import to_json as to_json
from holdfast.exports.onnx import to_onnx as to_onnx
from holdfast.exports.pmml import to_pmml as to_pmml
from holdfast.exports.python import to_python as to_python
from holdfast.exports.sklearn import to_sklearn as to_sklearn
from holdfast.exports.sql import to_sql as to_sql
