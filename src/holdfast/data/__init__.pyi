"""The public names of the package that are not in `holdfast` itself."""

from holdfast.data.stored import StoredTable as StoredTable
from holdfast.data.stored import open_table as open_table
from holdfast.data.stored import store_table as store_table
