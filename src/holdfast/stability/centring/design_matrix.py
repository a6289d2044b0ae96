"""The columns of a table as numbers, for linear models and kernels."""

from collections.abc import Iterator
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
MOST_DENSE = 2**22  # numbers of a matrix that is mostly zeros: 32 MiB
DENSE_FRACTION = 0.25  # of numbers other than zero, from which on a dense matrix is used


class _Column(NamedTuple):
    """How one feature becomes columns of the matrix."""

    place: int  # of the feature
    n_categories: int = 0  # above 0: a column for each category
    exponent: int = 0  # numbers are multiplied by 2 ** -exponent, standardised and clipped
    middle: float = 0.0  # in place of missing values
    mean: float = 0.0
    spread: float = 0.0  # 0: the numbers are constant, and have no column
    has_missing: bool = False  # one more column: is the value missing?

    @property
    def width(self) -> int:
        """The number of columns."""
        return self.n_categories or (self.spread > 0) + self.has_missing

    def fill(self, values: FloatArray, out: FloatArray) -> None:
        """Write the columns of some rows to `out`."""
        missing = np.isnan(values)
        if self.n_categories:
            for code in range(self.n_categories):
                out[:, code] = values == code
            return
        if self.spread > 0:
            known = np.ldexp(np.where(missing, self.middle, values), -self.exponent)
            out[:, 0] = np.clip((known - self.mean) / self.spread, -MOST_DEVIATIONS, MOST_DEVIATIONS)
        if self.has_missing:
            out[:, -1] = missing

    def sparse(self, values: FloatArray) -> "csr_array":
        """The columns of some rows without their zeros."""
        from scipy.sparse import csr_array

        if not self.n_categories:
            out = np.empty((len(values), self.width))
            self.fill(values, out)
            return csr_array(out)
        known = ~np.isnan(values)
        ends = np.concatenate([[0], np.cumsum(known, dtype=np.int32)])
        column = values[known].astype(np.int32)
        return csr_array((np.ones(len(column)), column, ends), shape=(len(known), self.n_categories))


class DesignMatrix(NamedTuple):
    """How the features of a table become columns of numbers, those of other rows included.

    Features come in the order of their names: numbers standardised and clipped, one column a category. Where
    a value is missing the median stands, and one more column says so. Ordered categories count as numbers,
    custom features as 0 and 1.

    >>> table = Table.from_arrays([[1.0, "a"], [3.0, "b"]], ["no", "yes"])
    >>> DesignMatrix.of(table).dense(table).tolist()
    [[-1.0, 1.0, 0.0], [1.0, 0.0, 1.0]]
    """

    columns: tuple[_Column, ...]

    @classmethod
    def of(cls, table: Table) -> "DesignMatrix":
        """The design matrix whose means and spreads are those of the table."""
        return cls(tuple(_columns(table)))

    @property
    def width(self) -> int:
        """The number of columns; 1, of zeros, where no feature varies."""
        return max(sum(each.width for each in self.columns), 1)

    def dense(self, table: Table, rows: slice = slice(None)) -> FloatArray:
        """The matrix of some rows."""
        matrix, begin = np.zeros((len(table.target[rows]), self.width)), 0
        for each in self.columns:
            each.fill(table.columns[each.place][rows], matrix[:, begin : begin + each.width])
            begin += each.width
        return matrix

    def compact(self, table: Table, rows: slice = slice(None)) -> "Matrix":
        """The same, without its zeros where they would fill the memory: many categories are little else."""
        n_filled = sum(1 if each.n_categories else each.width for each in self.columns)
        if table.n_rows * self.width <= MOST_DENSE or n_filled >= DENSE_FRACTION * self.width:
            return self.dense(table, rows)
        from scipy.sparse import hstack

        matrix: csr_array = hstack(
            [each.sparse(table.columns[each.place][rows]) for each in self.columns], format="csr"
        )
        return matrix


def _columns(table: Table) -> Iterator[_Column]:
    weight = np.ones(table.n_rows) if table.weight is None else table.weight
    for place in table.schema.name_order:
        feature, column = table.schema.features[place], table.columns[place]
        if feature.is_subset:
            yield _Column(place, len(feature.categories))
            continue
        missing = np.isnan(column)
        if missing.all():
            continue
        middle = weighted_quantile(column[~missing], weight[~missing], 0.5) if missing.any() else 0.0
        values, exponent = scaled(np.where(missing, middle, column))
        mean = np.average(values, weights=weight)
        spread = np.sqrt(np.average((values - mean) ** 2, weights=weight))
        yield _Column(place, 0, exponent, middle, float(mean), float(spread), bool(missing.any()))


class Landmarks(NamedTuple):
    """Nystroem's features of a Gaussian kernel: how much each row resembles some rows, the landmarks."""

    rows: FloatArray  # (landmarks, columns of the design matrix)
    basis: FloatArray
    gamma: float

    @classmethod
    def of(cls, matrix: "Matrix", keys: KeyArray, stream: Stream, n_features: int) -> "Landmarks":
        """Draw the landmarks by the keys of the rows, so that most stay when other rows come or go."""
        drawn = lowest(keys, stream, min(N_LANDMARKS, max(len(keys) // 2, 1)))
        rows = matrix[drawn][:N_LANDMARKS]
        rows = rows if isinstance(rows, np.ndarray) else rows.toarray()
        gamma = WIDTH / max(n_features, 1)
        values, vectors = np.linalg.eigh(_similarity(rows, rows, gamma))
        kept = values > 1e-8 * values.max()
        return cls(rows, vectors[:, kept] / np.sqrt(values[kept]), gamma)

    def features(self, matrix: "Matrix") -> FloatArray:
        """The kernel features of some rows."""
        return np.asarray(_similarity(matrix, self.rows, self.gamma) @ self.basis, np.float64)


def _similarity(a: "Matrix", b: FloatArray, gamma: float) -> FloatArray:
    squares = _square_sums(a)[:, None] + _square_sums(b)[None] - 2.0 * a @ b.T
    return np.asarray(np.exp(-gamma * np.maximum(squares, 0.0)), np.float64)


def _square_sums(matrix: "Matrix") -> FloatArray:
    squares = matrix**2 if isinstance(matrix, np.ndarray) else matrix.power(2)
    return np.asarray(squares.sum(axis=1), np.float64)
