"""The columns of a table as numbers for models that add them up."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from holdfast.arrays import FloatArray, KeyArray, scaled
from holdfast.data.split.row_keys import lowest
from holdfast.data.table import Table
from holdfast.random_streams import Stream
from holdfast.tree.quantile import weighted_quantile

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    Matrix: TypeAlias = FloatArray | csr_array

MOST_DEVIATIONS = 3.0  # values further out are taken for as far
N_LANDMARKS = 150
WIDTH = 0.3  # of the kernel: times the squared distance, divided by the number of features
ROWS_AT_A_TIME = 8192  # whose likeness to the landmarks is worked out together
MOST_DENSE = 2**22  # numbers of a matrix that is mostly zeros: 32 MiB
DENSE_FRACTION = 0.25  # of numbers other than zero, from which on zeros are worth their place


class _Flags(NamedTuple):
    """A column for each category of a feature: 1 in that of the row, 0 in the others."""

    code: FloatArray  # of every row; missing in none of them
    n_columns: int

    def filled(self, out: FloatArray) -> None:
        """Write the columns to `out`."""
        for code in range(self.n_columns):
            out[:, code] = self.code == code

    def sparse(self) -> "csr_array":
        """The columns without their zeros."""
        from scipy.sparse import csr_array

        known = ~np.isnan(self.code)
        ends = np.concatenate([[0], np.cumsum(known, dtype=np.int32)])
        column = self.code[known].astype(np.int32)
        return csr_array((np.ones(len(column)), column, ends), shape=(len(known), self.n_columns))


class _Numbers(NamedTuple):
    """A column of numbers."""

    number: FloatArray
    n_columns: int = 1

    def filled(self, out: FloatArray) -> None:
        """Write the column to `out`."""
        out[:, 0] = self.number

    def sparse(self) -> "csr_array":
        """The column without its zeros."""
        from scipy.sparse import csr_array

        return csr_array(self.number[:, None])


def design_matrix(table: Table) -> FloatArray:
    """The features in the order of their names: ranges standardised and clipped, one column a category.

    Where a value is missing the median stands, and a column more says so. Ordered categories count as
    numbers; answers to questions as 0 and 1.

    >>> table = Table.from_arrays([[1.0, "a"], [3.0, "b"]], ["no", "yes"])
    >>> design_matrix(table).tolist()
    [[-1.0, 1.0, 0.0], [1.0, 0.0, 1.0]]
    """
    return _dense(table.n_rows, list(_columns(table)))


def compact_design_matrix(table: Table) -> "Matrix":
    """The same, without its zeros where they would fill the memory: many categories are little else."""
    columns = list(_columns(table))
    width = sum(each.n_columns for each in columns)
    if table.n_rows * width <= MOST_DENSE or len(columns) >= DENSE_FRACTION * width:
        return _dense(table.n_rows, columns)

    from scipy.sparse import hstack

    matrix: csr_array = hstack([each.sparse() for each in columns], format="csr")
    return matrix


def _columns(table: Table) -> Iterator[_Flags | _Numbers]:
    weight = np.ones(table.n_rows) if table.weight is None else table.weight
    for place in table.schema.name_order:
        feature, column = table.schema.features[place], table.columns[place]
        if feature.is_subset:
            yield _Flags(column, len(feature.categories))
            continue
        missing = np.isnan(column)
        if missing.all():
            continue
        middle = weighted_quantile(column[~missing], weight[~missing], 0.5) if missing.any() else 0.0
        values, _ = scaled(np.where(missing, middle, column))
        mean = np.average(values, weights=weight)
        spread = np.sqrt(np.average((values - mean) ** 2, weights=weight))
        if spread > 0:
            yield _Numbers(np.clip((values - mean) / spread, -MOST_DEVIATIONS, MOST_DEVIATIONS))
        if missing.any():
            yield _Numbers(missing.astype(np.float64))


def _dense(n_rows: int, columns: Sequence[_Flags | _Numbers]) -> FloatArray:
    matrix, begin = np.zeros((n_rows, max(sum(each.n_columns for each in columns), 1))), 0
    for each in columns:
        each.filled(matrix[:, begin : begin + each.n_columns])
        begin += each.n_columns
    return matrix


def kernel_features(matrix: "Matrix", keys: KeyArray, stream: Stream, n_features: int) -> FloatArray:
    """How alike each row is to some of the rows, the landmarks: Nystroem's features of a Gaussian kernel.

    The landmarks are drawn by the keys of the rows, so that most of them stay when others come or go.
    """
    drawn = lowest(keys, stream, min(N_LANDMARKS, max(len(keys) // 2, 1)))
    landmarks = matrix[drawn][:N_LANDMARKS]
    landmarks = landmarks if isinstance(landmarks, np.ndarray) else landmarks.toarray()
    gamma = WIDTH / max(n_features, 1)
    values, vectors = np.linalg.eigh(_alike(landmarks, landmarks, gamma))
    kept = values > 1e-8 * values.max()
    basis = vectors[:, kept] / np.sqrt(values[kept])
    features = np.empty((len(keys), basis.shape[1]))
    for begin in range(0, len(keys), ROWS_AT_A_TIME):
        part = slice(begin, begin + ROWS_AT_A_TIME)
        features[part] = _alike(matrix[part], landmarks, gamma) @ basis
    return features


def _alike(a: "Matrix", b: FloatArray, gamma: float) -> FloatArray:
    squares = _square_sums(a)[:, None] + _square_sums(b)[None] - 2.0 * a @ b.T
    return np.asarray(np.exp(-gamma * np.maximum(squares, 0.0)), np.float64)


def _square_sums(matrix: "Matrix") -> FloatArray:
    squares = matrix**2 if isinstance(matrix, np.ndarray) else matrix.power(2)
    return np.asarray(squares.sum(axis=1), np.float64)
