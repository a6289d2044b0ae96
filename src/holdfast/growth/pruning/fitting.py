"""Do these rows fit this tree?"""

from typing import Any

from holdfast.data.table import Table
from holdfast.errors import SchemaMismatch
from holdfast.tree.tree import Tree

_WAY_OUT = "read them with schema=tree.schema."


def check_rows(tree: Tree, table: Any) -> None:
    """Raise an error unless the table has the columns and classes of the tree in the same order."""
    if not isinstance(table, Table):
        raise TypeError(
            f"The rows to prune by are a {type(table).__name__}: make a table of them, "
            "Table.from_arrays(X, y, schema=tree.schema)."
        )
    if tree.schema.names != table.schema.names:
        raise SchemaMismatch(f"The rows to prune by have other columns than the tree: {_WAY_OUT}")
    if tree.schema.target.classes != table.schema.target.classes:
        raise SchemaMismatch(f"The rows to prune by have other classes than the tree: {_WAY_OUT}")
